/** How long a verdict is kept, where an expression says it: for a duration, or until a moment. */
import { Double, Duration, Timestamp, Uint, type Value } from '#engine/cel/index.ts'

const NANOS_PER_MS = 1_000_000

/** Milliseconds; 0 for what is neither a duration, a timestamp nor seconds of Unix time, and for what is over. */
export function lifetimeMs(value: Value, wallNowMs: number): number {
  if (value instanceof Duration) return Math.max(0, Number(value.nanos) / NANOS_PER_MS)
  if (value instanceof Timestamp) return Math.max(0, Number(value.nanos) / NANOS_PER_MS - wallNowMs)
  const seconds = value instanceof Double || value instanceof Uint ? value.value : value
  if (typeof seconds !== 'bigint' && typeof seconds !== 'number') return 0
  const ms = Number(seconds) * 1000 - wallNowMs
  return Number.isFinite(ms) && ms > 0 ? ms : 0
}
