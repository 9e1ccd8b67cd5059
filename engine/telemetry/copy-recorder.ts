/** RECORD for the copies of requests that mirrors get: counted, but no requests of clients. */

import type { Exchange } from '#engine/contract/exchange.ts'
import type { MirrorRecorder } from '#engine/contract/route.ts'
import type { Counter, Metrics } from './metrics.ts'

type Result = 'answered' | 'failed' | 'dropped'

export class CopyRecorder implements MirrorRecorder {
  readonly #metrics: Metrics
  readonly #route: string
  /** By result and backend, which are names of the configuration. */
  readonly #counters = new Map<string, Counter>()

  constructor(metrics: Metrics, route: string) {
    this.#metrics = metrics
    this.#route = route
  }

  /** Called once, when the copy is over. */
  record(copy: Exchange): void {
    const { error } = copy
    this.#count(copy.backend, error === null ? 'answered' : error === 'UPSTREAM_OVERFLOW' ? 'dropped' : 'failed')
  }

  dropped(backend: string): void {
    this.#count(backend, 'dropped')
  }

  #count(name: string | null, result: Result): void {
    const backend = name ?? ''
    const key = `${result} ${backend}`
    let counter = this.#counters.get(key)
    if (counter === undefined) {
      counter = this.#metrics.counter('weir_mirrored_requests_total', { route: this.#route, backend, result })
      this.#counters.set(key, counter)
    }
    counter.add(1)
  }
}
