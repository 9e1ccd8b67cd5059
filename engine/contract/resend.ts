/** An exchange whose answer is given up, before the client has got anything of it. */
import { BODY_NONE, type Exchange, type RetryState, STEP_RESPONSE, STEP_SERVE } from './exchange.ts'

/** Makes ex what it was before its attempt was answered. */
export function resetResponse(ex: Exchange): void {
  ex.status = 0
  ex.grpcStatus = -1
  ex.response = null
  ex.answerHook = null
  ex.heldResponse = null
  ex.responseBody = BODY_NONE
  ex.responseLength = 0
  ex.firstByteAt = 0
}

/**
 * For a backend whose answer hook has collected all of an answer: ex can be sent once more, with a request body that
 * has been collected too. `retry`: what ex had before the answer was taken: what fails now may be tried elsewhere.
 * False: it is over, or has been answered meanwhile.
 */
export function resend(ex: Exchange, retry: RetryState | null): boolean {
  const isWhole = ex.heldTrailers !== null && ex.requestBytes !== null
  if (ex.step !== STEP_RESPONSE || ex.localReply !== null || ex.responseDone || !isWhole) return false
  resetResponse(ex)
  ex.heldTrailers = null
  ex.responseBytes = null
  ex.bodySent = false
  ex.retry = retry
  // The client has been asked for its body already and must not be asked twice.
  ex.request.remove('expect')
  ex.step = STEP_SERVE
  return true
}
