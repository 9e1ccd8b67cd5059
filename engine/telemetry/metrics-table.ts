/**
 * The reading side of metrics, on the main thread: knows what every worker's slots mean, sums over
 * the workers, keeps what dead workers counted, and prints the Prometheus text format 0.0.4.
 */
import { boundsOf, METRICS, type MetricName, type MetricRow } from './catalog.ts'
import { labelText, type SeriesAnnouncement, slotsOf } from './metrics.ts'

export const EXPOSITION_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

interface Series {
  readonly slot: number
  readonly name: MetricName
  readonly labels: Summed['labels']
  readonly text: string
}

interface Region {
  readonly values: Float64Array
  /** By slot. */
  readonly series: Map<number, Series>
}

/** One series over all workers. */
export interface Summed {
  readonly labels: Readonly<Record<string, string>>
  /** As Metrics has them. */
  readonly slots: number[]
}

/** Metrics in the order of the catalogue -> label text -> values. */
export type Sums = Map<MetricName, Map<string, Summed>>

export class MetricsTable {
  readonly #regions = new Map<string, Region>()
  /** What workers that are gone had counted. */
  readonly #base: Sums = new Map()

  /**
   * Starts reading a region. `id` names its writer ("main", or the worker's number).
   * Returns the function that takes the writer's announcements.
   */
  attach(id: string, memory: SharedArrayBuffer): (message: SeriesAnnouncement) => void {
    // Two regions under one name would lose the first one's counts at its death.
    if (this.#regions.has(id)) throw new Error(`metrics of ${id} are already attached`)
    const region: Region = { values: new Float64Array(memory), series: new Map() }
    this.#regions.set(id, region)
    return ({ slot, name, labels }) => {
      if (labels === null) region.series.delete(slot)
      else region.series.set(slot, { slot, name, labels, text: labelText(labels) })
    }
  }

  /**
   * The writer is gone. Its counters stay in the sums for ever, because a counter that goes down
   * reads as a restart; its gauges described what is no longer there and are forgotten.
   */
  detach(id: string): void {
    const region = this.#regions.get(id)
    if (region === undefined) return
    this.#regions.delete(id)
    addRegion(this.#base, region, (name) => METRICS[name].type !== 'gauge')
  }

  /** Every series of every writer, and of those that are gone: its values begin at `slot`. Nothing is copied. */
  each(take: (name: MetricName, labels: Summed['labels'], values: ArrayLike<number>, slot: number) => void): void {
    for (const [name, series] of this.#base)
      for (const { labels, slots } of series.values()) take(name, labels, slots, 0)
    for (const { values, series } of this.#regions.values()) {
      for (const { slot, name, labels } of series.values()) {
        if (!Number.isNaN(values[slot])) take(name, labels, values, slot)
      }
    }
  }

  /** All series, of workers that run and of those that are gone. */
  sums(): Sums {
    const all: Sums = new Map()
    for (const [name, series] of this.#base) {
      const copies = [...series].map(([text, { labels, slots }]): [string, Summed] => [
        text,
        { labels, slots: [...slots] }
      ])
      all.set(name, new Map(copies))
    }
    for (const region of this.#regions.values()) addRegion(all, region, () => true)
    const names = (Object.keys(METRICS) as MetricName[]).filter((name) => all.has(name))
    return new Map(names.map((name) => [name, all.get(name)!]))
  }

  /** All series in the text format, sorted by labels. */
  expose(): string {
    let out = ''
    for (const [name, series] of this.sums()) out += exposeMetric(name, series)
    return out
  }
}

function addRegion(sums: Sums, region: Region, wanted: (name: MetricName) => boolean): void {
  for (const { slot, name, labels, text } of region.series.values()) {
    // Gauges only (Gauge.clear).
    if (!wanted(name) || Number.isNaN(region.values[slot])) continue
    const count = slotsOf(name)
    const series = sums.get(name) ?? new Map<string, Summed>()
    const sum = series.get(text) ?? { labels, slots: Array.from({ length: count }, () => 0) }
    sums.set(name, series)
    series.set(text, sum)
    for (let i = 0; i < count; i++) sum.slots[i]! += region.values[slot + i]!
  }
}

function exposeMetric(name: MetricName, series: Map<string, Summed>): string {
  const row: MetricRow = METRICS[name]
  const bounds = boundsOf(name)
  let out = `# HELP ${name} ${row.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${row.type}\n`
  for (const labels of [...series.keys()].sort()) {
    const { slots } = series.get(labels)!
    out += bounds === null ? `${name}${labels} ${slots[0]!}\n` : exposeHistogram(name, labels, bounds, slots)
  }
  return out
}

/** The count is the sum of the buckets, so that `_count` and the `+Inf` bucket cannot differ in one scrape. */
function exposeHistogram(name: string, labels: string, bounds: readonly number[], slots: number[]): string {
  const open = labels === '' ? '{' : `${labels.slice(0, -1)},`
  let out = ''
  let count = 0
  for (let i = 0; i <= bounds.length; i++) {
    count += slots[i]!
    const bound = i < bounds.length ? String(bounds[i]) : '+Inf'
    out += `${name}_bucket${open}le="${bound}"} ${count}\n`
  }
  return `${out}${name}_sum${labels} ${slots[bounds.length + 1]!}\n${name}_count${labels} ${count}\n`
}
