/**
 * A WebSocket that came through uWebSockets.js, as one end of a splice. The library frames towards the
 * client; the other end carries the raw bytes of a server, so this end is a WebSocket client to it.
 * Pings are answered by each side for itself. Close codes pass both ways.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { SpliceEnd } from '#engine/contract/transport.ts'
import {
  ABNORMAL,
  acceptOf,
  BINARY,
  encodeClose,
  encodeFrame,
  FrameDecoder,
  type FrameHandler,
  NO_STATUS,
  PONG,
  PROTOCOL_ERROR,
  TEXT
} from '#engine/http/websocket.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { inTurn, turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import { linesWithout } from './head.ts'
import type { HttpResponse, us_socket_context_t, WebSocket } from './library.ts'

/** Frames that are kept for a slow server; the library cannot stop reading a WebSocket. */
const AHEAD_BYTES_MAX = 4 * 1024 * 1024
/** How long a server may take to close after the close frames. */
const CLOSE_MS = 10_000
const INTERNAL_ERROR = 1011
const TRY_AGAIN_LATER = 1013
const HANDSHAKE_FIELDS = [
  'date',
  'content-length',
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'sec-websocket-extensions'
]

/** What is needed of the upgrade request once the server has agreed. */
export interface Handshake {
  readonly key: string
  readonly context: us_socket_context_t
}

/**
 * What the library keeps with a WebSocket. It copies the property onto its own object, so the name must
 * be none of its methods ("end" is).
 */
export interface WebSocketData {
  readonly splice: WebSocketEnd
}

/** A message from a client is collected whole before it is passed on; a larger one ends the WebSocket. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024

/** Options of the library for WebSockets. */
export const WEBSOCKET_SETTINGS = {
  // A deflated frame could not be passed on: the server has been offered no extension.
  compression: 0,
  maxPayloadLength: MESSAGE_BYTES_MAX,
  // Bounded by stopping the server, so nothing is ever dropped.
  maxBackpressure: 0,
  // Dead clients are found by pings.
  idleTimeout: 120,
  sendPingsAutomatically: true
} as const

/**
 * Accepts the client's upgrade after the server has accepted ours (ex.status is 101), or answers 502
 * when the server's handshake is not one.
 */
export function switchToWebSocket(
  res: HttpResponse,
  ex: Exchange,
  handshake: Handshake,
  timers: TimerWheel
): SpliceEnd {
  const headers = ex.response!
  const isAgreed =
    headers.get('sec-websocket-accept') === acceptOf(handshake.key) && !headers.has('sec-websocket-extensions')
  if (!isAgreed) {
    ex.status = 502
    ex.error = 'UPSTREAM_PROTOCOL'
    res.cork(() => res.writeStatus('502 Bad Gateway').end('the backend answered with an invalid handshake\n', true))
    return new RefusedEnd()
  }
  const end = new WebSocketEnd(timers)
  const data: WebSocketData = { splice: end }
  const head = Buffer.from(`101 Switching Protocols\r\n${linesWithout(headers, HANDSHAKE_FIELDS)}`, 'latin1')
  // Not corked: after a cork the library reads the socket as one of HTTP, which it is no more, and by
  // chance closes it (docs/design/005-uws-transport.md).
  res.writeStatus(head.subarray(0, head.length - 2))
  res.upgrade(data, handshake.key, headers.get('sec-websocket-protocol') ?? '', '', handshake.context)
  return end
}

/** The end of a splice that never was. */
class RefusedEnd implements SpliceEnd {
  readonly bytes = 0

  join(peer: SpliceEnd, closed: () => void): void {
    // The peer is joined after this end: only then does it report that it is closed.
    queueMicrotask(() =>
      inTurn(() => {
        peer.abort()
        closed()
      })
    )
  }

  send(): boolean {
    return true
  }

  finish(): void {}
  abort(): void {}
  resume(): void {}
}

export class WebSocketEnd implements SpliceEnd, FrameHandler {
  /** Bytes of frames made from the client's messages. */
  bytes = 0
  readonly #timers: TimerWheel
  readonly #decoder = new FrameDecoder(this)
  #ws: WebSocket<WebSocketData> | null = null
  #peer: SpliceEnd | null = null
  #closed: () => void = () => {}
  /** Frames that wait for the server, and their size. */
  readonly #ahead = new Pieces()
  #aheadBytes = 0
  #isPeerFull = false
  #isCongested = false

  constructor(timers: TimerWheel) {
    this.#timers = timers
  }

  // --- what the library calls ---

  onOpen(ws: WebSocket<WebSocketData>): void {
    this.#ws = ws
  }

  onClientMessage(message: ArrayBuffer, isBinary: boolean): void {
    if (this.#ws === null) return
    this.#forward(encodeFrame(isBinary ? BINARY : TEXT, new Uint8Array(message)))
  }

  /** The client closed, or is gone (ABNORMAL). Also called by the library when we close. */
  onClientClose(code: number, reason: ArrayBuffer): void {
    if (this.#ws === null) return
    this.#ws = null
    if (code === ABNORMAL) {
      this.#peer?.abort()
      this.#closed()
      return
    }
    this.#forward(encodeClose(code, new Uint8Array(reason)))
    this.#leave()
  }

  onClientDrain(): void {
    if (!this.#isCongested || this.#ws === null || this.#ws.getBufferedAmount() > 0) return
    this.#isCongested = false
    this.#peer?.resume()
  }

  // --- what the other end calls ---

  join(peer: SpliceEnd, closed: () => void): void {
    this.#peer = peer
    this.#closed = closed
    this.#pump()
  }

  send(chunk: Buffer, start: number, end: number, _slot: ReadSlot | null): boolean {
    const ws = this.#ws
    if (ws === null) return true
    ws.cork(() => this.#decoder.execute(chunk, start, end))
    const { fault } = this.#decoder
    if (fault !== null && this.#ws !== null) this.#fail(PROTOCOL_ERROR, INTERNAL_ERROR)
    return !this.#isCongested || this.#ws === null
  }

  /** The server has nothing more to send. After its close frame this end is gone already. */
  finish(): void {
    this.abort()
    this.#peer?.finish()
  }

  abort(): void {
    const ws = this.#ws
    if (ws === null) return
    this.#ws = null
    ws.close()
    this.#closed()
  }

  resume(): void {
    this.#isPeerFull = false
    this.#pump()
  }

  // --- frames of the server ---

  onMessage(isText: boolean, chunk: Buffer, start: number, end: number, first: boolean, last: boolean): void {
    const ws = this.#ws as FragmentSender | null
    if (ws === null) return
    const piece = chunk.subarray(start, end)
    let status: number
    if (first && last) status = ws.send(piece, !isText)
    else if (first) status = ws.sendFirstFragment(piece, !isText)
    else if (last) status = ws.sendLastFragment(piece)
    else status = ws.sendFragment(piece)
    if (status !== SENT) this.#isCongested = true
  }

  onPing(payload: Buffer): void {
    this.#forward(encodeFrame(PONG, payload))
  }

  onClose(code: number, reason: Buffer): void {
    this.#forward(encodeClose(code, reason))
    this.#end(code, reason)
    this.#leave()
  }

  // --- inside ---

  #forward(frame: Buffer): void {
    this.bytes += frame.length
    this.#ahead.push(frame, 0, frame.length)
    this.#aheadBytes += frame.length
    this.#pump()
    // One message may be larger than what is kept: it was taken, so it is passed on.
    if (this.#aheadBytes > AHEAD_BYTES_MAX && this.#aheadBytes > frame.length)
      this.#fail(TRY_AGAIN_LATER, TRY_AGAIN_LATER)
  }

  #pump(): void {
    const peer = this.#peer
    if (peer === null) return
    while (!this.#ahead.isEmpty && !this.#isPeerFull) {
      const frame = this.#ahead.shift()
      this.#aheadBytes -= frame.length
      this.#isPeerFull = !peer.send(frame, 0, frame.length, null)
    }
  }

  /** Gives up on both sides, each with its close code. */
  #fail(toServer: number, toClient: number): void {
    if (this.#ws === null) return
    this.#ahead.drop()
    this.#aheadBytes = 0
    const frame = encodeClose(toServer, new Uint8Array(0))
    this.#peer?.send(frame, 0, frame.length, null)
    this.#end(toClient, Buffer.alloc(0))
    this.#leave()
  }

  #end(code: number, reason: Buffer): void {
    const ws = this.#ws
    if (ws === null) return
    // Before end(): it calls onClientClose.
    this.#ws = null
    if (code === NO_STATUS) ws.end()
    else ws.end(code, reason)
  }

  /** This end is gone; the server gets what is left for it, and a while to close. */
  #leave(): void {
    const peer = this.#peer
    this.#closed()
    if (peer === null) return
    this.#isPeerFull = false
    this.#pumpAll(peer)
    peer.resume()
    peer.finish()
    const timer = new WheelTimer(() => {
      peer.abort()
    })
    this.#timers.arm(timer, turnStartedAt, CLOSE_MS)
  }

  #pumpAll(peer: SpliceEnd): void {
    for (const frame of this.#ahead.list) peer.send(frame, 0, frame.length, null)
    this.#ahead.drop()
  }
}

/** The library's "sent"; otherwise it is congested (0). It drops nothing: WEBSOCKET_SETTINGS. */
const SENT = 1

/** Sends that its types leave out. */
interface FragmentSender {
  send(message: Uint8Array, isBinary: boolean): number
  sendFirstFragment(message: Uint8Array, isBinary: boolean): number
  sendFragment(message: Uint8Array): number
  sendLastFragment(message: Uint8Array): number
}
