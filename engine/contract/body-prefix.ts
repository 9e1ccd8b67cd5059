/**
 * Beginnings of bodies, for filters that look at no more (Filter.buffers 'prefix'). Nothing is refused: what lies
 * behind the beginning goes its way unread, and the other side waits meanwhile as in any hook that waits.
 */
import { hasNoContent } from '#engine/http/status.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import { inviteBody, lengthOf, replyBytes } from './body.ts'
import { BODY_NONE, type BodyTaker, type Exchange } from './exchange.ts'
import { CONTINUE, type Hook, type Verdict } from './filter.ts'

/** A body that is arriving, as far as it is wanted. */
class Beginning implements BodyTaker {
  readonly #bytesMax: number
  readonly #done: (bytes: Buffer) => void
  readonly #pieces = new Pieces()
  #length: number

  constructor(bytesMax: number, held: readonly Buffer[] | null, done: (bytes: Buffer) => void) {
    this.#bytesMax = bytesMax
    this.#done = done
    if (held !== null) for (const piece of held) this.#pieces.adopt(piece)
    this.#length = lengthOf(held)
  }

  take(chunk: Buffer, start: number, end: number): boolean {
    this.#pieces.push(chunk, start, end)
    this.#length += end - start
    if (this.#length < this.#bytesMax) return true
    this.#done(this.#pieces.whole)
    return false
  }

  end(): void {
    this.#done(this.#pieces.whole)
  }
}

/** The request hook that waits for `bytesMax` bytes of the body, or for its end: sets ex.requestPrefix. */
export function collectRequestPrefix(bytesMax: number): Hook {
  return (ex) => {
    if (ex.requestPrefix !== null || ex.requestBytes !== null) return CONTINUE
    if (ex.requestBody === BODY_NONE || ex.upgrade !== null) return CONTINUE
    const held = ex.heldRequest
    if (ex.requestDone || lengthOf(held) >= bytesMax) {
      keepRequest(ex, Buffer.concat(held ?? []), bytesMax)
      return CONTINUE
    }
    return new Promise<Verdict>((resolve) => {
      ex.heldRequest = null
      ex.requestCollector = new Beginning(bytesMax, held, (bytes) => {
        ex.requestCollector = null
        keepRequest(ex, bytes, bytesMax)
        resolve(CONTINUE)
      })
      inviteBody(ex)
    })
  }
}

/** The same for the response: sets ex.responsePrefix. */
export function collectResponsePrefix(bytesMax: number): Hook {
  return (ex) => {
    if (ex.responsePrefix !== null || ex.responseBytes !== null || hasNoContent(ex.status, ex.method)) return CONTINUE
    if (ex.localReply !== null) {
      const bytes = replyBytes(ex.localReply)
      ex.responsePrefix = bytes.subarray(0, prefixEnd(bytes, bytesMax))
      return CONTINUE
    }
    if (ex.responseBody === BODY_NONE) return CONTINUE
    const held = ex.heldResponse
    if (ex.heldTrailers !== null || lengthOf(held) >= bytesMax) {
      keepResponse(ex, Buffer.concat(held ?? []), bytesMax)
      return CONTINUE
    }
    return new Promise<Verdict>((resolve) => {
      ex.heldResponse = null
      ex.responseCollector = new Beginning(bytesMax, held, (bytes) => {
        ex.responseCollector = null
        keepResponse(ex, bytes, bytesMax)
        resolve(CONTINUE)
      })
      ex.server?.resumeBody()
    })
  }
}

/** What is sent and what is looked at are the same bytes: one copy. */
function keepRequest(ex: Exchange, bytes: Buffer, bytesMax: number): void {
  ex.heldRequest = bytes.length === 0 ? null : [bytes]
  ex.requestPrefix = bytes.subarray(0, prefixEnd(bytes, bytesMax))
}

function keepResponse(ex: Exchange, bytes: Buffer, bytesMax: number): void {
  ex.heldResponse = bytes.length === 0 ? null : [bytes]
  ex.responsePrefix = bytes.subarray(0, prefixEnd(bytes, bytesMax))
}

/** No character of a UTF-8 text is cut in two: text would not be text any more. Three bytes less at most. */
function prefixEnd(bytes: Buffer, bytesMax: number): number {
  if (bytes.length <= bytesMax) return bytes.length
  let end = bytesMax
  while (end > bytesMax - 4 && end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return end === bytesMax - 4 ? bytesMax : end
}
