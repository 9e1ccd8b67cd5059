/**
 * A job that several threads could do: one word of shared memory. Either one of them takes it or its owner withdraws
 * it, never both: it is done at most once, however late a thread comes to it.
 */

/** A word of shared memory; structured clones of it are the same one. */
export type Claim = Int32Array

const FREE = 0
const WITHDRAWN = -1

export function newClaim(): Claim {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** `taker`: from 1 on. False: another thread has it, or it is withdrawn. */
export function take(claim: Claim, taker: number): boolean {
  return Atomics.compareExchange(claim, 0, FREE, taker) === FREE
}

/** False: a thread has taken it. Withdrawn once, it stays so. */
export function withdraw(claim: Claim): boolean {
  const before = Atomics.compareExchange(claim, 0, FREE, WITHDRAWN)
  return before === FREE || before === WITHDRAWN
}

/** The thread that has taken it, or null. */
export function takerOf(claim: Claim): number | null {
  const taker = Atomics.load(claim, 0)
  return taker === FREE || taker === WITHDRAWN ? null : taker
}
