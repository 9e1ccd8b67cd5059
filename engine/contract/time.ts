/** Clocks, timers and chance, lent to policies in place of the globals: a test hands in its own. */
import { xorshift32 } from '#engine/kit/random.ts'

export interface Time {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Milliseconds since 1970. */
  readonly wallNow: () => number
  /** Calls back once after `ms`; returns how to call that off. It keeps no process alive. */
  readonly after: (ms: number, call: () => void) => () => void
  /** 0 <= x < 1, of no use for secrets. */
  readonly random: () => number
}

export const SYSTEM_TIME: Time = {
  now: () => performance.now(),
  wallNow: Date.now,
  after: (ms, call) => {
    const timer = setTimeout(call, ms).unref()
    return () => clearTimeout(timer)
  },
  random: xorshift32()
}
