/** Timestamps and durations: text (RFC 3339, Go's durations), ranges, and fields in a time zone. */
import { CelError } from './errors.ts'
import { Duration, Timestamp, type Value } from './values.ts'

const SECOND = 1_000_000_000n
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z. */
const TIMESTAMP_MIN = -62_135_596_800n * SECOND
const TIMESTAMP_MAX = 253_402_300_800n * SECOND - 1n
const DURATION_MAX = 2n ** 63n - 1n

export function timestampOf(nanos: bigint): Value {
  if (nanos >= TIMESTAMP_MIN && nanos <= TIMESTAMP_MAX) return new Timestamp(nanos)
  return new CelError('range', 'timestamp outside of the years 1 to 9999')
}

export function durationOf(nanos: bigint): Value {
  if (nanos <= DURATION_MAX && nanos >= -DURATION_MAX - 1n) return new Duration(nanos)
  return new CelError('range', 'duration longer than 64 bits of nanoseconds')
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** Characters of a time, a duration, or a zone: longer text is refused unread. */
const TEXT_UNITS_MAX = 256

/** RFC 3339 section 5.6. */
export function parseTimestamp(text: string): Value {
  const match = text.length > TEXT_UNITS_MAX ? null : RFC3339.exec(text)
  if (match === null) return new CelError('range', 'not a timestamp of RFC 3339, like 2026-01-31T12:00:00Z')
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHours, offsetMinutes] = match
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  date.setUTCHours(Number(hour), Number(minute), Number(second))
  const isReal = date.getUTCDate() === Number(day) && date.getUTCMonth() === Number(month) - 1
  const inDay = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60
  if ((!isReal && inDay) || !inDay) return new CelError('range', 'a timestamp that is in no calendar')
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60_000 * (sign === '-' ? -1 : 1)
  return timestampOf(BigInt(date.getTime() - offset) * 1_000_000n + BigInt(fraction.padEnd(9, '0')))
}

export function formatTimestamp({ nanos }: Timestamp): string {
  const rest = ((nanos % SECOND) + SECOND) % SECOND
  const seconds = new Date(Number((nanos - rest) / 1_000_000n)).toISOString().slice(0, -5)
  return `${seconds}${fractionOf(rest)}Z`
}

/** ".5" for 500,000,000; "" for 0. */
function fractionOf(nanos: bigint): string {
  return nanos === 0n ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: SECOND,
  m: 60n * SECOND,
  h: 3600n * SECOND
}
const DURATION = /^[+-]?(?:0|(?:(?:\d{1,19}(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
const DURATION_PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g

/** As Go writes durations: "1h30m", "-1.5s", "0". */
export function parseDuration(text: string): Value {
  if (text.length > TEXT_UNITS_MAX || !DURATION.test(text))
    return new CelError('range', 'not a duration, like 1h30m or 1.5s')
  let nanos = 0n
  for (const [, whole, fraction = '', unit] of text.matchAll(DURATION_PART)) {
    const scale = UNITS[unit!]!
    nanos += BigInt(whole === '' ? 0 : whole!) * scale
    if (fraction !== '') nanos += (BigInt(fraction.slice(0, 18)) * scale) / 10n ** BigInt(Math.min(18, fraction.length))
  }
  return durationOf(text.startsWith('-') ? -nanos : nanos)
}

/** Seconds with the fraction they need: "90s", "-0.5s". */
export function formatDuration({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos
  return `${nanos < 0n ? '-' : ''}${size / SECOND}${fractionOf(size % SECOND)}s`
}

/** The parts of a timestamp that CEL has accessors for. */
export interface Calendar {
  readonly year: number
  /** From 0. */
  readonly month: number
  /** From 1. */
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly milli: number
  /** From 0, Sunday. */
  readonly weekday: number
  /** From 0. */
  readonly yearday: number
}

/** The parts of `at` in a zone: a name of the IANA database, or an offset like +05:30. */
export function calendar(at: Timestamp, zone: string): Calendar | CelError {
  const milliseconds = Number((at.nanos - (((at.nanos % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n)
  if (zone.length > TEXT_UNITS_MAX) return new CelError('invalid', 'a time zone with a name that long')
  const offset = zone === 'UTC' ? 0 : zoneOffsetMs(milliseconds, zone)
  if (offset === null) return new CelError('invalid', `no such time zone: ${zone}`)
  const date = new Date(milliseconds + offset)
  const year = date.getUTCFullYear()
  const newYear = new Date(0)
  newYear.setUTCFullYear(year, 0, 1)
  return {
    year,
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    milli: date.getUTCMilliseconds(),
    weekday: date.getUTCDay(),
    yearday: Math.floor((date.getTime() - newYear.getTime()) / 86_400_000)
  }
}

/** Formatters are expensive to make (tens of us): one is kept per zone, a bounded number. */
const FORMATS = new Map<string, Intl.DateTimeFormat | null>()
const FORMATS_MAX = 64

function zoneOffsetMs(milliseconds: number, zone: string): number | null {
  const fixed = /^([+-]?)(\d\d):(\d\d)$/.exec(zone)
  if (fixed !== null) {
    return (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000 * (fixed[1] === '-' ? -1 : 1)
  }
  const format = formatFor(zone)
  if (format === null) return null
  const parts: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(milliseconds)) parts[type] = Number(value)
  const local = new Date(0)
  local.setUTCFullYear(parts.year!, parts.month! - 1, parts.day!)
  local.setUTCHours(parts.hour!, parts.minute!, parts.second!)
  return local.getTime() - Math.floor(milliseconds / 1000) * 1000
}

function formatFor(zone: string): Intl.DateTimeFormat | null {
  const known = FORMATS.get(zone)
  if (known !== undefined) return known
  let format: Intl.DateTimeFormat | null
  try {
    const fields = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
    const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, calendar: 'gregory', ...fields, ...clock })
  } catch {
    format = null // Intl has no question to ask first: an unknown zone throws.
  }
  if (FORMATS.size >= FORMATS_MAX) FORMATS.clear()
  FORMATS.set(zone, format)
  return format
}
