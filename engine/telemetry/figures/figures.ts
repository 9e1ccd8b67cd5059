/** Reads figures out of the metrics of all workers once a second, and keeps their past. Runs in the main thread. */
import { boundsOf, type HistogramName } from '#engine/telemetry/catalog.ts'
import type { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { type Past, RESOLUTIONS, Ring, type Step } from './ring.ts'
import { type FigureKind, PERCENTILES, PERCENTILES_OF, percentileOf, READERS } from './table.ts'

/** One step of the finest resolution. */
export const SAMPLE_MS = RESOLUTIONS[0].step * 1000

/** What all workers have counted up to a moment. */
interface Totals {
  readonly counts: Map<string, number>
  readonly gauges: Map<string, number>
  readonly histograms: Map<string, { readonly bounds: readonly number[]; readonly counts: Float64Array }>
}

export class Figures {
  readonly #ring = new Ring()
  readonly #table: Pick<MetricsTable, 'each'>
  /** By resolution: what had been counted when its last step was over; null: nothing is known of what was before. */
  readonly #before: (Totals | null)[] = RESOLUTIONS.map(() => null)
  readonly #clock: () => number
  readonly #wall: () => number

  /** `clock`: milliseconds that only rise; `wall`: since 1970. */
  constructor(table: Pick<MetricsTable, 'each'>, clock = () => performance.now(), wall: () => number = Date.now) {
    this.#table = table
    this.#clock = clock
    this.#wall = wall
  }

  get names(): readonly string[] {
    return this.#ring.names
  }

  /** How many figures were left out in the last step, since there are too many. */
  get refused(): number {
    return this.#ring.refused
  }

  /** To be called every SAMPLE_MS; a call that comes late leaves steps out. */
  sample(): void {
    const second = Math.floor(this.#clock() / 1000)
    const now = this.#read()
    for (const [index, { step }] of RESOLUTIONS.entries()) {
      const number = Math.floor(second / step)
      const before = this.#before[index]!
      if (before !== null && number <= this.#ring.last(index)) continue
      this.#ring.write(index, number, before === null ? now.gauges : changes(before, now))
      this.#before[index] = now
    }
  }

  /** The last `seconds` of figures, in steps of `step`, which keeps as much. */
  past(names: readonly string[], seconds: number, step: Step): Past {
    const index = RESOLUTIONS.findIndex((one) => one.step === step)
    const to = this.#ring.last(index)
    const count = Math.min(Math.ceil(seconds / step), RESOLUTIONS[index]!.kept, to + 1)
    const from = to - count + 1
    const series = names.flatMap((name): [string, number[]][] => {
      const values = this.#ring.read(name, index, from, to)
      return values === null ? [] : [[name, values]]
    })
    // Whole seconds, so that the same step has the same time in the next answer.
    const started = Math.round((this.#wall() - this.#clock()) / 1000) * 1000
    return { step, firstAt: started + from * step * 1000, series: new Map(series) }
  }

  #read(): Totals {
    const totals: Totals = { counts: new Map(), gauges: new Map(), histograms: new Map() }
    const add = (figure: string, kind: FigureKind, value: number) => {
      const values = kind === 'count' ? totals.counts : totals.gauges
      values.set(figure, (values.get(figure) ?? 0) + value)
    }
    this.#table.each((name, labels, values, slot) => {
      READERS[name]?.(add, labels, (i) => values[slot + i]!)
      const percentiles = PERCENTILES_OF[name]
      if (percentiles !== undefined) addHistogram(totals, percentiles.figure, percentiles.of, values, slot)
    })
    return totals
  }
}

function addHistogram(
  { histograms }: Totals,
  figure: string,
  of: HistogramName,
  values: ArrayLike<number>,
  slot: number
): void {
  const bounds = boundsOf(of)!
  const sum = histograms.get(figure) ?? { bounds, counts: new Float64Array(bounds.length + 1) }
  histograms.set(figure, sum)
  for (let i = 0; i <= bounds.length; i++) sum.counts[i]! += values[slot + i]!
}

function changes(before: Totals, now: Totals): Map<string, number> {
  const values = new Map(now.gauges)
  // A worker that starts again counts on where the last one was: counts never fall.
  for (const [name, count] of now.counts) values.set(name, count - (before.counts.get(name) ?? 0))
  for (const [name, { bounds, counts }] of now.histograms) {
    const earlier = before.histograms.get(name)?.counts
    const within = counts.map((count, i) => count - (earlier?.[i] ?? 0))
    for (const percent of PERCENTILES) values.set(`${name}.p${percent}`, percentileOf(within, bounds, percent))
  }
  return values
}
