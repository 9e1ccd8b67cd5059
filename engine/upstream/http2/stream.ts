/**
 * One exchange on a connection of HTTP/2. What the client sends waits here for the server's windows, what the server
 * sends for the client: its window opens again only when the client takes more (RFC 9113 section 5.2).
 */

import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import type { ServerStream, SpliceEnd } from '#engine/contract/transport.ts'
import { readGrpcStatus } from '#engine/http/grpc.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { safeTrailers } from '#engine/http/trailers.ts'
import type { SendingStream } from '#engine/http2/data-sender.ts'
import { ReceiveWindow } from '#engine/http2/receive-window.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { ClientActivity } from '#engine/upstream/client-activity.ts'
import { isRepeatable } from '#engine/upstream/http1/connection.ts'
import type { EvictionCandidate } from '#engine/upstream/slow-client-eviction.ts'
import type { Http2RequestSender } from './request-sender.ts'
import type { ResponseFields } from './response-fields.ts'
import { STREAM_WINDOW } from './settings.ts'

/** Interim responses (1xx) before the final one. */
const INTERIMS_MAX = 16
/** Of a request body, to send it again when the server says it has not looked at the request. */
const KEPT_BYTES_MAX = 16 * 1024

/** What a stream asks of its connection. */
export interface StreamOwner {
  readonly events: ServerEvents
  /** Bytes of the answer have been passed on. `isOpen`: more of this stream may come. */
  consumed(stream: Http2UpstreamStream, bytes: number, isOpen: boolean): void
  cancelled(stream: Http2UpstreamStream): void
  passBody(ex: Exchange, bytes: Buffer, start: number, end: number): boolean
}

export class Http2UpstreamStream implements ServerStream, SendingStream, EvictionCandidate {
  readonly id: number
  readonly ex: Exchange
  readonly receive = new ReceiveWindow(STREAM_WINDOW)
  /** What the server still takes of the request body; negative when it has shrunk its windows. */
  sendWindow: number
  /** The whole request has been sent. */
  isSent = false
  /** Its final head has arrived. */
  isAnswered = false
  isOver = false
  readonly #owner: StreamOwner
  readonly #sender: Http2RequestSender
  /** Pieces of the body that wait for a window. */
  #unsent: Pieces | null = null
  /** Trailer lines that wait behind them; null: the request has not ended. */
  #trailers: string | null = null
  /** The client has been paused. */
  #isThrottled = false
  /** Of the body so far; null: more than is kept. */
  #kept: Pieces | null
  #keptBytes = 0
  #interims = 0
  /** What Content-Length promises; -1: nothing. */
  #promised = -1
  #received = 0
  #isPaused = false
  /** Bytes of the windows that the client has not taken. */
  #unconsumed = 0
  readonly #client = new ClientActivity()

  constructor(owner: StreamOwner, sender: Http2RequestSender, id: number, ex: Exchange, sendWindow: number) {
    this.#owner = owner
    this.#sender = sender
    this.id = id
    this.ex = ex
    this.sendWindow = sendWindow
    // A body that a hook has collected is there already.
    this.#kept = ex.requestBytes === null ? new Pieces() : null
    this.#client.begin()
  }

  get exchange(): Exchange {
    return this.ex
  }

  get idleSince(): number {
    return this.isOver ? 0 : this.#client.idleSince(this.ex, this.hasUnsent || this.#sender.congested)
  }

  get hasUnsent(): boolean {
    return this.#unsent !== null
  }

  /** Bytes of the answer have come that the client has not taken. */
  get holdsWindow(): boolean {
    return this.#unconsumed > 0
  }

  // --- the request ---

  sendBody(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    if (this.isOver || this.isSent || start === end) return true
    this.#client.sent(end - start)
    this.#keep(chunk, start, end)
    const { data } = this.#sender
    const at = this.hasUnsent ? start : data.send(this, chunk, start, end, slot)
    if (at < end) {
      this.#unsent ??= new Pieces()
      this.#unsent.push(chunk, at, end)
    } else if (!this.#sender.congested) return true
    this.#isThrottled = true
    data.wait(this)
    return false
  }

  sendEnd(trailers: string): void {
    if (this.isOver || this.isSent || this.#trailers !== null) return
    this.#trailers = trailers
    if (!this.hasUnsent) this.#finish(trailers)
  }

  #finish(trailers: string): void {
    this.isSent = true
    this.#sender.end(this.id, trailers)
  }

  sendPending(): void {
    const unsent = this.#unsent!
    const piece = unsent.first
    const sent = this.#sender.data.sendFrame(this, piece, 0, piece.length, null)
    if (sent < piece.length) unsent.cut(sent)
    else {
      unsent.shift()
      if (unsent.isEmpty) this.#unsent = null
    }
  }

  onSent(): void {
    if (this.#trailers !== null && !this.isSent) this.#finish(this.#trailers)
    if (!this.#isThrottled) return
    if (this.#sender.congested) {
      this.#sender.data.wait(this)
      return
    }
    this.#isThrottled = false
    this.#client.maySend(false)
    this.#owner.events.onServerWritable(this.ex)
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    const kept = this.#kept
    if (kept === null) return
    this.#keptBytes += end - start
    if (this.#keptBytes > KEPT_BYTES_MAX) this.#kept = null
    else kept.push(chunk, start, end)
  }

  /** Makes of the exchange what it was before it was sent. False: that is not possible. */
  restore(): boolean {
    const { ex } = this
    const kept = this.#kept
    if (ex.requestBytes !== null) ex.bodySent = false
    else if (kept !== null) {
      ex.heldRequest = kept.list
      ex.bodySent = false
      // The client has been asked for its body already and must not be asked twice.
      if (!kept.isEmpty) ex.request.remove('expect')
    }
    return isRepeatable(ex)
  }

  // --- the answer. What is returned is an error of the stream, or null ---

  head(fields: ResponseFields, endStream: boolean): ErrorCode | null {
    const { status, block, length } = fields
    if (this.isAnswered) return 'UPSTREAM_PROTOCOL'
    // There is no switching of protocols in HTTP/2 (RFC 9113 section 8.6).
    if (fields.isMalformed || status === 0 || status === 101) return 'UPSTREAM_PROTOCOL'
    if (status < 200) {
      if (endStream || ++this.#interims > INTERIMS_MAX) return 'UPSTREAM_PROTOCOL'
      block.remove('content-length')
      if (status === 100) this.#client.maySend(true)
      this.#owner.events.onInterim(this.ex, status, block)
      return null
    }
    const { ex } = this
    const isEmpty = hasNoContent(status, ex.method)
    if (status === 204) block.remove('content-length')
    if (endStream && !isEmpty && length > 0) return 'UPSTREAM_PROTOCOL'
    // HTTP/1.1 needs to be told that nothing follows.
    if (endStream && !isEmpty && length < 0 && ex.client.httpVersion !== '2') block.receive('content-length', '0')
    this.isAnswered = true
    this.#kept = null
    this.#promised = isEmpty ? 0 : length
    ex.status = status
    ex.response = block
    ex.responseLength = Math.max(length, 0)
    if (isEmpty || endStream || length === 0) ex.responseBody = BODY_NONE
    else ex.responseBody = length > 0 ? BODY_LENGTH : BODY_STREAM
    ex.grpcStatus = endStream ? readGrpcStatus(block.get('grpc-status')) : -1
    this.#owner.events.onResponse(ex)
    return null
  }

  data(bytes: Buffer, start: number, end: number, flow: number): ErrorCode | null {
    // First of all: what breaks the stream has taken its part of the connection's window too.
    this.#unconsumed += flow
    if (!this.isAnswered || !this.receive.receive(flow)) return 'UPSTREAM_PROTOCOL'
    this.#received += end - start
    if (this.#promised >= 0 && this.#received > this.#promised) return 'UPSTREAM_PROTOCOL'
    if (end > start && !this.#owner.passBody(this.ex, bytes, start, end)) this.pauseBody()
    if (!this.#isPaused && !this.isOver) this.#release(true)
    return null
  }

  /** Whether the answer may end here: it is as long as it said. */
  mayEnd(): boolean {
    return this.isAnswered && (this.#promised < 0 || this.#received === this.#promised)
  }

  trailers(fields: ResponseFields): string | null {
    if (fields.isMalformed) return null
    const { block } = fields
    this.ex.grpcStatus = readGrpcStatus(block.get('grpc-status'))
    return safeTrailers(block.lines())
  }

  pauseBody(): void {
    this.#isPaused = true
    this.#client.paused(this.ex)
  }

  resumeBody(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#client.resumed(this.ex)
    if (!this.isOver) this.#release(true)
  }

  #release(isOpen: boolean): void {
    const unconsumed = this.#unconsumed
    if (unconsumed === 0) return
    this.#unconsumed = 0
    this.#owner.consumed(this, unconsumed, isOpen)
  }

  /** Nothing more is sent or delivered. */
  end(): void {
    this.isOver = true
    this.#unsent = null
    this.#sender.data.forget(this)
    this.#release(false)
  }

  abort(): void {
    if (!this.isOver) this.#owner.cancelled(this)
  }

  splice(): SpliceEnd {
    throw new Error('no protocol is switched to over HTTP/2')
  }
}
