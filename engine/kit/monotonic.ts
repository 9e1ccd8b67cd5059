/** A clock that all threads of a process agree on. */

const SAMPLES = 8
const NANOS_PER_MS = 1e6

/**
 * Milliseconds of the system's monotonic clock, as a function without garbage. performance.now() counts from the
 * start of its thread; process.hrtime() is the same everywhere and makes a BigInt or an array per call, so it is
 * asked once. Two threads differ by less than a microsecond or two: the best of a few pairs of readings.
 */
export function monotonicClock(): () => number {
  let offset = 0
  let best = Infinity
  for (let i = 0; i < SAMPLES; i++) {
    const before = performance.now()
    const here = Number(process.hrtime.bigint()) / NANOS_PER_MS
    const after = performance.now()
    if (after - before >= best) continue
    best = after - before
    offset = here - (before + after) / 2
  }
  return () => performance.now() + offset
}
