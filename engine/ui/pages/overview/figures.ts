/** From the figures that the gateway keeps to what the overview shows. */
import type { Answer } from '#engine/ui/api/client.ts'
import type { Series } from '#engine/ui/parts/chart.tsx'

type Past = Answer<'getSeries'>

/** How far back, and how often there is something new. */
export const RANGES = [
  { name: '5m', title: 'Last 5 minutes', seconds: 300, everyMs: 2000 },
  { name: '15m', title: 'Last 15 minutes', seconds: 900, everyMs: 2000 },
  { name: '3h', title: 'Last 3 hours', seconds: 10_800, everyMs: 10_000 },
  { name: '24h', title: 'Last 24 hours', seconds: 86_400, everyMs: 60_000 }
] as const
export type Range = (typeof RANGES)[number]
export const rangeOf = (text: string | null): Range => RANGES.find(({ name }) => name === text) ?? RANGES[0]

export const NAMES =
  'requests,responses.*,errors.*,latency.p50,latency.p99,firstToken.p50,tokens.input,tokens.output,cost,connections'

/** What is called "now" lies within this time. */
const NOW_SECONDS = 10

type Values = readonly (number | null)[]

export const timesOf = ({ from, step, series }: Past): number[] => {
  const first = Date.parse(from) / 1000
  const length = Object.values(series)[0]?.length ?? 0
  return Array.from({ length }, (_, i) => first + i * step)
}

/** A figure that nothing has counted so far is zero. */
const valuesOf = ({ series }: Past, name: string): Values => series[name] ?? []

/** Counts of steps, in a second. */
export function rate(past: Past, name: string, title: string): Series {
  const length = timesOf(past).length
  const values = valuesOf(past, name)
  return { name: title, values: Array.from({ length }, (_, i) => (values[i] ?? 0) / past.step) }
}

/** As it was at the end of each step, times `scale`. */
export function level(past: Past, name: string, title: string, scale = 1): Series {
  const values = valuesOf(past, name)
  return { name: title, values: timesOf(past).map((_, i) => (values[i] == null ? null : values[i] * scale)) }
}

/** Of the last seconds together, in a second. */
export function rateNow(past: Past, name: string): number {
  const steps = Math.max(1, Math.ceil(NOW_SECONDS / past.step))
  const last = valuesOf(past, name).slice(-steps)
  return last.length === 0 ? 0 : sumOf(last) / (last.length * past.step)
}

/** The last one that is known. */
export function levelNow(past: Past, name: string): number | null {
  const steps = Math.max(1, Math.ceil(NOW_SECONDS / past.step))
  return (
    valuesOf(past, name)
      .slice(-steps)
      .findLast((value) => value !== null) ?? null
  )
}

const sumOf = (values: Values): number => values.reduce<number>((sum, value) => sum + (value ?? 0), 0)

export interface Reason {
  readonly code: string
  readonly count: number
}

/** Why the gateway has answered itself in this time, the most frequent first. */
export function reasonsOf({ series }: Past): readonly Reason[] {
  const prefix = 'errors.'
  return Object.entries(series)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, values]) => ({ code: name.slice(prefix.length), count: sumOf(values) }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count)
}
