/** Accessors of timestamps and durations. */
import { CelError } from '#engine/cel/errors.ts'
import { type Declared, DURATION, INT, method, STRING, TIMESTAMP } from '#engine/cel/functions.ts'
import { intOf } from '#engine/cel/numbers.ts'
import { type Calendar, calendar } from '#engine/cel/time.ts'
import type { Timestamp, Value } from '#engine/cel/values.ts'

/** Steps of a look into the database of time zones: 2 us, and 50 us for a zone that was not used lately. */
const ZONE_STEPS = 50

function part(name: string, read: (date: Calendar) => number): Declared[] {
  const get = (at: Timestamp, zone: string): Value => {
    const date = calendar(at, zone)
    return date instanceof CelError ? date : read(date)
  }
  return [
    method(name, [TIMESTAMP], INT, (at) => get(at, 'UTC')),
    method(name, [TIMESTAMP, STRING], INT, get, { steps: ZONE_STEPS, isConstant: true })
  ]
}

/** The whole duration in a unit, truncated. */
function whole(name: string, nanos: bigint): Declared {
  return method(name, [DURATION], INT, (length) => intOf(length.nanos / nanos))
}

export const TIME: readonly Declared[] = [
  ...part('getFullYear', (date) => date.year),
  ...part('getMonth', (date) => date.month),
  ...part('getDate', (date) => date.day),
  ...part('getDayOfMonth', (date) => date.day - 1),
  ...part('getDayOfWeek', (date) => date.weekday),
  ...part('getDayOfYear', (date) => date.yearday),
  ...part('getHours', (date) => date.hour),
  ...part('getMinutes', (date) => date.minute),
  ...part('getSeconds', (date) => date.second),
  ...part('getMilliseconds', (date) => date.milli),
  whole('getHours', 3_600_000_000_000n),
  whole('getMinutes', 60_000_000_000n),
  whole('getSeconds', 1_000_000_000n),
  // Not the whole duration but what is left of its last second, as the specification has it.
  method('getMilliseconds', [DURATION], INT, (length) => intOf((length.nanos % 1_000_000_000n) / 1_000_000n))
]
