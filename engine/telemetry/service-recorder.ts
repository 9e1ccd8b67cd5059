/** Counts the calls of one policy to one service. */
import type { ServiceRecorder, ServiceResult } from '#engine/contract/service.ts'
import type { Counter, Histogram, Metrics } from './metrics.ts'

export class CallRecorder implements ServiceRecorder {
  readonly #metrics: Metrics
  readonly #labels: { readonly service: string; readonly policy: string }
  /** Made with the first call. */
  #duration: Histogram | null = null
  readonly #results = new Map<ServiceResult, Counter>()

  constructor(metrics: Metrics, service: string, policy: string) {
    this.#metrics = metrics
    this.#labels = { service, policy }
  }

  record(result: ServiceResult, durationMs: number): void {
    this.#duration ??= this.#metrics.histogram('weir_service_call_duration_seconds', this.#labels)
    this.#duration.observe(durationMs / 1000)
    let counter = this.#results.get(result)
    if (counter === undefined) {
      counter = this.#metrics.counter('weir_service_calls_total', { ...this.#labels, result })
      this.#results.set(result, counter)
    }
    counter.add(1)
  }
}
