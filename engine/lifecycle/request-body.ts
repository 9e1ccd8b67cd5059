/** Where the body of a request goes when it has passed what works on it: to a hook that waits, or to the backend. */
import { resumeRequest } from '#engine/contract/body-processor.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { COPIES } from '#engine/contract/mirror.ts'
import { keepForRetry } from '#engine/contract/retry.ts'
import { keepPiece } from '#engine/kit/pieces.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { requestTrailers } from './trailers.ts'

export function takeRequestBody(
  ex: Exchange,
  chunk: Buffer,
  start: number,
  end: number,
  slot: ReadSlot | null
): boolean {
  if (ex.slots !== null) COPIES.get(ex)?.body(chunk, start, end)
  if (ex.responseDone || ex.localReply !== null) return true
  const { server, requestCollector } = ex
  if (requestCollector !== null) return requestCollector.take(chunk, start, end)
  if (ex.retry !== null) keepForRetry(ex, ex.retry, chunk, start, end)
  if (server !== null) {
    ex.bodySent = true
    return server.sendBody(chunk, start, end, slot)
  }
  ex.heldRequest = keepPiece(ex.heldRequest, chunk, start, end)
  return false
}

export function takeRequestEnd(ex: Exchange, trailers: string): void {
  // Kept also when they are sent: another attempt sends them again.
  ex.requestTrailers = trailers
  if (ex.slots !== null) COPIES.get(ex)?.end(trailers)
  if (ex.server !== null) ex.server.sendEnd(requestTrailers(ex, trailers))
  else ex.requestCollector?.end()
}

/** There is a server: it gets what has come so far. */
export function sendRequest(ex: Exchange): void {
  const server = ex.server!
  // A collected body is sent again when its first connection turned out to be dead.
  const buffered =
    ex.heldRequest ?? (ex.requestBytes === null || ex.requestBytes.length === 0 ? null : [ex.requestBytes])
  let hasRoom = true
  if (buffered !== null) {
    ex.heldRequest = null
    ex.bodySent = true
    for (const piece of buffered) hasRoom = server.sendBody(piece, 0, piece.length, null)
  }
  if (ex.requestDone) server.sendEnd(requestTrailers(ex, ex.requestTrailers))
  // Also when the request is complete: only a reading connection notices that its client leaves.
  if (hasRoom) resumeRequest(ex)
}
