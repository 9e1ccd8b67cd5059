/**
 * When the periods of budgets begin and end. Periods of the calendar are those of a time zone, which only Intl knows:
 * the main thread works them out, once for each period.
 */
import type { BudgetSpec, CalendarPeriod } from '#engine/contract/accounts.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Milliseconds since 1970; `end` is the first moment that is not in it. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** As long as a number of milliseconds can be a date. */
const FOR_EVER: Period = { start: 0, end: 8.64e15 }
/** Of a rolling budget: what is spent is forgotten in so many parts, each when all of it is old enough. */
export const ROLLING_PARTS = 60

/** The period of `now`. A rolling budget has one without an end. */
export function periodAt({ period, timeZone, startsAt }: BudgetSpec, now: number): Period {
  if (typeof period === 'number' || period === 'Total') return FOR_EVER
  const local = now + offsetAt(timeZone, now)
  const anchor = startsAt === null ? null : startsAt + offsetAt(timeZone, startsAt)
  const start = startOf(period, local, anchor)
  // Clocks are put forward and back: an hour that a zone has twice is in one period, and one that it lacks ends
  // nothing.
  const found = { start: utcOf(timeZone, start), end: utcOf(timeZone, next(period, start, anchor)) }
  if (now >= found.end)
    return { start: found.end, end: utcOf(timeZone, next(period, next(period, start, anchor), anchor)) }
  return now < found.start ? { start: utcOf(timeZone, before(period, start, anchor)), end: found.start } : found
}

/** As a file says it: "24h", "90s". `ms`: whole seconds. */
export function spanText(ms: number): string {
  if (ms % HOUR_MS === 0) return `${ms / HOUR_MS}h`
  return ms % MINUTE_MS === 0 ? `${ms / MINUTE_MS}m` : `${ms / 1_000}s`
}

/** Milliseconds of one part of a rolling budget. */
export function partMs(rollingMs: number): number {
  return Math.max(1_000, Math.ceil(rollingMs / ROLLING_PARTS))
}

// --- local time: milliseconds since 1970 by the clock on the wall ---

const UNITS_MS = { Hour: HOUR_MS, Day: DAY_MS, Week: 7 * DAY_MS } as const
/** 1970 began on a Thursday: weeks begin on Mondays (ISO 8601). */
const MONDAY_MS = 4 * DAY_MS

function startOf(period: Exclude<CalendarPeriod, 'Total'>, local: number, anchor: number | null): number {
  if (period === 'Month') {
    const at = new Date(local)
    const start = monthStart(at.getUTCFullYear(), at.getUTCMonth(), anchor)
    return start <= local ? start : monthStart(at.getUTCFullYear(), at.getUTCMonth() - 1, anchor)
  }
  const unit = UNITS_MS[period]
  const phase = (anchor ?? (period === 'Week' ? MONDAY_MS : 0)) % unit
  return Math.floor((local - phase) / unit) * unit + phase
}

const next = (period: Exclude<CalendarPeriod, 'Total'>, start: number, anchor: number | null) =>
  moved(period, start, anchor, 1)
const before = (period: Exclude<CalendarPeriod, 'Total'>, start: number, anchor: number | null) =>
  moved(period, start, anchor, -1)

function moved(period: Exclude<CalendarPeriod, 'Total'>, start: number, anchor: number | null, by: 1 | -1): number {
  if (period !== 'Month') return start + by * UNITS_MS[period]
  const at = new Date(start)
  return monthStart(at.getUTCFullYear(), at.getUTCMonth() + by, anchor)
}

/** On the day and at the time of `anchor`; on the last day of a month that is too short for it. */
function monthStart(year: number, month: number, anchor: number | null): number {
  if (anchor === null) return Date.UTC(year, month, 1)
  const days = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const day = Math.min(new Date(anchor).getUTCDate(), days)
  return Date.UTC(year, month, day) + (((anchor % DAY_MS) + DAY_MS) % DAY_MS)
}

// --- time zones ---

const formats = new Map<string, Intl.DateTimeFormat>()

/** Whether there is such a zone. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name)
    return true
  } catch {
    // RangeError: no such zone.
    return false
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone)
  if (format === undefined) {
    const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric' } as const
    const parts = { ...numeric, minute: 'numeric', second: 'numeric' } as const
    format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...parts, calendar: 'iso8601' })
    formats.set(timeZone, format)
  }
  return format
}

/** Milliseconds that clocks of the zone are ahead of UTC at `utc`. */
function offsetAt(timeZone: string, utc: number): number {
  if (timeZone === 'UTC') return 0
  const seconds = Math.floor(utc / 1_000) * 1_000
  const of = new Map(
    formatOf(timeZone)
      .formatToParts(seconds)
      .map(({ type, value }) => [type, Number(value)])
  )
  const get = (type: Intl.DateTimeFormatPartTypes) => of.get(type) ?? 0
  return Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'), get('second')) - seconds
}

/** When clocks of the zone show `local` for the first time; where they skip it, when they do. */
function utcOf(timeZone: string, local: number): number {
  const [early, late] = [local - offsetAt(timeZone, local - DAY_MS), local - offsetAt(timeZone, local + DAY_MS)]
  const shows = (utc: number) => utc + offsetAt(timeZone, utc) === local
  const found = [Math.min(early, late), Math.max(early, late)].find(shows)
  return found ?? Math.max(early, late)
}
