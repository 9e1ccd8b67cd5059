/**
 * Beginnings of bodies, for filters that look at no more (Filter.buffers 'prefix'). Nothing is too long: what lies
 * behind the beginning goes its way unread, and the other side waits meanwhile as in any hook that waits.
 */
import { hasNoContent } from '#engine/http/status.ts'
import { atRoundEnd } from '#engine/socket/round.ts'
import {
  Collector,
  DESCRIBES_BYTES,
  DESCRIBES_RESPONSE,
  type Fail,
  inviteBody,
  LATER_AGAIN,
  lengthOf,
  noRoom,
  refuseBody,
  replyBytes
} from './body.ts'
import { resumeResponse } from './body-processor.ts'
import { BODY_LENGTH, BODY_NONE, type Exchange } from './exchange.ts'
import { CONTINUE, type Hook, type Verdict } from './filter.ts'
import { arrived, hold } from './held-bytes.ts'
import { refuse } from './refuse.ts'

/** Where no length is too long. */
const WANTED = { max: Number.MAX_SAFE_INTEGER, expected: 0 }

/** The request hook that waits for `bytesMax` bytes of the body, or for its end: sets ex.requestPrefix. */
export function collectRequestPrefix(bytesMax: number): Hook {
  return (ex) => {
    if (ex.requestPrefix !== null || ex.requestBytes !== null) return CONTINUE
    if (ex.requestBody === BODY_NONE || ex.upgrade !== null) return CONTINUE
    const held = ex.heldRequest
    if (!hold(ex, lengthOf(held))) return refuse(ex, 'BUFFERS_FULL', LATER_AGAIN)
    if (ex.requestDone || lengthOf(held) >= bytesMax) {
      keepRequest(ex, Buffer.concat(held ?? []), bytesMax)
      return CONTINUE
    }
    return new Promise<Verdict>((resolve) => {
      ex.heldRequest = null
      const body = { ...WANTED, enough: bytesMax, ex, mayGiveWay: true }
      ex.requestCollector = new Collector(body, held, (bytes, why) => {
        ex.requestCollector = null
        arrived(ex)
        if (bytes !== null) keepRequest(ex, bytes, bytesMax)
        resolve(bytes === null ? refuseBody(ex, why) : CONTINUE)
      })
      inviteBody(ex)
    })
  }
}

/** The same for the response: sets ex.responsePrefix. */
export function collectResponsePrefix(bytesMax: number, fail: Fail): Hook {
  return (ex) => {
    if (ex.responsePrefix !== null || ex.responseBytes !== null || hasNoContent(ex.status, ex.method)) return CONTINUE
    if (ex.localReply !== null) {
      const bytes = replyBytes(ex.localReply)
      ex.responsePrefix = bytes.subarray(0, prefixEnd(bytes, bytesMax))
      return CONTINUE
    }
    if (ex.responseBody === BODY_NONE) return CONTINUE
    const held = ex.heldResponse
    if (!hold(ex, lengthOf(held))) {
      noRoom(ex, fail)
      // It has been answered otherwise: nothing follows.
      return new Promise<Verdict>(() => {})
    }
    if (ex.heldTrailers !== null || lengthOf(held) >= bytesMax) {
      keepResponse(ex, Buffer.concat(held ?? []), bytesMax)
      return CONTINUE
    }
    return new Promise<Verdict>((resolve) => {
      ex.heldResponse = null
      ex.responseCollector = new Collector({ ...WANTED, enough: bytesMax, ex }, held, (bytes) => {
        ex.responseCollector = null
        if (bytes === null) noRoom(ex, fail)
        else {
          keepResponse(ex, bytes, bytesMax)
          resolve(CONTINUE)
        }
      })
      resumeResponse(ex)
    })
  }
}

/** A look at a body while it comes. */
export interface RequestLook {
  /** More is not kept. */
  readonly bytesMax: number
  /** Sees all that comes, once. True: it has seen enough. */
  look(chunk: Buffer, start: number, end: number): boolean
}

/**
 * For a backend: keeps what comes of the body until `look` has seen enough of it. `then` gets that at the end of the
 * round; what follows waits (Exchange.heldRequest). A body that has ended by then is in ex.requestBytes as well. Null:
 * it could not be kept, and ex.error says why.
 */
export function whenRequestLook(ex: Exchange, by: RequestLook, then: (bytes: Buffer | null) => void): void {
  const held = ex.heldRequest
  if (!hold(ex, lengthOf(held))) {
    refuse(ex, 'BUFFERS_FULL', LATER_AGAIN)
    then(null)
    return
  }
  ex.heldRequest = null
  const isSeen = (held ?? []).reduce((seen, piece) => by.look(piece, 0, piece.length) || seen, false)
  if (isSeen || ex.requestDone) {
    then(keepSeen(ex, Buffer.concat(held ?? [])))
    return
  }
  const { bytesMax: max } = by
  const expected = ex.requestLength > max ? 0 : ex.requestLength
  const body = { max, expected, look: by.look, ex, mayGiveWay: true }
  ex.requestCollector = new Collector(body, held, (bytes, why) => {
    ex.requestCollector = null
    arrived(ex)
    if (bytes === null) refuseBody(ex, why)
    const seen = bytes === null ? null : keepSeen(ex, bytes)
    atRoundEnd(() => then(seen))
  })
  inviteBody(ex)
}

function keepSeen(ex: Exchange, bytes: Buffer): Buffer {
  if (!ex.requestDone) return bytes
  ex.requestBytes = bytes
  ex.heldRequest = bytes.length === 0 ? null : [bytes]
  return bytes
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

// --- replacing ---

/** What lies behind the first `bytes` bytes of `held`. */
function behind(held: readonly Buffer[] | null, bytes: number): Buffer {
  return Buffer.concat(held ?? []).subarray(bytes)
}

/** Sends `bytes` instead of ex.requestPrefix, in front of what lies behind it. */
export function replaceRequestPrefix(ex: Exchange, bytes: Buffer): void {
  const before = ex.requestPrefix?.length ?? 0
  for (const name of DESCRIBES_BYTES) ex.request.remove(name)
  ex.heldRequest = [bytes, behind(ex.heldRequest, before)].filter(({ length }) => length > 0)
  ex.requestPrefix = bytes
  if (ex.requestBody !== BODY_LENGTH) return
  ex.requestLength += bytes.length - before
  ex.request.append('Content-Length', String(ex.requestLength))
}

/** The same for ex.responsePrefix, of an upstream's answer. */
export function replaceResponsePrefix(ex: Exchange, bytes: Buffer): void {
  const { response } = ex
  if (response === null) return
  const before = ex.responsePrefix?.length ?? 0
  for (const name of DESCRIBES_RESPONSE) response.remove(name)
  if (ex.status === 206) ex.status = 200
  ex.heldResponse = [bytes, behind(ex.heldResponse, before)].filter(({ length }) => length > 0)
  ex.responsePrefix = bytes
  if (ex.responseBody !== BODY_LENGTH) return
  ex.responseLength += bytes.length - before
  response.append('Content-Length', String(ex.responseLength))
}

/** No character of a UTF-8 text is cut in two: text would not be text any more. Three bytes less at most. */
function prefixEnd(bytes: Buffer, bytesMax: number): number {
  if (bytes.length <= bytesMax) return bytes.length
  let end = bytesMax
  while (end > bytesMax - 4 && end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return end === bytesMax - 4 ? bytesMax : end
}
