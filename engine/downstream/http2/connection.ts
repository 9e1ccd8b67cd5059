/**
 * HTTP/2 towards clients (RFC 9113): one object per connection, one Http2Stream per request. Frames are read where
 * they arrived and leave as text, on the same wires as HTTP/1 (docs/design/024-http2.md).
 */
import type { ClientTls } from '#engine/contract/transport.ts'
import type { OpenConnection } from '#engine/downstream/connection-limiter.ts'
import type { HttpServer } from '#engine/downstream/http-server.ts'
import { safeTrailers } from '#engine/http/trailers.ts'
import { DataSender, USEFUL_BYTES } from '#engine/http2/data-sender.ts'
import { goawayFrame, pingFrame, resetFrame, SETTINGS_ACK, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { HpackDecoder } from '#engine/http2/hpack-decoder.ts'
import { HpackEncoder } from '#engine/http2/hpack-encoder.ts'
import {
  DEFAULT_TABLE_BYTES,
  DEFAULT_WINDOW,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
  REFUSED_STREAM,
  STREAM_CLOSED,
  WINDOW_MAX
} from '#engine/http2/protocol.ts'
import { ReceiveWindow } from '#engine/http2/receive-window.ts'
import { PeerSettings } from '#engine/http2/settings.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { WheelTimer } from '#engine/socket/timer-wheel.ts'
import { BULK_BODY, BULK_NONE, type Wire, type WireOwner } from '#engine/socket/wire.ts'
import { ClosedStreams } from './closed-streams.ts'
import { Http2ConnectionReader, type ReaderOwner } from './connection-reader.ts'
import { FloodLimits } from './flood-limits.ts'
import { GracefulGoaway } from './goaway.ts'
import { Keepalive, type KeepaliveOwner } from './keepalive.ts'
import { NO_FIELDS, RequestHead, TrailerFields } from './request.ts'
import { initialSettings, STREAMS_MAX } from './settings.ts'
import { ANSWERED, type Ending, Http2Stream, RESET, type StreamOwner } from './stream.ts'

/** A compressed block may be longer than the fields allowed in it: then the answer is 431, and beyond that the end. */
const BLOCK_PART = 2
const ALIVE_PING = 'stillon?'

/** Why the timer runs. */
const WAIT_NOTHING = 0
const WAIT_REQUEST = 1
const WAIT_HEAD = 2
const WAIT_CLIENT = 3

/** One of each serves the thread: a block is decoded in one go. */
const head = new RequestHead()
const trailers = new TrailerFields()

export class Http2Connection implements WireOwner, ReaderOwner, OpenConnection, StreamOwner, KeepaliveOwner {
  readonly server: HttpServer
  readonly wire: Wire
  readonly tls: ClientTls | null
  readonly encoder = new HpackEncoder()
  readonly sender: DataSender
  readonly #reader: Http2ConnectionReader
  readonly #decoder = new HpackDecoder(DEFAULT_TABLE_BYTES)
  readonly #peer = new PeerSettings()
  readonly #floodLimits = new FloodLimits()
  readonly #streams = new Map<number, Http2Stream>()
  readonly #window: ReceiveWindow
  readonly #windowBytes: number
  readonly #timer: WheelTimer
  #waiting = WAIT_NOTHING
  #lastStream = 0
  readonly #closedStreams = new ClosedStreams()
  /** One frame too many was sent in answer to the client's: reported where the frame that caused it is read. */
  #calm = NO_ERROR
  #goaway: GracefulGoaway | null = null
  /** No more streams are taken. */
  #isLast = false
  readonly #keepalive: Keepalive | null
  #closed = false

  /** `prefaceBytes`: of the preface, seen and taken away already. */
  constructor(server: HttpServer, wire: Wire, tls: ClientTls | null, prefaceBytes = 0) {
    const { settings, http2 } = server
    const { connectionWindowBytes: windowBytes } = http2
    this.server = server
    this.wire = wire
    this.tls = tls
    this.sender = new DataSender(wire, USEFUL_BYTES)
    this.#windowBytes = http2.windowBytes
    const { frameBytesMax } = http2
    this.#reader = new Http2ConnectionReader(this, {
      frameBytesMax,
      blockBytesMax: settings.headBytesMax * BLOCK_PART,
      prefaceBytes
    })
    this.#window = new ReceiveWindow(windowBytes, Math.max(windowBytes, DEFAULT_WINDOW))
    if (windowBytes < DEFAULT_WINDOW) this.#window.withhold(DEFAULT_WINDOW - windowBytes)
    this.#timer = new WheelTimer(() => this.#onTimeout())
    wire.owner = this
    server.connections.add(this)
    wire.write(initialSettings(http2, settings.headBytesMax))
    this.#wait(WAIT_HEAD)
    this.#keepalive = http2.pingIntervalMs > 0 ? new Keepalive(server.timers, http2, this) : null
    if (server.draining) this.drain()
  }

  // --- reading ---

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    this.#keepalive?.onFrame()
    this.#reader.take(this.server.llhttp.memory.bytes, start, end, slot)
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** The rest is for the gateway to take, and the client is not late. */
  putOff(): void {
    this.#wait(WAIT_NOTHING)
  }

  broken(code: number): void {
    this.#fail(code)
  }

  /** All received frames have been taken: decide what the connection waits for. */
  afterRead(): void {
    if (this.#streams.size === 0 && this.#isLast) this.#closeWire()
    else if (this.#reader.isWaiting) {
      // One deadline for the whole of it: a byte now and then does not extend it.
      if (this.#waiting !== WAIT_HEAD) this.#wait(WAIT_HEAD)
    } else if (this.#streams.size > 0) this.#wait(WAIT_NOTHING)
    else if (this.wire.congested) {
      if (this.#waiting !== WAIT_CLIENT) this.#wait(WAIT_CLIENT)
    } else if (this.#waiting !== WAIT_REQUEST) this.#wait(WAIT_REQUEST)
  }

  onHeaders(id: number, endStream: boolean, bytes: Buffer, start: number, end: number): number {
    this.#reader.spendBlock(end - start)
    const stream = this.#streams.get(id)
    if (stream !== undefined) return this.#trailers(stream, endStream, bytes, start, end)
    // Streams of clients have odd numbers (section 5.1.1).
    if ((id & 1) === 0) return PROTOCOL_ERROR
    if (id <= this.#lastStream) {
      const code = this.#decoder.decode(bytes, start, end, NO_FIELDS)
      if (code !== NO_ERROR) return code
      return this.#closedStreams.has(id) ? this.#idle() : STREAM_CLOSED
    }
    if (!this.#isLast) this.#lastStream = id
    if (this.#isLast || this.#streams.size >= STREAMS_MAX) {
      const code = this.#decoder.decode(bytes, start, end, NO_FIELDS)
      return code === NO_ERROR ? this.onStreamError(id, REFUSED_STREAM) : code
    }
    head.begin(this.server.settings)
    const code = this.#decoder.decode(bytes, start, end, head)
    if (code === NO_ERROR) this.#open(id, endStream)
    return code === NO_ERROR ? this.#calm : code
  }

  #open(id: number, endStream: boolean): void {
    const stream = new Http2Stream(this, id, this.#peer.windowBytes)
    this.#streams.set(id, stream)
    stream.begin(head.finish(stream, endStream), head.block, endStream, this.#windowBytes)
  }

  #trailers(stream: Http2Stream, endStream: boolean, bytes: Buffer, start: number, end: number): number {
    trailers.begin(this.server.settings.headBytesMax)
    const code = this.#decoder.decode(bytes, start, end, trailers)
    if (code !== NO_ERROR) return code
    if (stream.hasReceivedEnd) return this.onStreamError(stream.id, STREAM_CLOSED)
    // Nothing comes behind trailers, and there are no pseudo-header fields in them (section 8.1).
    if (!endStream || trailers.isMalformed) return this.onStreamError(stream.id, PROTOCOL_ERROR)
    stream.receiveEnd(safeTrailers(trailers.lines))
    return this.#calm
  }

  onData(id: number, bytes: Buffer, start: number, end: number, flow: number, endStream: boolean): number {
    if (!this.#window.receive(flow)) return FLOW_CONTROL_ERROR
    if (start === end && !endStream) {
      const code = this.#floodLimits.idle(this.sender.frames)
      if (code !== NO_ERROR) return code
    }
    const stream = this.#streams.get(id)
    if (stream === undefined) {
      this.release(flow)
      if (this.#isIdle(id)) return PROTOCOL_ERROR
      return this.#closedStreams.has(id) ? NO_ERROR : this.onStreamError(id, STREAM_CLOSED)
    }
    if (!stream.wantsNothing && start < end) this.#floodLimits.uploaded()
    // The wire reads long bodies into memory of their own.
    this.wire.bulk = BULK_BODY
    const code = stream.receive(bytes, start, end, flow, endStream, this.#reader.slot)
    return code === NO_ERROR ? this.#calm : this.onStreamError(id, code)
  }

  onReset(id: number, _code: number): number {
    const stream = this.#streams.get(id)
    if (stream === undefined) {
      this.#closedStreams.forget(id)
      return this.#isIdle(id) ? PROTOCOL_ERROR : this.#idle()
    }
    stream.gone()
    return this.#floodLimits.reset()
  }

  onSettings(bytes: Buffer, start: number, end: number): number {
    const before = this.#peer.windowBytes
    const code = this.#peer.take(bytes, start, end)
    if (code !== NO_ERROR) return code
    const { windowBytes, frameBytes, tableBytes } = this.#peer
    this.sender.frameBytes = frameBytes
    this.encoder.resize(tableBytes)
    for (const stream of this.#streams.values()) {
      stream.sendWindow += windowBytes - before
      if (stream.sendWindow > WINDOW_MAX) return FLOW_CONTROL_ERROR
      if (stream.hasUnsent) this.sender.wait(stream)
    }
    this.wire.write(SETTINGS_ACK)
    this.replied()
    this.sender.flush()
    return this.#idle()
  }

  onSettingsAck(): number {
    return this.#idle()
  }

  onPing(isAck: boolean, bytes: Buffer, start: number): number {
    const payload = bytes.latin1Slice(start, start + 8)
    if (!isAck) {
      this.wire.write(pingFrame(true, payload))
      this.replied()
    } else this.#goaway?.answered(payload)
    return this.#idle()
  }

  /** The client opens no more streams for us to end; those that it has opened are answered. */
  onGoaway(_lastStream: number, _code: number): number {
    return this.#idle()
  }

  onWindowUpdate(id: number, increment: number): number {
    if (id === 0) {
      this.sender.window += increment
      if (this.sender.window > WINDOW_MAX) return FLOW_CONTROL_ERROR
    } else {
      const stream = this.#streams.get(id)
      if (stream === undefined) return this.#isIdle(id) ? PROTOCOL_ERROR : this.#idle()
      stream.sendWindow += increment
      if (stream.sendWindow > WINDOW_MAX) return this.onStreamError(id, FLOW_CONTROL_ERROR)
      if (stream.hasUnsent) this.sender.wait(stream)
    }
    this.sender.flush()
    return this.#idle()
  }

  onIdle(): number {
    return this.#idle()
  }

  onStreamError(id: number, code: number): number {
    const stream = this.#streams.get(id)
    if (stream !== undefined) stream.reset(code)
    else {
      this.wire.write(resetFrame(id, code))
      this.#closedStreams.add(id)
      this.replied()
    }
    return this.#floodLimits.reset() || this.#calm
  }

  /** A frame has come that asks for nothing. */
  #idle(): number {
    return this.#floodLimits.idle(this.sender.frames) || this.#calm
  }

  /** No stream of that number has been opened. */
  #isIdle(id: number): boolean {
    return id > this.#lastStream || (id & 1) === 0
  }

  // --- what streams ask for ---

  release(bytes: number): void {
    const increment = this.#window.release(bytes)
    if (increment > 0 && !this.#closed) this.wire.write(windowUpdateFrame(0, increment))
  }

  replied(): void {
    this.#calm ||= this.#floodLimits.reply(this.wire.congested)
  }

  blamed(): void {
    this.#calm ||= this.#floodLimits.reset()
  }

  closed(stream: Http2Stream, how: Ending): void {
    this.#streams.delete(stream.id)
    if (how === ANSWERED) {
      // Heads of answers have no window: a client that reads none of them gets no more.
      this.replied()
      if (stream.hasSucceeded && stream.hasReceivedEnd) this.#floodLimits.answered()
    }
    if (how === RESET || (how === ANSWERED && !stream.hasReceivedEnd)) this.#closedStreams.add(stream.id)
    if (this.#streams.size > 0 || this.#closed) return
    this.wire.bulk = BULK_NONE
    if (!this.#reader.isRunning) this.afterRead()
  }

  // --- the connection's own life ---

  onDrain(): void {
    this.#floodLimits.read()
    this.sender.flush()
    if (!this.#closed) this.afterRead()
  }

  onEnd(): void {
    // As in HTTP/1 (docs/design/004-client-fin.md): the client does not read the answers any more.
    this.#leave()
    this.wire.close(false)
  }

  onError(_code: string): void {
    this.#leave()
  }

  drain(): void {
    if (this.#closed || this.#goaway !== null) return
    this.#goaway = new GracefulGoaway(this.server.timers, this.wire, () => {
      this.#isLast = true
      if (this.#streams.size > 0) this.wire.write(goawayFrame(this.#lastStream, NO_ERROR))
      else if (!this.#reader.isRunning) this.#closeWire()
    })
  }

  sendPing(): void {
    this.wire.write(pingFrame(false, ALIVE_PING))
  }

  lost(): void {
    this.forceClose()
  }

  closeIfIdle(): boolean {
    if (this.#closed || this.#streams.size > 0 || this.#reader.holdsBytes) return false
    this.#closeWire()
    return true
  }

  forceClose(): void {
    if (this.#closed) return
    this.#leave()
    this.wire.destroy()
  }

  #closeWire(): void {
    this.#fail(NO_ERROR)
  }

  /** Ends the connection with `code`: streams that are open are lost (section 5.4.1). */
  #fail(code: number): void {
    if (this.#closed) return
    this.wire.write(goawayFrame(this.#lastStream, code))
    const { wire } = this
    this.#leave()
    // What the client is still sending must not destroy what it has not read.
    wire.close(true)
  }

  #leave(): void {
    if (this.#closed) return
    this.#closed = true
    this.#reader.stop()
    const { timers, connections } = this.server
    timers.remove(this.#timer)
    this.#goaway?.stop()
    this.#keepalive?.stop()
    for (const stream of [...this.#streams.values()]) stream.gone()
    connections.delete(this)
    this.server.closed()
  }

  #wait(what: number): void {
    if (what === this.#waiting && what === WAIT_NOTHING) return
    this.#waiting = what
    const { timers, settings } = this.server
    if (what === WAIT_NOTHING) timers.disarm(this.#timer)
    else if (what === WAIT_REQUEST) timers.arm(this.#timer, turnStartedAt, settings.idleTimeoutMs)
    else if (what === WAIT_HEAD) timers.arm(this.#timer, turnStartedAt, settings.headTimeoutMs)
    else timers.arm(this.#timer, turnStartedAt, settings.sendTimeoutMs)
  }

  #onTimeout(): void {
    const waited = this.#waiting
    this.#waiting = WAIT_NOTHING
    if (waited === WAIT_CLIENT) this.forceClose()
    else this.#fail(waited === WAIT_HEAD ? ENHANCE_YOUR_CALM : NO_ERROR)
  }
}
