/** Durations as Go writes them ("1h30m", "1.5s", "250ms"), which is what users of Kubernetes know. */
import { cel } from './rule.ts'
import { once, says, z } from './schema.ts'

const UNITS_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6
}
const DURATION = /^(?:0|(?:[0-9]+(?:\.[0-9]+)?(?:ms|us|µs|ns|h|m|s))+)$/
const PART = /([0-9.]+)(ms|us|µs|ns|h|m|s)/g
/** About 31 years: keeps sums of times exact. */
const DURATION_MAX_MS = 1e12
const DURATION_CHARS_MAX = 64
const EXPECTED = 'must be a duration such as "30s", "1m30s" or "250ms"'
const IN_DAYS = /^[0-9.]+ ?(?:d|days?|w|weeks?|mo|months?)$/
const EXPECTED_HOURS = 'must be a duration in hours, minutes or seconds, such as "24h" for a day or "720h" for 30 days'

/** A non-negative duration -> whole milliseconds, rounded up so that a short limit never becomes "no limit". */
export const duration = once(() =>
  z
    .string({ error: says(EXPECTED) })
    .check(
      z.maxLength(DURATION_CHARS_MAX, EXPECTED),
      z.regex(DURATION, { error: ({ input }) => (IN_DAYS.test(String(input)) ? EXPECTED_HOURS : EXPECTED) })
    )
    .transform(parseDuration)
    .refine((ms) => ms <= DURATION_MAX_MS, {
      error: 'is too long a duration',
      params: cel(`duration(self) <= duration('${DURATION_MAX_MS / 1000}s')`)
    })
)

/** Longer than nothing. */
export const positiveDuration = (error: string) =>
  duration().refine((ms) => ms > 0, { error, params: cel("duration(self) > duration('0s')") })

function parseDuration(text: string): number {
  let ms = 0
  for (const [, amount, unit] of text.matchAll(PART)) ms += Number(amount) * UNITS_MS[unit!]!
  return Math.ceil(Number(ms.toFixed(6)))
}
