/**
 * The header section of an attempt whose backend shows who asks (docs/specification.md#backend-authentication). Keys,
 * tokens and signatures are written into a copy. The request has its own fields again as soon as the attempt has an
 * answer, fails, or is given up: hooks, expressions, logs and the next attempt never see what the backend was shown.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Exchange } from './exchange.ts'
import { Slot } from './slot.ts'

/** The fields of the request as policies left them, while an attempt has its own in Exchange.request. */
const OWN = new Slot<HeaderBlock | null>()

/** Gives the attempt that begins a header section of its own. While Exchange.request is that one, it is under way. */
export function beginAttemptHeaders(ex: Exchange): HeaderBlock {
  endAttemptHeaders(ex)
  OWN.set(ex, ex.request)
  ex.request = ex.request.copy()
  return ex.request
}

/** The fields of the request as policies left them, also while an attempt has its own. */
export function headersBeforeAttempt(ex: Exchange): HeaderBlock {
  return OWN.get(ex) ?? ex.request
}

/** For the lifecycle, when the attempt is over; and for backends that begin another one themselves. */
export function endAttemptHeaders(ex: Exchange): void {
  const own = OWN.get(ex)
  if (own === null) return
  OWN.set(ex, null)
  // A body may still be under way: fields that are not the client's to say are not in its trailers either.
  own.stripped = ex.request.stripped
  ex.request = own
}
