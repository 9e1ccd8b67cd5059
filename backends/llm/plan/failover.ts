/** Failover within a request: each other provider once, before the client has got anything. */

import type { Exchange } from '#engine/contract/exchange.ts'
import type { RetryPlan } from '#engine/contract/filter.ts'

interface Judges {
  readonly peek: NonNullable<RetryPlan['peek']>
  /** The head of the answer says that the provider that was asked has failed. */
  readonly hasFailed: (ex: Exchange) => boolean
}

/** `total`: of providers, more than one. */
export function failover(total: number, { peek, hasFailed }: Judges): RetryPlan {
  return {
    attempts: total - 1,
    codes: new Set([502, 503, 504]),
    backoffMs: 0,
    precondition: null,
    peek,
    condition: hasFailed,
    // What may follow is bounded already, by the number of providers and by how long they rest.
    budget: { percent: 100, minPerSecond: 100 }
  }
}
