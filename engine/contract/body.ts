/**
 * Whole bodies, for filters that read or replace them. A body is collected only where a filter asks for it
 * (Filter.buffers), up to a bound, and only when the hooks ahead of that filter have let the exchange pass.
 */
import { HeaderBlock } from '#engine/http/headers.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import { allocShared, GrowableBuffer, SHARED_BYTES } from '#engine/kit/shared-bytes.ts'
import { atRoundEnd, turnStartedAt } from '#engine/socket/round.ts'
import { resumeRequest, resumeResponse } from './body-processor.ts'
import type { ErrorCode } from './errors.ts'
import { type Arriving, BODY_LENGTH, BODY_NONE, type BodyTaker, type Exchange, type LocalReply } from './exchange.ts'
import { whenOver } from './exchange-signal.ts'
import { CONTINUE, type Hook, LATER, STOP, type Verdict } from './filter.ts'
import { arrived, heldBytesMax, hold } from './held-bytes.ts'
import { refuse } from './refuse.ts'

/** Ends an exchange with the gateway's own reply. */
export type Fail = (ex: Exchange, code: ErrorCode) => void

/** Why a body could not be kept: it is too long, or there are too many of them, or it stood still and others came. */
export type NotKept = 'long' | 'full' | 'still'

/** A body gets on when so much of it has come, and such a part of what is kept: a byte now and then is nothing. */
const PROGRESS_BYTES = 1024
const PROGRESS_PART = 1 / 64

/** For those that are refused because of others. */
export const LATER_AGAIN = ['Retry-After', '1']

interface CollectorOptions {
  /** Bytes. */
  readonly max: number
  readonly expected: number
  /** Of these bytes and what came with them it makes do; absent: it wants all of the body. */
  readonly enough?: number
  /** Sees all that comes; true: it makes do with what has come. Absent: as `enough` says. */
  readonly look?: ((chunk: Buffer, start: number, end: number) => boolean) | undefined
  /** The owner of the bytes, for the account; null: none. */
  readonly ex?: Exchange | null
  /** It comes from a client, and others may want the room. */
  readonly mayGiveWay?: boolean
}

/** A body that is arriving. */
export class Collector implements BodyTaker, Arriving {
  lastAt = turnStartedAt
  readonly #max: number
  readonly #enough: number
  readonly #look: CollectorOptions['look']
  /** As the message says; 0: it does not. */
  readonly #expected: number
  readonly #done: (bytes: Buffer | null, why: NotKept) => void
  readonly #ex: Exchange | null
  readonly #mayGiveWay: boolean
  readonly #pieces = new Pieces()
  /** Where a long body goes as it comes: to join its pieces at the end would take milliseconds. */
  #whole: Buffer | null = null
  /** The same for a body of unknown length. */
  #room: GrowableBuffer | null = null
  #length = 0
  /** Since lastAt. */
  #cameBytes = 0

  /**
   * `done` is called once: with the body, or with null when it is longer than `max` bytes, or when there is no room
   * for what `ex` keeps.
   */
  constructor(
    { max, expected, enough = Number.POSITIVE_INFINITY, look, ex = null, mayGiveWay = false }: CollectorOptions,
    held: readonly Buffer[] | null,
    done: (bytes: Buffer | null, why: NotKept) => void
  ) {
    this.#ex = ex
    this.#mayGiveWay = mayGiveWay
    this.#max = max
    this.#enough = enough
    this.#look = look
    this.#expected = expected
    this.#done = done
    if (held !== null) for (const piece of held) this.#pieces.adopt(piece)
    this.#length = lengthOf(held)
  }

  /** True: a body that is too long is not kept, and the caller, which gets that as a result, decides. */
  take(chunk: Buffer, start: number, end: number): boolean {
    if (this.#length > this.#max) return true
    const at = this.#length
    this.#length += end - start
    this.#cameBytes += end - start
    if (this.#cameBytes >= Math.max(PROGRESS_BYTES, at * PROGRESS_PART)) {
      this.#cameBytes = 0
      this.lastAt = turnStartedAt
    }
    if (this.#length > this.#max) this.#giveUp('long')
    else if (this.#ex !== null && !hold(this.#ex, end - start, this.#mayGiveWay ? this : null)) this.#giveUp('full')
    else if (this.#room !== null) this.#room.put(chunk, at, start, end)
    else if (this.#whole !== null && this.#length <= this.#whole.length) chunk.copy(this.#whole, at, start, end)
    else {
      // More has come than was announced.
      if (this.#whole !== null) this.#pieces.adopt(this.#whole.subarray(0, at))
      this.#whole = null
      this.#pieces.push(chunk, start, end)
      if (this.#length > SHARED_BYTES) this.#gather()
    }
    // What was given up is not looked at.
    if (this.#length === Number.POSITIVE_INFINITY) return true
    if (this.#length < this.#enough && this.#look?.(chunk, start, end) !== true) return true
    this.end()
    return false
  }

  giveWay(): void {
    this.#giveUp('still')
  }

  /** The exchange that asks for room may be the one that gives way: the first result holds. */
  #giveUp(why: NotKept): void {
    if (this.#length === Number.POSITIVE_INFINITY) return
    this.#length = Number.POSITIVE_INFINITY
    this.#pieces.drop()
    this.#whole = null
    this.#room = null
    this.#done(null, why)
  }

  /** A client that has sent so much will probably send the rest. */
  #gather(): void {
    if (this.#length <= this.#expected) this.#whole = joined(this.#pieces.list, Math.min(this.#expected, this.#max))
    else if (this.#expected === 0) {
      this.#room = GrowableBuffer.open(2 * this.#length, this.#max)
      if (this.#room === null) return
      let at = 0
      for (const piece of this.#pieces.list) {
        this.#room.put(piece, at, 0, piece.length)
        at += piece.length
      }
    } else return
    this.#pieces.drop()
  }

  end(): void {
    if (this.#length > this.#max) return
    this.#done(this.#taken, 'long')
  }

  get #taken(): Buffer {
    if (this.#room !== null) return this.#room.first(this.#length)
    if (this.#whole !== null) return this.#whole.subarray(0, this.#length)
    // One piece is the rule: it is a copy already.
    return this.#pieces.isSingle ? this.#pieces.first : joined(this.#pieces.list, this.#length)
  }
}

/** A body of `length` bytes that begins with `pieces`. */
function joined(pieces: readonly Buffer[], length: number): Buffer {
  if (length <= SHARED_BYTES) return Buffer.concat(pieces)
  const whole = allocShared(length)
  let at = 0
  for (const piece of pieces) at += piece.copy(whole, at)
  return whole
}

/** The request hook that waits for the body: ex.requestBytes is set when it lets the exchange pass. */
export function collectRequest(bytesMax: number): Hook {
  return (ex) => {
    const verdict = requestSoFar(ex, bytesMax)
    return verdict === LATER ? new Promise<Verdict>((resolve) => gatherRequest(ex, bytesMax, resolve)) : verdict
  }
}

/** The same for a backend: `then` is called at once, or at the end of the round of the body's last byte. */
export function whenRequest(ex: Exchange, bytesMax: number, then: (verdict: Verdict) => void): void {
  const verdict = requestSoFar(ex, bytesMax)
  if (verdict === LATER) gatherRequest(ex, bytesMax, (known) => atRoundEnd(() => then(known)))
  else then(verdict)
}

function requestSoFar(ex: Exchange, bytesMax: number): Verdict | typeof LATER {
  if (ex.requestBytes !== null || ex.requestBody === BODY_NONE || ex.upgrade !== null) return CONTINUE
  // Refused before it comes: nothing of it is read.
  if (ex.requestLength > Math.min(bytesMax, heldBytesMax())) return refuse(ex, 'BODY_NOT_BUFFERED')
  const held = ex.heldRequest
  // A hook ahead may have waited while more came than may be kept.
  if (lengthOf(held) > bytesMax) return refuse(ex, 'BODY_NOT_BUFFERED')
  if (!hold(ex, lengthBehind(ex.requestPrefix, held))) return refuse(ex, 'BUFFERS_FULL', LATER_AGAIN)
  if (!ex.requestDone) return LATER
  keepRequest(ex, joined(held ?? [], lengthOf(held)))
  return CONTINUE
}

function gatherRequest(ex: Exchange, bytesMax: number, then: (verdict: Verdict) => void): void {
  const held = ex.heldRequest
  ex.heldRequest = null
  const body = { max: bytesMax, expected: ex.requestLength, ex, mayGiveWay: true }
  ex.requestCollector = new Collector(body, held, (bytes, why) => {
    ex.requestCollector = null
    arrived(ex)
    if (bytes === null) then(refuseBody(ex, why))
    else {
      keepRequest(ex, bytes)
      then(CONTINUE)
    }
  })
  inviteBody(ex)
}

export function refuseBody(ex: Exchange, why: NotKept): Verdict {
  if (why === 'full') return refuse(ex, 'BUFFERS_FULL', LATER_AGAIN)
  return refuse(ex, why === 'long' ? 'BODY_NOT_BUFFERED' : 'CLIENT_TOO_SLOW')
}

export function lengthOf(pieces: readonly Buffer[] | null): number {
  let length = 0
  if (pieces !== null) for (const piece of pieces) length += piece.length
  return length
}

/** Of what is held, the part that is not on the account yet. */
function lengthBehind(prefix: Buffer | null, held: readonly Buffer[] | null): number {
  return prefix === null ? lengthOf(held) : Math.max(lengthOf(held) - prefix.length, 0)
}

/** The client may be waiting to be asked, or may have been paused. */
export function inviteBody(ex: Exchange): void {
  askForBody(ex)
  resumeRequest(ex)
}

/** The client may be waiting for that (RFC 9110 section 10.1.1). */
export function askForBody(ex: Exchange): void {
  if (!ex.expectsContinue) return
  ex.expectsContinue = false
  ex.request.remove('expect')
  ex.client.sendInterim(100, new HeaderBlock())
}

function keepRequest(ex: Exchange, bytes: Buffer): void {
  ex.requestBytes = bytes
  ex.heldRequest = bytes.length === 0 ? null : [bytes]
}

/** The body of the gateway's own reply. It never changes: a fixed reply has the same bytes for every exchange. */
export function replyBytes({ body }: LocalReply): Buffer {
  if (typeof body !== 'object' || body === null) return Buffer.from(body ?? '')
  return Buffer.isBuffer(body) ? body : Buffer.concat(body)
}

/** The response hook that waits for the body: ex.responseBytes is set when it lets the exchange pass. */
export function collectResponse(bytesMax: number, fail: Fail): Hook {
  return (ex) => {
    const verdict = responseSoFar(ex, bytesMax, fail)
    if (verdict === CONTINUE) return CONTINUE
    // What is decided for an exchange that has been answered meanwhile does not matter any more.
    return new Promise<Verdict>((resolve) => {
      if (verdict === LATER) gatherResponse(ex, bytesMax, fail, () => resolve(CONTINUE))
    })
  }
}

/**
 * The same for a backend: CONTINUE when the body is here; else `then` is called at the end of the round of its last
 * byte, or when the exchange is over before that: what has been answered is to be accounted for in any case. Then `ex`
 * has that answer for the time of the call, whatever the client has got, and nothing of it can be sent any more.
 */
export function whenResponse(
  ex: Exchange,
  bytesMax: number,
  fail: Fail,
  then: (isOver: boolean) => void
): typeof CONTINUE | typeof LATER {
  const verdict = responseSoFar(ex, bytesMax, fail)
  if (verdict === LATER) gatherResponse(ex, bytesMax, fail, () => atRoundEndOf(ex, then))
  return verdict === CONTINUE ? CONTINUE : LATER
}

function atRoundEndOf(ex: Exchange, then: (isOver: boolean) => void): void {
  const answer = answerOf(ex)
  let isDue = true
  const callOff = whenOver(ex, () => {
    isDue = false
    // A reply of the gateway's own may have taken its place, and its body has been given up.
    const last = answerOf(ex)
    Object.assign(ex, answer)
    then(true)
    Object.assign(ex, last)
  })
  atRoundEnd(() => {
    if (!isDue) return
    callOff()
    then(false)
  })
}

/** All of an answer that may be read or replaced. */
function answerOf(ex: Exchange) {
  const { status, response, responseBody, responseLength, responseBytes, heldResponse, localReply } = ex
  return { status, response, responseBody, responseLength, responseBytes, heldResponse, localReply }
}

/** STOP: it is too long, and the exchange has been answered. */
function responseSoFar(ex: Exchange, bytesMax: number, fail: Fail): Verdict | typeof LATER {
  if (ex.responseBytes !== null || hasNoContent(ex.status, ex.method)) return CONTINUE
  if (ex.localReply !== null) {
    ex.responseBytes = replyBytes(ex.localReply)
    return CONTINUE
  }
  if (ex.responseBody === BODY_NONE) return CONTINUE
  const held = ex.heldResponse
  if (ex.responseLength > bytesMax || lengthOf(held) > bytesMax) {
    fail(ex, 'RESPONSE_NOT_BUFFERED')
    return STOP
  }
  if (!hold(ex, lengthBehind(ex.responsePrefix, held))) {
    noRoom(ex, fail)
    return STOP
  }
  if (ex.heldTrailers === null) return LATER
  keepResponse(ex, joined(held ?? [], lengthOf(held)))
  return CONTINUE
}

export function noRoom(ex: Exchange, fail: Fail): void {
  ex.refusalHeaders = LATER_AGAIN
  fail(ex, 'BUFFERS_FULL')
}

function gatherResponse(ex: Exchange, bytesMax: number, fail: Fail, then: () => void): void {
  const held = ex.heldResponse
  ex.heldResponse = null
  ex.responseCollector = new Collector({ max: bytesMax, expected: ex.responseLength, ex }, held, (bytes, why) => {
    ex.responseCollector = null
    if (bytes === null && why === 'full') noRoom(ex, fail)
    else if (bytes === null) fail(ex, 'RESPONSE_NOT_BUFFERED')
    else {
      keepResponse(ex, bytes)
      then()
    }
  })
  resumeResponse(ex)
}

function keepResponse(ex: Exchange, bytes: Buffer): void {
  ex.responseBytes = bytes
  ex.heldResponse = bytes.length === 0 ? null : [bytes]
}

// --- replacing ---

/** What described the bytes that are gone (RFC 9110 section 8, RFC 9530). */
export const DESCRIBES_BYTES = [
  'content-length',
  'content-encoding',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest'
]
/** Of responses also: a changed body is another representation, and parts of it cannot be asked for. */
export const DESCRIBES_RESPONSE = [...DESCRIBES_BYTES, 'etag', 'accept-ranges', 'content-range']

/** Sends `bytes` instead of the request's body, which has been collected or was none. Not where there can be none. */
export function replaceRequestBody(ex: Exchange, bytes: Buffer): void {
  // Behind the head of an upgrade comes the other protocol: who switches at once reads a body as its first bytes.
  if (ex.upgrade !== null) return
  for (const name of DESCRIBES_BYTES) ex.request.remove(name)
  ex.request.append('Content-Length', String(bytes.length))
  ex.requestBody = bytes.length === 0 ? BODY_NONE : BODY_LENGTH
  ex.requestLength = bytes.length
  keepRequest(ex, bytes)
}

/** Sends `bytes` instead of the response's body, which has been collected or was none. Not where there can be none. */
export function replaceResponseBody(ex: Exchange, bytes: Buffer): void {
  const { response } = ex
  if (response === null || hasNoContent(ex.status, ex.method)) return
  for (const name of DESCRIBES_RESPONSE) response.remove(name)
  response.append('Content-Length', String(bytes.length))
  // It is no part of anything any more (RFC 9110 section 15.3.7).
  if (ex.status === 206) ex.status = 200
  ex.responseBody = bytes.length === 0 ? BODY_NONE : BODY_LENGTH
  ex.responseLength = bytes.length
  if (ex.localReply === null) keepResponse(ex, bytes)
  else ex.responseBytes = bytes
}
