/** Chance for what needs no secrecy: jitter, shares. Marsaglia's xorshift of 32 bits: a few nanoseconds a number. */
import { randomInt } from 'node:crypto'

const SEEDS = 2 ** 32

/** Numbers 0 <= x < 1. Equal seeds give equal sequences; without a seed every sequence is another one. */
export function xorshift32(seed: number = randomInt(1, SEEDS)): () => number {
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / SEEDS
  }
}
