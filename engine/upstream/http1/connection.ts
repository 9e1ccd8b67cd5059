/**
 * HTTP/1.1 towards backends: one object per connection, one exchange at a time.
 * The response is parsed where it arrived; a hostile or broken backend hurts its own exchange only:
 * anything unexpected ends the connection, and a connection with an unexplained byte is never reused.
 */

import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import type { ServerStream, SpliceEnd } from '#engine/contract/transport.ts'
import { writeChunk } from '#engine/http/chunked.ts'
import { takeFraming } from '#engine/http/fields.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { parseKeepAlive, usableMs } from '#engine/http/keep-alive.ts'
import { RESPONSE } from '#engine/http/llhttp.ts'
import { HEAD_NO_BODY, HEAD_OK, HEAD_REFUSED, type MessageHandler, type Parser } from '#engine/http/llhttp-parser.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { safeTrailers } from '#engine/http/trailers.ts'
import { READ_BYTES, type ReadSlot } from '#engine/socket/memory.ts'
import { PipeEnd } from '#engine/socket/pipe.ts'
import { WheelTimer } from '#engine/socket/timer-wheel.ts'
import { protocolFault } from '#engine/socket/tls-verify.ts'
import { BULK_BODY, BULK_LONG, BULK_NONE, type Wire, type WireOwner } from '#engine/socket/wire.ts'

import { ClientActivity } from '#engine/upstream/client-activity.ts'
import type { UpstreamShared } from '#engine/upstream/shared.ts'
import type { EvictionCandidate } from '#engine/upstream/slow-client-eviction.ts'

/** Largest response head. */
const HEAD_BYTES_MAX = 60 * 1024
const HEADERS_MAX = 1000
/** Interim responses (1xx) before the final one. */
const INTERIMS_MAX = 16

/** Whether an exchange whose connection failed may begin again on another one. */
export const REPEAT_NEVER = 0
/** If doing it twice does nothing worse than doing it once: some of it may have arrived. */
export const REPEAT_IDEMPOTENT = 1
/** Nothing of it has left: whatever it is. */
export const REPEAT_ALWAYS = 2
export type Repeat = typeof REPEAT_NEVER | typeof REPEAT_IDEMPOTENT | typeof REPEAT_ALWAYS

/** Where a connection belongs: its pool. */
export interface Http1ConnectionOwner {
  readonly shared: UpstreamShared
  /** The exchange is over and the connection can take another. */
  release(connection: Http1Upstream): void
  /** The connection is gone; it was idle or its exchange is over. */
  gone(connection: Http1Upstream): void
  /** The connection failed under `ex` before a response began. The pool retries or reports. */
  failed(connection: Http1Upstream, ex: Exchange, code: ErrorCode, repeat: Repeat): void
}

export class Http1Upstream implements WireOwner, MessageHandler, ServerStream, EvictionCandidate {
  /** Requests sent over this connection so far. */
  served = 0
  /** Of those, as many as its server takes. */
  servedMax = Number.POSITIVE_INFINITY
  /** So long it may be idle before its server closes it. */
  idleMs = Number.POSITIVE_INFINITY
  /** Idle, it is not to be used from then on (performance.now()). */
  idleUntil = Number.POSITIVE_INFINITY
  /** What was read last of what its server says of it. */
  #hint = ''
  /** Expires an idle connection; armed by the pool. */
  readonly idleTimer: WheelTimer
  readonly #owner: Http1ConnectionOwner
  readonly #wire: Wire
  #block = new HeaderBlock()
  #parser: Parser | null = null
  #ex: Exchange | null = null
  #chunked = false
  #received = false
  #interims = 0
  /** Wire.handed before the request at hand, and what waited with its head: its body is behind that. */
  #handed = 0
  #headWaiting = 0
  #reusable = false
  #slot: ReadSlot | null = null
  #reading = false
  /** The final response is complete; what is left of the read decides about reuse. */
  #complete = false
  #trailers = ''
  #switched = false
  /** Takes the connection over after a 101. */
  #pipe: PipeEnd | null = null
  #dead = false
  readonly #client = new ClientActivity()

  constructor(owner: Http1ConnectionOwner, wire: Wire) {
    this.#owner = owner
    this.#wire = wire
    this.idleTimer = new WheelTimer(() => this.close())
    wire.owner = this
  }

  /** Sends the request of ex. Its body follows through sendBody and sendEnd. */
  begin(ex: Exchange): void {
    this.#ex = ex
    this.#received = false
    this.#interims = 0
    this.#complete = false
    this.#switched = false
    this.#chunked = ex.requestBody === BODY_STREAM
    this.served++
    this.#client.begin()
    ex.server = this
    let head = `${ex.method} ${ex.path}${ex.query} HTTP/1.1\r\nHost: ${ex.upstreamHost ?? ex.authority}\r\n`
    head += ex.request.lines()
    if (this.#chunked) head += 'Transfer-Encoding: chunked\r\n'
    if (ex.upgrade !== null) head += `Connection: upgrade\r\nUpgrade: ${ex.upgrade}\r\n`
    const wire = this.#wire
    this.#handed = wire.handed
    this.#headWaiting = wire.waiting + head.length + 2
    wire.write(`${head}\r\n`)
  }

  sendBody(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    if (this.#dead || start === end) return true
    const wire = this.#wire
    this.#client.sent(end - start)
    if (this.#chunked) writeChunk(wire, chunk, start, end, slot)
    else wire.writeBytes(chunk, start, end, slot)
    return !wire.congested
  }

  sendEnd(trailers: string): void {
    if (this.#chunked && !this.#dead) this.#wire.write(`0\r\n${trailers}\r\n`)
  }

  pauseBody(): void {
    if (this.#ex !== null) this.#client.paused(this.#ex)
    this.#wire.pause()
  }

  resumeBody(): void {
    if (this.#ex !== null) this.#client.resumed(this.#ex)
    this.#wire.resume()
  }

  get exchange(): Exchange | null {
    return this.#ex
  }

  get idleSince(): number {
    return this.#ex === null ? 0 : this.#client.idleSince(this.#ex, this.#wire.congested)
  }

  abort(): void {
    this.#ex = null
    this.close()
  }

  /** Closes the connection, whatever it does. */
  close(): void {
    if (this.#dead) return
    this.#leave()
    this.#wire.destroy()
  }

  splice(): SpliceEnd {
    this.#leave()
    return this.#pipe!
  }

  // --- receiving ---

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    if (this.#ex === null) {
      // Bytes that answer nothing: the next exchange would take them for its response.
      this.close()
      return
    }
    this.#received = true
    this.#slot = slot
    this.#reading = true
    let at = start
    while (at < end && !this.#complete && !this.#dead) {
      const parser = this.#parser ?? this.#newParser()
      if (parser === null) {
        this.#fail('UPSTREAM_OVERFLOW')
        break
      }
      const next = parser.execute(at, end)
      if (next < 0) {
        this.#reading = false
        this.#fail('UPSTREAM_PROTOCOL')
        return
      }
      at = next
    }
    this.#reading = false
    this.#slot = null
    if (this.#complete) this.#finish(at, end)
  }

  /** A parser for as long as the connection lasts. */
  #newParser(): Parser | null {
    const parser = this.#owner.shared.llhttp.acquire(RESPONSE, this, this.#block)
    if (parser === null) return null
    parser.headersMax = HEADERS_MAX
    parser.headBytesMax = HEAD_BYTES_MAX
    parser.uriBytesMax = 0
    this.#parser = parser
    return parser
  }

  onHead(parser: Parser): number {
    const ex = this.#ex
    if (ex === null) return HEAD_REFUSED
    const { status } = parser
    const framing = takeFraming(this.#block)
    // llhttp also knows other protocols and versions, and ignores line ends before the head.
    if (!this.#block.text.startsWith('HTTP/1.') || status < 100) return HEAD_REFUSED
    if (framing.upgrade >= 0) this.#block.drop(framing.upgrade)
    if (framing.keepAliveHint >= 0) this.#takeHint(this.#block.value(framing.keepAliveHint))
    if (status < 200 || status === 204) {
      // Neither has content or a length (RFC 9110 section 8.6); forwarding one confuses clients.
      this.#block.remove('content-length')
    }
    if (status < 200 && status !== 101) return ++this.#interims > INTERIMS_MAX ? HEAD_REFUSED : HEAD_NO_BODY
    if (framing.coded && parser.versionMinor === 0) return HEAD_REFUSED
    if (status === 101 && ex.upgrade === null) return HEAD_REFUSED
    if (status > 999 || (framing.coded && !framing.chunked) || framing.length === -2) return HEAD_REFUSED
    ex.status = status
    ex.response = this.#block
    ex.responseLength = Math.max(framing.length, 0)
    const noContent = hasNoContent(status, ex.method)
    if (noContent || framing.length === 0) ex.responseBody = BODY_NONE
    else ex.responseBody = framing.length > 0 ? BODY_LENGTH : BODY_STREAM
    this.#reusable = parser.keepAlive && !framing.close
    if (status === 101) {
      this.#switched = true
      return HEAD_OK
    }
    if (!noContent && framing.length > READ_BYTES) this.#wire.bulk = BULK_LONG
    this.#owner.shared.events.onResponse(ex)
    return ex.method === 'HEAD' ? HEAD_NO_BODY : HEAD_OK
  }

  /** Servers say the same with each answer, but for what is left of `max`. */
  #takeHint(value: string): void {
    if (value === this.#hint) return
    this.#hint = value
    const hint = parseKeepAlive(value)
    this.idleMs = usableMs(hint)
    this.servedMax = this.served + hint.max
  }

  onBody(start: number, end: number): void {
    const ex = this.#ex
    if (ex === null) return
    const wire = this.#wire
    if (wire.bulk === BULK_NONE) wire.bulk = BULK_BODY
    const { bytes } = this.#owner.shared.llhttp.memory
    if (!this.#owner.shared.events.onResponseBody(ex, bytes, start, end, this.#slot)) this.pauseBody()
  }

  onComplete(parser: Parser): void {
    const ex = this.#ex
    if (ex === null) return
    if (parser.status < 200 && !this.#switched) {
      if (parser.status === 100) this.#client.maySend(true)
      this.#owner.shared.events.onInterim(ex, parser.status, this.#block)
      this.#block.reset()
      return
    }
    this.#complete = true
    this.#trailers = parser.trailers === '' ? '' : safeTrailers(parser.trailers)
  }

  /** The response is complete at `at`; bytes up to `end` are too many, or the upgraded protocol's. */
  #finish(at: number, end: number): void {
    const ex = this.#ex
    const { events } = this.#owner.shared
    this.#wire.bulk = BULK_NONE
    if (ex === null) return
    if (this.#switched) {
      this.#switch(ex, at, end)
      return
    }
    this.#ex = null
    const isReusable = this.#reusable && at === end && ex.requestDone && !this.#wire.congested
    if (!isReusable) {
      this.#leave()
      this.#wire.close(false)
    }
    ex.server = null
    events.onResponseEnd(ex, this.#trailers)
    if (isReusable) {
      this.#renewBlock(ex.responseDone)
      // The client may have been slow: the next exchange starts with a reading connection.
      this.#wire.resume()
      this.#owner.release(this)
    }
  }

  #renewBlock(isFree: boolean): void {
    if (isFree) this.#block.reset()
    else {
      // A hook still holds the response: the next exchange on this connection must not fill its headers.
      this.#block = new HeaderBlock()
      this.#parser!.block = this.#block
    }
  }

  #switch(ex: Exchange, at: number, end: number): void {
    const { bytes } = this.#owner.shared.llhttp.memory
    this.#pipe = new PipeEnd(this.#wire, bytes)
    if (at < end) this.#pipe.keep(Buffer.from(bytes.subarray(at, end)))
    this.#wire.pause()
    this.#owner.shared.events.onResponse(ex)
  }

  // --- failing ---

  onEnd(): void {
    const ex = this.#ex
    if (ex === null) {
      this.close()
      return
    }
    const parser = this.#parser
    // A body without length ends with the connection: that is its regular end.
    if (parser !== null && !parser.inHead) {
      this.#reusable = false
      this.#reading = true
      const isWhole = parser.finish()
      this.#reading = false
      if (isWhole && this.#complete) {
        this.#finish(0, 0)
        return
      }
    }
    this.#fail('UPSTREAM_RESET')
  }

  onError(code: string): void {
    if (!code.startsWith('ERR_SSL')) {
      this.#fail('UPSTREAM_RESET')
      return
    }
    // By TLS 1.3 a server refuses our certificate when we believe that the handshake is over (RFC 8446 4.4.2.4).
    if (this.#ex !== null) this.#ex.errorDetail = protocolFault(code, '').text
    this.#fail(this.#received ? 'UPSTREAM_RESET' : 'UPSTREAM_TLS')
  }

  #fail(code: ErrorCode): void {
    const ex = this.#ex
    this.#ex = null
    const repeat = ex === null ? REPEAT_NEVER : this.#repeatOf(ex, code)
    this.close()
    if (ex === null) return
    ex.server = null
    this.#owner.failed(this, ex, code, repeat)
  }

  /** A kept connection may die between two requests: that is no fault of the request (RFC 9112 section 9.3.1). */
  #repeatOf(ex: Exchange, code: ErrorCode): Repeat {
    if (this.#received || code !== 'UPSTREAM_RESET' || this.served < 2) return REPEAT_NEVER
    const wire = this.#wire
    if (wire.handed !== this.#handed) return isRepeatable(ex) ? REPEAT_IDEMPOTENT : REPEAT_NEVER
    if (!ex.bodySent || ex.requestBytes !== null) return REPEAT_ALWAYS
    // It waits for the end of the round with the head, as it came but for chunks.
    const unsent = this.#chunked ? null : wire.unsent()
    if (unsent === null) return REPEAT_NEVER
    ex.heldRequest = [Buffer.from(unsent.slice(this.#headWaiting), 'latin1')]
    ex.bodySent = false
    return REPEAT_ALWAYS
  }

  onDrain(): void {
    this.#client.maySend(false)
    if (this.#ex !== null) this.#owner.shared.events.onServerWritable(this.#ex)
  }

  #releaseParser(): void {
    if (this.#parser === null) return
    this.#owner.shared.llhttp.release(RESPONSE, this.#parser)
    this.#parser = null
  }

  #leave(): void {
    if (this.#dead) return
    this.#dead = true
    if (this.#reading) queueMicrotask(() => this.#releaseParser())
    else this.#releaseParser()
    this.#owner.gone(this)
  }
}

/** Whether nothing of the request is lost when it is sent once more. */
export function isRepeatable(ex: Exchange): boolean {
  if (ex.requestBytes !== null) return true
  return !ex.bodySent && (ex.requestBody === BODY_NONE || ex.heldRequest !== null)
}
