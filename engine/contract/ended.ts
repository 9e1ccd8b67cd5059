/**
 * What is over for good, and what is in use, known by all workers of a process: marks, the newer in the place of the
 * older.
 */
export interface Ended {
  /** `mark`: 64 bits of a hash: collisions are negligible. */
  add(mark: bigint): void
  /** False also of what ended long ago: others have taken its place. */
  has(mark: bigint): boolean
  /** It is in use. `now`: milliseconds of the clock of the system, the same in all workers. */
  use(mark: bigint, now: number): void
  /** Milliseconds since its last use, to a tenth of a second; Infinity: not known, or not any more. */
  unusedFor(mark: bigint, now: number): number
}

/** For configurations that are only looked at. */
export const NEVER_ENDED: Ended = {
  add() {},
  has: () => false,
  use() {},
  unusedFor: () => Number.POSITIVE_INFINITY
}
