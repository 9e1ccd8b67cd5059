/** What is over for good, known by all workers of a process: marks, the newer in the place of the older. */
export interface Ended {
  /** `mark`: 64 bits of a hash; two things have the same one as rarely as nobody will see. */
  add(mark: bigint): void
  /** False also of what ended long ago: others have taken its place. */
  has(mark: bigint): boolean
}

/** For configurations that are only looked at. */
export const NEVER_ENDED: Ended = { add() {}, has: () => false }
