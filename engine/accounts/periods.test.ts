import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { BudgetSpec } from '#engine/contract/accounts.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import { isTimeZone, periodAt } from './periods.ts'

const spec = (period: BudgetSpec['period'], timeZone = 'UTC', startsAt: string | null = null): BudgetSpec => ({
  amount: 1,
  period,
  timeZone,
  startsAt: startsAt === null ? null : Date.parse(startsAt)
})

const shown = (budget: BudgetSpec, now: string) => {
  const { start, end } = periodAt(budget, Date.parse(now))
  return [new Date(start).toISOString(), new Date(end).toISOString()].map((text) => text.replace(':00.000Z', 'Z'))
}

test('periods of the calendar are those of the zone', () => {
  deepEqual(shown(spec('Month'), '2026-02-10T12:00:00Z'), ['2026-02-01T00:00Z', '2026-03-01T00:00Z'])
  deepEqual(shown(spec('Month', 'Europe/Berlin'), '2026-03-31T22:30:00Z'), ['2026-03-31T22:00Z', '2026-04-30T22:00Z'])
  deepEqual(shown(spec('Week'), '2026-11-22T23:59:59Z'), ['2026-11-16T00:00Z', '2026-11-23T00:00Z'])
  deepEqual(shown(spec('Day', 'America/New_York'), '2026-07-01T03:00:00Z'), ['2026-06-30T04:00Z', '2026-07-01T04:00Z'])
  deepEqual(shown(spec('Hour', 'Asia/Kolkata'), '2026-07-01T03:10:00Z'), ['2026-07-01T02:30Z', '2026-07-01T03:30Z'])
})

test('an instant says the day and the time at which periods begin', () => {
  const monthly = spec('Month', 'Europe/Berlin', '2026-01-31T08:00:00Z')
  deepEqual(shown(monthly, '2026-02-28T07:59:59Z'), ['2026-01-31T08:00Z', '2026-02-28T08:00Z'])
  deepEqual(shown(monthly, '2026-04-10T00:00:00Z'), ['2026-03-31T07:00Z', '2026-04-30T07:00Z'])
  const weekly = spec('Week', 'UTC', '2026-11-25T09:30:00Z')
  deepEqual(shown(weekly, '2026-11-25T09:00:00Z'), ['2026-11-18T09:30Z', '2026-11-25T09:30Z'])
})

test('a day on which clocks are put forward or back is a day, and an hour that comes twice is one period', () => {
  const day = spec('Day', 'Europe/Berlin')
  deepEqual(shown(day, '2026-03-29T12:00:00Z'), ['2026-03-28T23:00Z', '2026-03-29T22:00Z'])
  deepEqual(shown(day, '2026-10-25T12:00:00Z'), ['2026-10-24T22:00Z', '2026-10-25T23:00Z'])
  const hour = spec('Hour', 'Europe/Berlin')
  deepEqual(shown(hour, '2026-10-25T00:30:00Z'), ['2026-10-25T00:00Z', '2026-10-25T02:00Z'])
  deepEqual(shown(hour, '2026-10-25T01:30:00Z'), ['2026-10-25T00:00Z', '2026-10-25T02:00Z'])
  deepEqual(shown(hour, '2026-03-29T00:30:00Z'), ['2026-03-29T00:00Z', '2026-03-29T01:00Z'])
})

test('every moment is in one period, and the next begins where it ends', () => {
  const random = xorshift32(7)
  const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia', 'Asia/Kathmandu']
  for (let i = 0; i < 3_000; i++) {
    const zone = zones[Math.floor(random() * zones.length)]!
    const period = (['Hour', 'Day', 'Week', 'Month'] as const)[Math.floor(random() * 4)]!
    const moment = () => 1.3e12 + Math.floor(random() * 6e11)
    const budget = { ...spec(period, zone), startsAt: random() < 0.5 ? null : moment() }
    const now = moment()
    const { start, end } = periodAt(budget, now)
    const where = `${period} ${zone} ${budget.startsAt} ${now}`
    ok(start <= now && now < end, where)
    deepEqual(periodAt(budget, start), { start, end }, where)
    deepEqual(periodAt(budget, end).start, end, where)
  }
})

test('zones are those that there are', () => {
  deepEqual(['UTC', 'Europe/Berlin', 'Mars/Base', ''].map(isTimeZone), [true, true, false, false])
})
