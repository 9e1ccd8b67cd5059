/**
 * Metrics on their way to a collector. The main thread has those of all workers, but no connections: every worker asks
 * it for them at each interval, it answers one of them, and that one sends what it is given.
 */
import type { Background } from '#engine/contract/background.ts'
import type { MetricsPlan } from '#engine/contract/otlp.ts'
import type { Time } from '#engine/contract/time.ts'
import type { Exporters } from './otlp/exporters.ts'

/** A Metric message of OTLP. Plain data: it travels by postMessage. */
export interface MetricChunk {
  readonly bytes: Uint8Array
  /** How many data points are in it. */
  readonly points: number
}

export class MetricsExports {
  readonly #exporters: Exporters
  readonly #ask: () => void
  readonly #time: Time
  readonly #known = new WeakMap<MetricsPlan, Background>()
  /** Of the configuration in force. */
  #plan: MetricsPlan | null = null

  /** `ask`: has the main thread call `take`, if it is this worker that sends. */
  constructor(exporters: Exporters, ask: () => void, time: Time) {
    this.#exporters = exporters
    this.#ask = ask
    this.#time = time
  }

  /** The same one as long as a configuration is unchanged: a reload does not begin the interval again. */
  backgroundOf(plan: MetricsPlan): Background {
    const known = this.#known.get(plan) ?? this.#make(plan)
    this.#known.set(plan, known)
    return known
  }

  /** Sends them as soon as the collector takes them. Without a configuration that wants them they are thrown away. */
  take(chunks: readonly MetricChunk[]): void {
    if (this.#plan === null) return
    const exporter = this.#exporters.exporterFor(this.#plan, 'metrics')
    for (const { bytes, points } of chunks) exporter.add(bytes, points)
    exporter.flush()
  }

  #make(plan: MetricsPlan): Background {
    // `begin` of the next configuration comes before `end` of the last.
    let uses = 0
    let stop: (() => void) | null = null
    const wait = (): void => {
      stop = this.#time.after(plan.intervalMs, () => {
        wait()
        this.#ask()
      })
    }
    return {
      begin: () => {
        this.#plan = plan
        if (uses++ === 0) wait()
      },
      end: () => {
        if (--uses > 0) return
        stop?.()
        if (this.#plan === plan) this.#plan = null
      }
    }
  }
}
