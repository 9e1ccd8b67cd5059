/** How late the event loop of a worker runs: the one latency that no exchange can see of itself. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Gauge, Metrics } from './metrics.ts'

/** Time between two probes. The probe is native: no JavaScript runs and nothing is allocated for it. */
const PROBE_MS = 20
/** The gauges describe the last interval of this length. */
const SAMPLE_MS = 5000

export class LoopDelay {
  readonly #histogram: IntervalHistogram
  readonly #p50: Gauge
  readonly #p99: Gauge
  readonly #max: Gauge
  readonly #timer: NodeJS.Timeout

  constructor(metrics: Metrics, worker: number) {
    const of = (stat: string) => metrics.gauge('weir_event_loop_delay_seconds', { worker: String(worker), stat })
    this.#p50 = of('p50')
    this.#p99 = of('p99')
    this.#max = of('max')
    this.#histogram = monitorEventLoopDelay({ resolution: PROBE_MS })
    this.#histogram.enable()
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS).unref()
  }

  /** Sets the gauges from what was probed since the last call. */
  sample(): void {
    this.#p50.set(late(this.#histogram.percentile(50)))
    this.#p99.set(late(this.#histogram.percentile(99)))
    this.#max.set(late(this.#histogram.max))
    this.#histogram.reset()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#histogram.disable()
  }
}

/** Seconds late, from nanoseconds between two probes, which include the probing interval. */
export function late(ns: number): number {
  return Math.max(0, ns / 1e6 - PROBE_MS) / 1000
}
