/**
 * HTTP/2 towards backends (RFC 9113): one object per connection, many exchanges on it at a time. No exchange begins
 * before the server's SETTINGS have come. What breaks one stream breaks no other.
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_NONE, type Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { type FrameHandler, FrameReader } from '#engine/http2/frame-reader.ts'
import { goawayFrame, pingFrame, resetFrame, SETTINGS_ACK, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { HpackDecoder } from '#engine/http2/hpack-decoder.ts'
import * as h2 from '#engine/http2/protocol.ts'
import { PeerSettings } from '#engine/http2/settings.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { WheelTimer } from '#engine/socket/timer-wheel.ts'
import { BULK_BODY, BULK_NONE, type Wire, type WireOwner } from '#engine/socket/wire.ts'
import { REPEAT_ALWAYS, REPEAT_IDEMPOTENT, REPEAT_NEVER, type Repeat } from '#engine/upstream/http1/connection.ts'
import type { Http2ConnectionOwner } from './connection-owner.ts'
import { ConnectionWindow } from './connection-window.ts'
import { Http2RequestSender } from './request-sender.ts'
import { LIST_BYTES_MAX, ResponseFields } from './response-fields.ts'
import { CONNECTION_PREFACE, EARNED_PER_FRAME, idleFramesFrom } from './settings.ts'
import { Http2UpstreamStream, type StreamOwner } from './stream.ts'
import { StreamLimit } from './stream-limit.ts'

/** DATA of so many bytes in one read is a long body: the wire may read into a slot of its own. */
const BULK_BYTES = 8 * 1024

export class Http2Upstream implements WireOwner, FrameHandler, StreamOwner {
  /** Expires an idle connection; armed by the pool. */
  readonly idleTimer: WheelTimer
  readonly #owner: Http2ConnectionOwner
  readonly #wire: Wire
  readonly #peer = new PeerSettings()
  readonly #limit: StreamLimit
  readonly #sender: Http2RequestSender
  readonly #decoder = new HpackDecoder(h2.DEFAULT_TABLE_BYTES)
  readonly #reader: FrameReader
  readonly #fields = new ResponseFields()
  readonly #window: ConnectionWindow
  readonly #idleFrames = idleFramesFrom(turnStartedAt)
  readonly #streams = new Map<number, Http2UpstreamStream>()
  #nextId = 1
  #completed = 0
  #hasSettings = false
  #isRetired = false
  #dead = false
  #slot: ReadSlot | null = null

  constructor(owner: Http2ConnectionOwner, wire: Wire, scheme: 'http' | 'https') {
    this.#owner = owner
    this.#wire = wire
    this.#limit = new StreamLimit(this.#peer, wire)
    this.#reader = new FrameReader(this, h2.DEFAULT_FRAME_BYTES, LIST_BYTES_MAX)
    this.#sender = new Http2RequestSender(wire, this.#peer, scheme)
    this.#window = new ConnectionWindow(owner, wire, () => this.#streams.values())
    this.idleTimer = new WheelTimer(() => this.closeIdle())
    wire.owner = this
    wire.write(CONNECTION_PREFACE)
  }

  /** Exchanges under way. */
  get streams(): number {
    return this.#streams.size
  }

  get exchanges(): Iterable<Http2UpstreamStream> {
    return this.#streams.values()
  }

  /** Further exchanges that it takes. */
  get capacity(): number {
    if (this.#isRetired || !this.#hasSettings || this.#window.isScarce) return 0
    return this.#limit.available(this.#streams.size)
  }

  /** Sends the request of ex. Its body follows through the stream. */
  begin(ex: Exchange): Http2UpstreamStream {
    const id = this.#nextId
    this.#nextId += 2
    const stream = new Http2UpstreamStream(this, this.#sender, id, ex, this.#peer.windowBytes)
    this.#streams.set(id, stream)
    ex.server = stream
    this.#idleFrames.earn(EARNED_PER_FRAME)
    stream.isSent = ex.requestBody === BODY_NONE
    if (this.#sender.isUnread()) this.#retire()
    this.#sender.request(ex, id, stream.isSent)
    this.#limit.sendPing(this.#streams.size)
    const max = this.#owner.shared.requestsPerConnectionMax
    if ((max > 0 && id >= max * 2 - 1) || id >= h2.STREAM_ID_MAX - 2) this.#retire()
    return stream
  }

  /** Ends a connection on which nothing is under way. */
  closeIdle(): void {
    if (this.#dead || this.#streams.size > 0) return
    this.#wire.write(goawayFrame(0, h2.NO_ERROR))
    this.#close()
  }

  /** Ends it, whatever is under way: for one that never got ready. */
  destroy(): void {
    if (this.#dead) return
    this.#dead = true
    this.#reader.isOver = true
    this.#wire.destroy()
  }

  // --- what streams ask for ---

  consumed(stream: Http2UpstreamStream, bytes: number, isOpen: boolean): void {
    if (this.#dead) return
    const ofStream = isOpen ? stream.receive.release(bytes) : 0
    if (ofStream > 0) this.#wire.write(windowUpdateFrame(stream.id, ofStream))
    this.#window.release(bytes, isOpen)
  }

  cancelled(stream: Http2UpstreamStream): void {
    this.#reset(stream, h2.CANCEL)
    this.#freed(stream)
  }

  get events(): ServerEvents {
    return this.#owner.shared.events
  }

  passBody(ex: Exchange, bytes: Buffer, start: number, end: number): boolean {
    if (end - start >= BULK_BYTES) this.#wire.bulk = BULK_BODY
    return this.#owner.shared.events.onResponseBody(ex, bytes, start, end, this.#slot)
  }

  // --- the wire ---

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    this.#slot = slot
    const code = this.#reader.execute(this.#owner.shared.llhttp.memory.bytes, start, end)
    this.#slot = null
    if (code !== h2.NO_ERROR && !this.#dead) this.#break(code)
  }

  onEnd(): void {
    this.#lost('NOT_HTTP2')
  }

  onError(code: string): void {
    this.#lost(code)
  }

  onDrain(): void {
    this.#sender.data.flush()
  }

  // --- frames ---

  onHeaders(id: number, endStream: boolean, bytes: Buffer, start: number, end: number): number {
    const stream = this.#streams.get(id)
    if (stream === undefined && this.#isIdle(id)) return h2.PROTOCOL_ERROR
    this.#limit.onResponse()
    const isTrailer = stream?.isAnswered === true
    this.#fields.begin(isTrailer)
    const code = this.#decoder.decode(bytes, start, end, this.#fields)
    if (code !== h2.NO_ERROR) return code
    if (stream === undefined) return this.#useless()
    if (isTrailer) this.#trailers(stream, endStream)
    else {
      this.#idleFrames.earn(EARNED_PER_FRAME)
      const fault = stream.head(this.#fields, endStream)
      if (fault !== null) this.#fail(stream, fault, h2.PROTOCOL_ERROR)
      else if (endStream && !stream.isOver) this.#finish(stream, '')
    }
    return h2.NO_ERROR
  }

  #trailers(stream: Http2UpstreamStream, endStream: boolean): void {
    // A second head is none, and nothing follows the trailers (RFC 9113 section 8.1).
    const trailers = endStream && stream.mayEnd() ? stream.trailers(this.#fields) : null
    if (trailers === null) this.#fail(stream, 'UPSTREAM_PROTOCOL', h2.PROTOCOL_ERROR)
    else this.#finish(stream, trailers)
  }

  onData(id: number, bytes: Buffer, start: number, end: number, flow: number, endStream: boolean): number {
    if (!this.#window.receive(flow)) return h2.FLOW_CONTROL_ERROR
    this.#limit.onResponse()
    const stream = this.#streams.get(id)
    if (stream === undefined) {
      if (this.#isIdle(id)) return h2.PROTOCOL_ERROR
      // On its way when we gave the stream up.
      this.#window.release(flow, false)
      return flow === 0 ? this.#useless() : h2.NO_ERROR
    }
    if (end > start) this.#idleFrames.earn(EARNED_PER_FRAME)
    else if (!endStream && this.#useless() !== h2.NO_ERROR) return h2.ENHANCE_YOUR_CALM
    const fault = stream.data(bytes, start, end, flow)
    if (stream.isOver) return h2.NO_ERROR
    if (fault !== null || (endStream && !stream.mayEnd())) {
      this.#fail(stream, fault ?? 'UPSTREAM_PROTOCOL', h2.PROTOCOL_ERROR)
    } else if (endStream) this.#finish(stream, '')
    return h2.NO_ERROR
  }

  onReset(id: number, code: number): number {
    const stream = this.#streams.get(id)
    if (stream === undefined) return this.#isIdle(id) ? h2.PROTOCOL_ERROR : this.#useless()
    this.#remove(stream)
    if ((code === h2.REFUSED_STREAM || code === h2.ENHANCE_YOUR_CALM) && !stream.isAnswered) {
      this.#limit.refused(this.#streams.size)
      // Only the former says that nothing was done (section 8.7). Node says the latter where nothing was.
      this.#limit.sendPing(this.#streams.size)
      this.#unprocessed(stream, code === h2.REFUSED_STREAM ? REPEAT_ALWAYS : REPEAT_IDEMPOTENT)
    } else this.#report(stream, code === h2.HTTP_1_1_REQUIRED ? 'UPSTREAM_NOT_HTTP2' : 'UPSTREAM_RESET')
    this.#freed(stream)
    return h2.NO_ERROR
  }

  onSettings(bytes: Buffer, start: number, end: number): number {
    const before = this.#peer.windowBytes
    const code = this.#peer.take(bytes, start, end)
    if (code !== h2.NO_ERROR) return code
    this.#sender.configure()
    if (this.#sender.reply(SETTINGS_ACK) !== h2.NO_ERROR) return h2.ENHANCE_YOUR_CALM
    for (const stream of this.#streams.values()) {
      stream.sendWindow += this.#peer.windowBytes - before
      if (stream.sendWindow > h2.WINDOW_MAX) return h2.FLOW_CONTROL_ERROR
      if (stream.hasUnsent) this.#sender.data.wait(stream)
    }
    this.#sender.data.flush()
    if (this.#hasSettings) {
      this.#owner.capacityGrew()
      return this.#useless()
    }
    this.#hasSettings = true
    this.#owner.ready(this)
    return h2.NO_ERROR
  }

  onSettingsAck(): number {
    return this.#useless()
  }

  onPing(isAck: boolean, bytes: Buffer, start: number): number {
    const code = this.#useless()
    if (isAck && this.#limit.pingAnswered(this.#streams.size)) this.#owner.capacityGrew()
    if (isAck || code !== h2.NO_ERROR) return code
    return this.#sender.reply(pingFrame(true, bytes.latin1Slice(start, start + 8)))
  }

  onGoaway(lastStream: number, _code: number): number {
    if (!this.#hasSettings) return h2.PROTOCOL_ERROR
    this.#retire()
    for (const stream of [...this.#streams.values()]) {
      if (stream.id <= lastStream || stream.isOver) continue
      this.#remove(stream)
      if (stream.isAnswered) this.#report(stream, 'UPSTREAM_RESET')
      else this.#unprocessed(stream, REPEAT_ALWAYS)
      this.#owner.freed(this, stream)
    }
    if (this.#streams.size === 0) this.#close()
    return this.#useless()
  }

  onWindowUpdate(id: number, increment: number): number {
    const code = this.#useless()
    if (code !== h2.NO_ERROR) return code
    const { data } = this.#sender
    if (id === 0) {
      data.window += increment
      if (data.window > h2.WINDOW_MAX) return h2.FLOW_CONTROL_ERROR
      data.flush()
      return h2.NO_ERROR
    }
    const stream = this.#streams.get(id)
    if (stream === undefined) return this.#isIdle(id) ? h2.PROTOCOL_ERROR : h2.NO_ERROR
    stream.sendWindow += increment
    if (stream.sendWindow > h2.WINDOW_MAX) this.#fail(stream, 'UPSTREAM_PROTOCOL', h2.FLOW_CONTROL_ERROR)
    else if (stream.hasUnsent) {
      data.wait(stream)
      data.flush()
    }
    return h2.NO_ERROR
  }

  onIdle(): number {
    return this.#useless()
  }

  onStreamError(id: number, code: number): number {
    const stream = this.#streams.get(id)
    if (stream !== undefined) this.#fail(stream, 'UPSTREAM_PROTOCOL', code)
    else if (this.#isIdle(id)) return h2.PROTOCOL_ERROR
    return this.#useless()
  }

  /** A stream that was never opened, or that only the server could open. */
  #isIdle(id: number): boolean {
    return id >= this.#nextId || id % 2 === 0
  }

  /** Counts a frame that brings nothing. Before the first SETTINGS nothing may come at all (section 3.4). */
  #useless(): number {
    if (!this.#hasSettings) return h2.PROTOCOL_ERROR
    return this.#idleFrames.take(turnStartedAt, this.#sender.data.frames)
  }

  // --- ends of streams ---

  #finish(stream: Http2UpstreamStream, trailers: string): void {
    const { ex } = stream
    // What is left of the request interests nobody (section 8.1).
    if (stream.isSent) this.#remove(stream)
    else this.#reset(stream, h2.NO_ERROR)
    this.#completed++
    ex.server = null
    this.#owner.shared.events.onResponseEnd(ex, trailers)
    this.#freed(stream)
  }

  /** Breaks one stream: `fault` for the client, `code` for the server. */
  #fail(stream: Http2UpstreamStream, fault: ErrorCode, code: number): void {
    if (stream.isOver) return
    this.#reset(stream, code)
    this.#report(stream, fault)
    this.#freed(stream)
  }

  #report(stream: Http2UpstreamStream, code: ErrorCode, repeat: Repeat = REPEAT_NEVER): void {
    stream.ex.server = null
    this.#owner.failed(stream.ex, code, repeat)
  }

  /** The server has not looked at it: by REPEAT_ALWAYS it is as good as never sent (RFC 9113 section 8.7). */
  #unprocessed(stream: Http2UpstreamStream, repeat: Repeat): void {
    this.#report(stream, 'UPSTREAM_RESET', stream.restore() ? repeat : REPEAT_NEVER)
  }

  #reset(stream: Http2UpstreamStream, code: number): void {
    this.#remove(stream)
    if (this.#dead) return
    this.#wire.write(resetFrame(stream.id, code))
    this.#limit.reset()
    this.#limit.sendPing(this.#streams.size)
  }

  #remove(stream: Http2UpstreamStream): void {
    this.#streams.delete(stream.id)
    stream.end()
    if (stream.isAnswered) this.#limit.ended()
    if (this.#streams.size === 0) this.#wire.bulk = BULK_NONE
  }

  #freed(stream: Http2UpstreamStream): void {
    this.#owner.freed(this, stream)
    if (this.#isRetired && this.#streams.size === 0) this.closeIdle()
  }

  // --- ends of the connection ---

  #retire(): void {
    if (this.#isRetired) return
    this.#isRetired = true
    this.#owner.retired(this)
  }

  /** The server has broken the protocol. */
  #break(code: number): void {
    this.#wire.write(goawayFrame(0, code))
    this.#end(this.#hasSettings ? 'UPSTREAM_PROTOCOL' : 'NOT_HTTP2', () => this.#wire.close(false))
  }

  #lost(code: string): void {
    this.#end(this.#hasSettings ? 'UPSTREAM_RESET' : code, () => this.#wire.destroy())
  }

  #close(): void {
    this.#end('UPSTREAM_RESET', () => this.#wire.close(false))
  }

  #end(code: string, close: () => void): void {
    if (this.#dead) return
    this.#dead = true
    this.#reader.isOver = true
    this.#retire()
    close()
    if (!this.#hasSettings) {
      this.#owner.refused(this, code)
      return
    }
    const streams = [...this.#streams.values()]
    // Gone first: what is tried again must not come back here.
    this.#streams.clear()
    this.#owner.gone(this)
    // Only a connection that has worked may have died of age; a server that dies of requests gets no second one.
    const mayRepeat = code === 'UPSTREAM_RESET' && this.#completed > 0
    for (const stream of streams) {
      const isFresh = mayRepeat && !stream.isAnswered && stream.restore()
      stream.end()
      this.#owner.freed(this, stream)
      this.#report(stream, code as ErrorCode, isFresh ? REPEAT_IDEMPOTENT : REPEAT_NEVER)
    }
  }
}
