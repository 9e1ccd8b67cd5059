/** One stream of a client's HTTP/2 connection: one request and its response (RFC 9113 section 8). */
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_NONE, BODY_STREAM, type ClientStream, Exchange } from '#engine/contract/exchange.ts'
import type { ClientTls, SpliceEnd } from '#engine/contract/transport.ts'
import type { HttpServer } from '#engine/downstream/http-server.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { hasNoContent } from '#engine/http/status.ts'
import type { DataSender, SendingStream } from '#engine/http2/data-sender.ts'
import { frameHead, headersFrame, resetFrame } from '#engine/http2/frame-writer.ts'
import type { HpackEncoder } from '#engine/http2/hpack-encoder.ts'
import {
  CANCEL,
  DATA,
  END_STREAM,
  INTERNAL_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
  STREAM_CLOSED
} from '#engine/http2/protocol.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { Refusal } from './request.ts'
import { type BodyOwner, type BodyReceiver, RequestBody } from './request-body.ts'
import { Tunnel } from './tunnel.ts'

/** How a stream has ended: with its whole answer, by us before that, by its client. */
export const ANSWERED = 0
export const RESET = 1
export const GONE = 2
export type Ending = typeof ANSWERED | typeof RESET | typeof GONE

/** What the streams of a connection share. */
export interface StreamOwner extends BodyOwner {
  readonly server: HttpServer
  readonly tls: ClientTls | null
  readonly encoder: HpackEncoder
  readonly sender: DataSender
  closed(stream: Http2Stream, how: Ending): void
  /** A frame that was written for the client's sake alone. */
  replied(): void
  /** What its client has sent on a stream is at fault. */
  blamed(): void
}

/** Why the timer runs. */
const WAIT_NOTHING = 0
const WAIT_BODY = 1
const WAIT_CLIENT = 2
const WAIT_SERVER = 3

export class Http2Stream implements ClientStream, SendingStream, BodyReceiver {
  readonly id: number
  readonly httpVersion = '2'
  sendWindow: number
  readonly #owner: StreamOwner
  #ex: Exchange | null = null
  #timer: WheelTimer | null = null
  #waiting = WAIT_NOTHING
  /** Null: nothing follows the head. */
  #incoming: RequestBody | null = null
  /** Bytes of the request's body so far. */
  #bytes = 0
  #isMute = false
  /** END_STREAM has left, or nothing may leave any more. */
  #isSent = false
  #pending: Pieces | null = null
  /** Trailers of a response that ended while bytes of it waited. */
  #endsWith: string | null = null
  /** How a stream ends whose request is not complete. */
  #endCode = NO_ERROR
  /** It has got an answer that was no error of the gateway's: its client may expect as much of the next one. */
  hasSucceeded = false
  #isClosed = false
  #isTunnel = false
  #tunnel: Tunnel | null = null

  /** `sendWindow`: what its peer takes. */
  constructor(owner: StreamOwner, id: number, sendWindow: number) {
    this.#owner = owner
    this.id = id
    this.sendWindow = sendWindow
  }

  get remoteAddress(): string {
    return this.#owner.wire.ends.remoteAddress
  }

  get remotePort(): number {
    return this.#owner.wire.ends.remotePort
  }

  get localAddress(): string {
    return this.#owner.wire.ends.localAddress
  }

  get localPort(): number {
    return this.#owner.server.port
  }

  get tls(): ClientTls | null {
    return this.#owner.tls
  }

  get hasReceivedEnd(): boolean {
    return this.#incoming === null || this.#incoming.hasEnded
  }

  get unsentBytes(): number {
    return this.#pending?.bytes ?? 0
  }

  get hasUnsent(): boolean {
    return this.#pending !== null
  }

  get wantsNothing(): boolean {
    return this.#isClosed || (this.#ex === null && this.#tunnel === null)
  }

  // --- receiving ---

  /** The head is here. `made`: the exchange, or why there is none. `windowBytes`: what may follow it at once. */
  begin(made: Exchange | Refusal, block: HeaderBlock, endStream: boolean, windowBytes: number): void {
    const { events } = this.#owner.server
    const isTunnel = made instanceof Exchange && made.upgrade !== null
    // What comes on a tunnel waits until there is another end.
    if (!endStream || isTunnel) this.#incoming = new RequestBody(this.#owner, this, windowBytes, isTunnel)
    if (!(made instanceof Exchange)) {
      if (made.isMalformed) this.#endCode = PROTOCOL_ERROR
      this.#owner.blamed()
      this.#ex = new Exchange(this, '', '', '', '', block, BODY_NONE, 0, turnStartedAt)
      events.onRefused(this.#ex, made.code)
      return
    }
    this.#ex = made
    this.#isTunnel = isTunnel
    if (this.#incoming !== null) this.#incoming.announced = made.requestBody === BODY_STREAM ? -1 : made.requestLength
    if (!endStream && !isTunnel) this.#wait(WAIT_BODY)
    events.onRequest(made)
    if (isTunnel && endStream) this.#incoming!.end('')
    if (this.#ex === null || (!endStream && !isTunnel)) return
    made.requestDone = true
    events.onRequestEnd(made, '')
  }

  /** A piece of DATA: NO_ERROR, or the stream's error. */
  receive(bytes: Buffer, start: number, end: number, flow: number, endStream: boolean, slot: ReadSlot | null): number {
    if (this.#incoming !== null) return this.#incoming.receive(bytes, start, end, flow, endStream, slot)
    this.#owner.release(flow)
    return STREAM_CLOSED
  }

  /** END_STREAM. `trailers`: their lines. */
  receiveEnd(trailers: string): void {
    this.#incoming?.end(trailers)
  }

  onArrival(length: number): boolean {
    const ex = this.#ex
    if (ex === null || this.#isTunnel) return true
    this.#bytes += length
    ex.bytesReceived = this.#bytes
    const { bodyBytesMax } = this.#owner.server.settings
    const { announced } = this.#incoming!
    const isSurplus = announced >= 0 && this.#bytes > announced
    if (isSurplus) this.#fault(ex, 'BAD_FRAMING')
    else if (bodyBytesMax > 0 && this.#bytes > bodyBytesMax) this.#fault(ex, 'BODY_TOO_LARGE')
    else return true
    return false
  }

  #fault(ex: Exchange, code: ErrorCode): void {
    if (code === 'BAD_FRAMING') this.#endCode = PROTOCOL_ERROR
    if (code !== 'UPSTREAM_TIMEOUT') this.#owner.blamed()
    this.#owner.server.events.onClientFault(ex, code)
  }

  onPiece(bytes: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    const { events } = this.#owner.server
    const wantsMore =
      this.#tunnel === null
        ? events.onRequestBody(this.#ex!, bytes, start, end, slot)
        : this.#tunnel.receive(bytes, start, end, slot)
    if (!wantsMore) this.#wait(WAIT_SERVER)
    else if (!this.#isTunnel) this.#wait(WAIT_BODY)
    return wantsMore
  }

  onEnd(trailers: string): void {
    const ex = this.#ex
    if (ex === null || this.#isTunnel) {
      this.#tunnel?.receiveEnd()
      this.#closeWhenDone()
      return
    }
    const { announced } = this.#incoming!
    if (announced >= 0 && this.#bytes !== announced) {
      this.#fault(ex, 'BAD_FRAMING')
      return
    }
    ex.requestDone = true
    this.#waitForBody()
    this.#owner.server.events.onRequestEnd(ex, trailers)
  }

  pauseBody(): void {
    if (this.#incoming !== null) this.#incoming.isPaused = true
    this.#wait(WAIT_SERVER)
  }

  resumeBody(): void {
    const incoming = this.#incoming
    if (incoming === null || !incoming.isPaused || this.#isClosed || (this.#isTunnel && this.#tunnel === null)) return
    incoming.isPaused = false
    this.#waitForBody()
    incoming.resume()
  }

  /** Waits for whatever the request's body needs: the server, the client, or nothing any more. */
  #waitForBody(): void {
    const incoming = this.#incoming
    if (incoming === null || this.#isClosed) this.#wait(WAIT_NOTHING)
    else if (incoming.isPaused) this.#wait(WAIT_SERVER)
    else this.#wait(incoming.isPassed || this.#isTunnel ? WAIT_NOTHING : WAIT_BODY)
  }

  // --- sending ---

  sendInterim(status: number, headers: HeaderBlock): void {
    if (!this.#isClosed) this.#sendFields(status, headers, 0)
  }

  sendHead(ex: Exchange): void {
    if (this.#isClosed) return
    const { status } = ex
    const isSwitch = status === 101
    this.#isMute = !isSwitch && hasNoContent(status, ex.method)
    const isEnd = !isSwitch && (this.#isMute || ex.responseBody === BODY_NONE)
    // The upgrade that it was in HTTP/1.1 has no status of its own here (RFC 8441 section 5).
    if (isSwitch) ex.response!.remove('sec-websocket-accept')
    this.#sendFields(isSwitch ? 200 : status, ex.response!, isEnd ? END_STREAM : 0)
    this.#isSent = isEnd
  }

  #sendFields(status: number, block: HeaderBlock, flags: number): void {
    const { encoder, wire, sender } = this.#owner
    const text = encoder.begin() + encoder.field(':status', String(status)) + encoder.fields(block)
    wire.write(headersFrame(text, flags, this.id, sender.frameBytes))
  }

  sendBody(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    if (this.#isMute || start === end) return true
    ex.bytesSent += end - start
    return this.push(chunk, start, end, slot)
  }

  /** False: stop until onSent. */
  push(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    if (this.#isSent || this.#isClosed) return true
    const { sender, wire } = this.#owner
    const at = this.hasUnsent ? start : sender.send(this, chunk, start, end, slot)
    if (at === end && !wire.congested) return true
    if (at < end) {
      this.#pending ??= new Pieces()
      this.#pending.push(chunk, at, end)
    }
    sender.wait(this)
    this.#wait(WAIT_CLIENT)
    return false
  }

  sendPending(): void {
    const pending = this.#pending!
    const piece = pending.first
    const sent = this.#owner.sender.sendFrame(this, piece, 0, piece.length, null)
    if (sent < piece.length) pending.cut(sent)
    else {
      pending.shift()
      if (pending.isEmpty) this.#pending = null
    }
    this.#wait(WAIT_CLIENT)
  }

  onSent(): void {
    if (this.#isClosed) return
    this.#waitForBody()
    if (this.#endsWith !== null) this.finishSending(this.#endsWith)
    else if (this.#tunnel !== null) this.#tunnel.resumePeer()
    else if (this.#ex !== null) this.#owner.server.events.onClientWritable(this.#ex)
  }

  sendEnd(ex: Exchange, trailers: string): void {
    if (ex !== this.#ex) return
    this.#ex = null
    this.hasSucceeded = ex.error === null
    this.#incoming?.drop()
    this.finishSending(trailers)
  }

  /** END_STREAM, behind what waits. */
  finishSending(trailers: string): void {
    if (this.#isClosed) return
    if (this.hasUnsent) {
      this.#endsWith = trailers
      return
    }
    this.#endsWith = null
    if (!this.#isSent) this.#sendEndStream(trailers)
    this.#isSent = true
    this.#closeWhenDone()
  }

  #sendEndStream(trailers: string): void {
    const { encoder, wire, sender } = this.#owner
    if (trailers === '') {
      wire.write(frameHead(0, DATA, END_STREAM, this.id))
      return
    }
    wire.write(headersFrame(encoder.begin() + encoder.lines(trailers), END_STREAM, this.id, sender.frameBytes))
  }

  /** The response has left: what of the request is still to come is not wanted (section 8.1). */
  #closeWhenDone(): void {
    if (!this.#isSent || this.#isClosed) return
    // A tunnel's other direction goes on.
    if (this.#tunnel !== null && !this.#incoming!.isPassed) return
    if (!this.hasReceivedEnd || this.#endCode !== NO_ERROR) this.#owner.wire.write(resetFrame(this.id, this.#endCode))
    this.#close(this.#endCode === NO_ERROR ? ANSWERED : RESET)
  }

  abort(_ex: Exchange): void {
    this.#ex = null
    this.reset(this.#endCode === NO_ERROR ? INTERNAL_ERROR : this.#endCode)
  }

  splice(ex: Exchange): SpliceEnd {
    ex.responseDone = true
    this.#ex = null
    this.#tunnel = new Tunnel(this)
    return this.#tunnel
  }

  // --- the end ---

  /** Ends the stream with a frame to the client. */
  reset(code: number): void {
    if (this.#isClosed) return
    this.#owner.wire.write(resetFrame(this.id, code))
    this.#owner.replied()
    this.#leave(RESET)
  }

  /** The client has ended it, or has gone. */
  gone(): void {
    if (!this.#isClosed) this.#leave(GONE)
  }

  #leave(how: Ending): void {
    const ex = this.#ex
    const tunnel = this.#tunnel
    this.#ex = null
    this.#close(how)
    if (tunnel !== null) tunnel.gone(true)
    else if (ex !== null) this.#owner.server.events.onClientFault(ex, 'CLIENT_GONE')
  }

  #close(how: Ending): void {
    this.#isClosed = true
    this.#isSent = true
    this.#pending = null
    this.#incoming?.drop()
    if (this.#timer !== null) this.#owner.server.timers.remove(this.#timer)
    this.#owner.sender.forget(this)
    this.#owner.closed(this, how)
    if (how === ANSWERED) this.#tunnel?.gone(false)
  }

  #wait(what: number): void {
    if (what === this.#waiting && what === WAIT_NOTHING) return
    this.#waiting = what
    const { timers, settings } = this.#owner.server
    if (what === WAIT_NOTHING) {
      if (this.#timer !== null) timers.disarm(this.#timer)
      return
    }
    this.#timer ??= new WheelTimer(() => this.#onTimeout())
    timers.arm(this.#timer, turnStartedAt, what === WAIT_BODY ? settings.bodyTimeoutMs : settings.sendTimeoutMs)
  }

  #onTimeout(): void {
    const waited = this.#waiting
    const ex = this.#ex
    this.#waiting = WAIT_NOTHING
    if (ex === null || waited === WAIT_CLIENT || this.#isTunnel) this.reset(CANCEL)
    else this.#fault(ex, waited === WAIT_BODY ? 'BODY_TIMEOUT' : 'UPSTREAM_TIMEOUT')
  }
}
