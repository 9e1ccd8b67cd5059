/** From the sums of the spend log to what a chart and a table show. */
import type { Answer } from '#engine/ui/api/client.ts'
import type { Series } from '#engine/ui/parts/chart.tsx'

export type Sum = Answer<'sumSpend'>['sums'][number]

/** What calls can be told apart by. */
export const GROUPS = ['key', 'team', 'organisation', 'model', 'provider'] as const
export type Group = (typeof GROUPS)[number]

/** How far back, with the step of the chart. */
export const RANGES = [
  { name: '24h', title: 'Last 24 hours', hours: 24, step: 'hour' },
  { name: '7d', title: 'Last 7 days', hours: 168, step: 'day' },
  { name: '30d', title: 'Last 30 days', hours: 720, step: 'day' },
  { name: '90d', title: 'Last 90 days', hours: 2160, step: 'day' }
] as const
export type Range = (typeof RANGES)[number]

export const groupOf = (text: string | null): Group => GROUPS.find((group) => group === text) ?? 'key'
export const rangeOf = (text: string | null): Range => RANGES.find(({ name }) => name === text) ?? RANGES[0]

/** More in one chart cannot be told apart. */
const SERIES_MAX = 5
const HOUR_MS = 3_600_000

/** `from` of a range, at the full hour: the same address is the same answer for an hour. */
export function startOf({ hours }: Range, now: number): string {
  return new Date((Math.floor(now / HOUR_MS) - hours + 1) * HOUR_MS).toISOString()
}

export const nameOf = (sum: Sum, group: Group): string => textOf(sum[group]) || `no ${group}`
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)

export interface Charted {
  /** Seconds. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
}

/** Cost by step, a series for each of those that cost most, and one for the rest. Steps without calls are zero. */
export function charted(sums: readonly Sum[], group: Group, { step, hours }: Range, now: number): Charted {
  const stepMs = step === 'hour' ? HOUR_MS : 24 * HOUR_MS
  const count = Math.ceil((hours * HOUR_MS) / stepMs)
  const first = Math.floor(now / stepMs) - count + 1
  const times = Array.from({ length: count }, (_, i) => ((first + i) * stepMs) / 1000)
  const totals = new Map<string, number>()
  for (const sum of sums) totals.set(nameOf(sum, group), (totals.get(nameOf(sum, group)) ?? 0) + Number(sum.cost))
  const ranked = [...totals].toSorted(([, a], [, b]) => b - a).map(([name]) => name)
  const shown = ranked.slice(0, SERIES_MAX)
  const names = ranked.length > SERIES_MAX ? [...shown, 'others'] : shown
  const series = names.map((name) => ({ name, values: times.map(() => 0) }))
  for (const sum of sums) {
    const at = Math.floor(Date.parse(textOf(sum[step])) / stepMs) - first
    const row = series[shown.indexOf(nameOf(sum, group))] ?? series.at(-1)
    if (row?.values[at] !== undefined) row.values[at] += Number(sum.cost)
  }
  return { times, series }
}

/** Of all together; costs of several currencies are not added up. */
export function totalOf(sums: readonly Sum[]) {
  const currency = sums[0]?.currency ?? 'USD'
  const add = (value: (sum: Sum) => number) => sums.reduce((all, sum) => all + value(sum), 0)
  return {
    currency,
    cost: add((sum) => (sum.currency === currency ? Number(sum.cost) : 0)),
    calls: add(({ calls }) => calls),
    refusals: add(({ refusals }) => numberOf(refusals)),
    errors: add(({ errors }) => numberOf(errors)),
    unknown: add(({ unknownCosts }) => numberOf(unknownCosts)),
    input: add(inputOf),
    output: add(({ outputTokens }) => numberOf(outputTokens))
  }
}

export function inputOf({ uncachedInputTokens, cacheReadTokens, cacheWriteTokens }: Sum): number {
  return numberOf(uncachedInputTokens) + numberOf(cacheReadTokens) + numberOf(cacheWriteTokens)
}
