/** Buckets of rate limits that report what they hold when a policy takes from them. Nothing is taken in fact. */
import type { Buckets, Limit, LimitSpec } from '#engine/contract/buckets.ts'

/** `inner` must not take either. `seen` gets one sentence for each limit. */
export function observedBuckets(inner: Buckets, seen: (text: string) => void): Buckets {
  return { limit: (spec) => observedLimit(inner.limit(spec), spec, seen) }
}

function observedLimit(
  limit: Limit,
  { amount, burst, unitMs, isKeyed }: LimitSpec,
  seen: (text: string) => void
): Limit {
  return {
    capacity: limit.capacity,
    get bucket() {
      return limit.bucket
    },
    get waitMs() {
      return limit.waitMs
    },
    take(caller, need, amountTaken) {
      const left = limit.take(caller, need, amountTaken)
      // Callers may be told apart by their keys: the policy's expressions show what they have read, without secrets.
      const whose = isKeyed
        ? `the bucket of ${caller === null ? 'all that are not known' : 'this caller'}`
        : 'one bucket for all'
      const holds = left < 0 ? `has not ${need}` : `has ${left + amountTaken} of ${limit.capacity}`
      seen(`${amount} per ${unitMs / 1_000}s${burst === 0 ? '' : ` and a burst of ${burst}`}: ${whose} ${holds}`)
      return left
    },
    giveBack() {},
    charge() {}
  }
}

/** Full buckets, for a configuration that no gateway runs. */
export const FULL_BUCKETS: Buckets = {
  limit: ({ amount, burst }) => ({
    capacity: amount + burst,
    bucket: -1,
    waitMs: 0,
    take: (_caller, _need, taken) => amount + burst - taken,
    giveBack() {},
    charge() {}
  })
}
