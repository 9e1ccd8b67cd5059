/**
 * Sessions that have ended for good, and when those in use were used last, known to all workers of a process. Each is
 * a mark in a table of fixed size: a newer one replaces an older one in the same slot.
 */
export interface Revocations {
  /** `mark`: 64 bits of a hash; collisions are negligible. */
  revoke(mark: bigint): void
  /** False also for one that was revoked long ago and whose slot has been taken since. */
  isRevoked(mark: bigint): boolean
  /** It is in use. `now`: milliseconds of the clock of the system, the same in all workers. */
  touch(mark: bigint, now: number): void
  /** Milliseconds since its last use, to a tenth of a second; Infinity: not known, or not any more. */
  idleMs(mark: bigint, now: number): number
}

/** For configurations that are only looked at. */
export const NO_REVOCATIONS: Revocations = {
  revoke() {},
  isRevoked: () => false,
  touch() {},
  idleMs: () => Number.POSITIVE_INFINITY
}
