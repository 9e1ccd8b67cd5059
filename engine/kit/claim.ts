/**
 * Who does something that several threads could do: one word of memory that all of them share. One of them takes it, or
 * who wanted it done gives it up, and never both: it is done once at most, however late somebody comes to it.
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

/** False: somebody has taken it. Given up once, it stays so. */
export function giveUp(claim: Claim): boolean {
  const before = Atomics.compareExchange(claim, 0, NOBODYS, GIVEN_UP)
  return before === NOBODYS || before === GIVEN_UP
}

/** Who has taken it; null: nobody. */
export function takerOf(claim: Claim): number | null {
  const taker = Atomics.load(claim, 0)
  return taker === NOBODYS || taker === GIVEN_UP ? null : taker
}
