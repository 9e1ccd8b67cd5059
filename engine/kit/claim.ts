/**
 * A job that several threads could do, as one word of shared memory. Either one of them takes it or its owner withdraws
 * it, never both: it is done at most once, however late a thread comes to it.
 */

/** A word of shared memory; structured clones of it are the same one. */
export type Claim = Int32Array

const NOBODYS = 0
const GIVEN_UP = -1

export function newClaim(): Claim {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** `taker`: from 1 on. False: it is another's, or given up. */
export function take(claim: Claim, taker: number): boolean {
  return Atomics.compareExchange(claim, 0, NOBODYS, taker) === NOBODYS
}

/** False: a thread has taken it. Withdrawn once, it stays so. */
export function giveUp(claim: Claim): boolean {
  const before = Atomics.compareExchange(claim, 0, NOBODYS, GIVEN_UP)
  return before === NOBODYS || before === GIVEN_UP
}

/** The thread that has taken it, or null. */
export function takerOf(claim: Claim): number | null {
  const taker = Atomics.load(claim, 0)
  return taker === NOBODYS || taker === GIVEN_UP ? null : taker
}
