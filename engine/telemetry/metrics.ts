/**
 * The counting side of metrics, one per worker thread.
 *
 * A series is one or more Float64 slots in the worker's own region of shared memory. Only that
 * worker writes it and the main thread reads it at a scrape, so no atomics are needed: an aligned
 * double is loaded and stored whole on every 64-bit platform that Node runs on. Adding to a slot is
 * a load, an add and a store; nothing is allocated and no lock is taken.
 */
import {
  boundsOf,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName
} from './catalog.ts'

/** 524,288 slots, some 12,000 routes with traffic. Pages that are never written cost no memory. */
export const REGION_BYTES = 4 * 1024 * 1024

/** Tells the main thread what a slot means from now on. Plain data: it travels by postMessage. */
export interface SeriesAnnouncement {
  readonly slot: number
  readonly name: MetricName
  /** Null: nothing any more. */
  readonly labels: Readonly<Record<string, string>> | null
}

export class Counter {
  readonly #values: Float64Array
  readonly #slot: number
  constructor(values: Float64Array, slot: number) {
    this.#values = values
    this.#slot = slot
  }
  /** `amount` must not be negative. */
  add(amount: number): void {
    this.#values[this.#slot]! += amount
  }
}

export class Gauge {
  readonly #values: Float64Array
  readonly #slot: number
  constructor(values: Float64Array, slot: number) {
    this.#values = values
    this.#slot = slot
  }
  set(value: number): void {
    this.#values[this.#slot] = value
  }
  add(amount: number): void {
    this.#values[this.#slot]! += amount
  }
  /** It says nothing any more, and is not shown. */
  clear(): void {
    this.#values[this.#slot] = Number.NaN
  }
  get slot(): number {
    return this.#slot
  }
}

/** Slots: one per bucket (not cumulative), the bucket above all bounds, the sum. */
export class Histogram {
  readonly #values: Float64Array
  readonly #slot: number
  readonly #bounds: readonly number[]
  constructor(values: Float64Array, slot: number, bounds: readonly number[]) {
    this.#values = values
    this.#slot = slot
    this.#bounds = bounds
  }
  observe(value: number): void {
    const bounds = this.#bounds
    const count = bounds.length
    // Linear on purpose: most exchanges end in the first few buckets, where it beats a binary search.
    let i = 0
    while (i < count && value > bounds[i]!) i++
    this.#values[this.#slot + i]! += 1
    this.#values[this.#slot + count + 1]! += value
  }
}

/** Number of slots that one series of `name` takes. */
export function slotsOf(name: MetricName): number {
  const bounds = boundsOf(name)
  return bounds === null ? 1 : bounds.length + 2
}

export class Metrics {
  readonly #values: Float64Array
  readonly #announce: (message: SeriesAnnouncement) => void
  readonly #series = new Map<string, Counter | Gauge | Histogram>()
  /** Where series that found no room are written; never read. */
  readonly #sink = new Float64Array(64)
  readonly #dropped: Counter
  #next = 0
  /** Of gauges that have been forgotten. */
  readonly #free: number[] = []

  /**
   * `region`: REGION_BYTES of shared memory that belong to this worker alone.
   * `announce`: called once per new series, before its first value is written.
   */
  constructor(region: SharedArrayBuffer, announce: (message: SeriesAnnouncement) => void) {
    this.#values = new Float64Array(region)
    this.#announce = announce
    this.#dropped = this.counter('weir_metrics_dropped_series_total', {})
  }

  /** The series of `name` with these labels, made at first use. Call it once and keep the result. */
  counter<N extends CounterName>(name: N, labels: LabelsOf<N>): Counter {
    return this.#get(name, labels, (values, slot) => new Counter(values, slot)) as Counter
  }

  gauge<N extends GaugeName>(name: N, labels: LabelsOf<N>): Gauge {
    return this.#get(name, labels, (values, slot) => new Gauge(values, slot)) as Gauge
  }

  histogram<N extends HistogramName>(name: N, labels: LabelsOf<N>): Histogram {
    const bounds = boundsOf(name) ?? []
    return this.#get(name, labels, (values, slot) => new Histogram(values, slot, bounds)) as Histogram
  }

  /** What it was about is gone: its slot goes to another series, and the Gauge may not be set again. */
  forgetGauge<N extends GaugeName>(name: N, labels: LabelsOf<N>): void {
    const key = name + labelText(labels)
    const known = this.#series.get(key)
    if (known === undefined) return
    this.#series.delete(key)
    const gauge = known as Gauge
    gauge.clear()
    this.#free.push(gauge.slot)
    this.#announce({ slot: gauge.slot, name, labels: null })
  }

  #get(
    name: MetricName,
    labels: Readonly<Record<string, string>>,
    make: (values: Float64Array, slot: number) => Counter | Gauge | Histogram
  ): Counter | Gauge | Histogram {
    const key = name + labelText(labels)
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const slots = slotsOf(name)
    const slot = (slots === 1 ? this.#free.pop() : undefined) ?? this.#next
    if (slot + slots > this.#values.length) {
      // Not remembered under its key: a map of what found no room would itself grow without bound.
      this.#dropped.add(1)
      return make(this.#sink, 0)
    }
    if (slot === this.#next) this.#next += slots
    this.#values[slot] = 0
    const made = make(this.#values, slot)
    this.#series.set(key, made)
    this.#announce({ slot, name, labels })
    return made
  }
}

/** Labels as the exposition prints them: `{a="1",b="2"}`, or '' without labels. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  let out = ''
  for (const name of Object.keys(labels)) out += `${out === '' ? '' : ','}${name}="${escapeLabel(labels[name]!)}"`
  return out === '' ? '' : `{${out}}`
}

/** The three escapes of the Prometheus text format 0.0.4; every other character stands for itself. */
function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))
}
