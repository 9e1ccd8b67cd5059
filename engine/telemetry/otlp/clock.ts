/** Times of spans: the monotonic clock, as microseconds since 1970. */
import { performance } from 'node:perf_hooks'

/** The clock of the system may be set while the process runs; its steps of a millisecond are no such change. */
const DRIFT_MS_MAX = 20

let offsetMs = performance.timeOrigin

/** `ms`: of performance.now(). */
export function micros(ms: number): number {
  return Math.round((offsetMs + ms) * 1000)
}

/** Follows the clock of the system. For between batches: the spans of one request should be measured alike. */
export function adjustClock(): void {
  const driftMs = Date.now() - (offsetMs + performance.now())
  if (Math.abs(driftMs) > DRIFT_MS_MAX) offsetMs += driftMs
}
