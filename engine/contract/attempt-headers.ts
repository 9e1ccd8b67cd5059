/**
 * The header section of an attempt with credentials for the backend (docs/specification.md#backend-authentication).
 * Keys, tokens and signatures are written into a copy. The request has its own fields again as soon as the attempt has
 * an answer, fails, or is given up: hooks, expressions, logs and the next attempt never see the credentials.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Exchange } from './exchange.ts'
import { Slot } from './slot.ts'

/** The fields of the request as policies left them, while an attempt has its own in Exchange.request. */
const OWN = new Slot<HeaderBlock | null>()

/** Begins an attempt with a copy of the headers. The attempt is under way as long as Exchange.request is that copy. */
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

/** Called by the lifecycle when the attempt is over, and by backends that begin another one themselves. */
export function endAttemptHeaders(ex: Exchange): void {
  const own = OWN.get(ex)
  if (own === null) return
  OWN.set(ex, null)
  // The body may still be under way, and its trailers must not have the stripped fields either.
  own.stripped = ex.request.stripped
  ex.request = own
}
