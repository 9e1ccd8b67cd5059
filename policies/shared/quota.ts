/** What the tightest limit says, and the fields that tell the client. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { Slot } from '#engine/contract/slot.ts'

/** Tokens or requests at most, what is left of them, whole seconds until it changes. */
export interface Quota {
  readonly capacity: number
  readonly left: number
  readonly resetS: number
}

export const QUOTA = new Slot<Quota>()

/** One small object for the response, where it is written; it lives as long as the exchange. */
export function noteQuota(ex: Exchange, capacity: number, left: number, resetS: number): void {
  if (isTighter(QUOTA.get(ex), left, resetS)) QUOTA.set(ex, { capacity, left, resetS })
}

/** Fewer left is tighter; of two alike, the one that is so for longer. */
function isTighter(quota: Quota | null, left: number, resetS: number): boolean {
  return quota === null || left < quota.left || (left === quota.left && resetS > quota.resetS)
}

/** What the upstream says about limits of its own stays as it is: a mixture of both would say nothing. */
export function writeQuota(ex: Exchange): void {
  const { response } = ex
  const quota = QUOTA.get(ex)
  if (quota === null || response === null) return
  if (response.has('x-ratelimit-limit') || response.has('x-ratelimit-remaining') || response.has('x-ratelimit-reset'))
    return
  response.append('x-ratelimit-limit', String(quota.capacity))
  response.append('x-ratelimit-remaining', String(quota.left))
  response.append('x-ratelimit-reset', String(quota.resetS))
}
