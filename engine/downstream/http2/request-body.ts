/**
 * What a client sends on a stream behind the head. What the other side does not want yet waits here, within the
 * window that the stream has (RFC 9113 section 5.2): that is all the backpressure there is.
 */
import { windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { DEFAULT_WINDOW, FLOW_CONTROL_ERROR, NO_ERROR, STREAM_CLOSED } from '#engine/http2/protocol.ts'
import { ReceiveWindow } from '#engine/http2/receive-window.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Wire } from '#engine/socket/wire.ts'

/** The connection. */
export interface BodyOwner {
  readonly wire: Wire
  /** Bytes have gone on: the connection's window may open. */
  release(bytes: number): void
}

/** The stream. */
export interface BodyReceiver {
  readonly id: number
  /** The body is not wanted: it is dropped. */
  readonly wantsNothing: boolean
  /** Bytes have come. False: they are too many, or not what was announced, and have been answered. */
  onArrival(length: number): boolean
  /** False: stop until resume(). */
  onPiece(bytes: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  onEnd(trailers: string): void
}

export class RequestBody {
  isPaused: boolean
  /** END_STREAM has come. */
  hasEnded = false
  /** It has been passed on. */
  isPassed = false
  /** Bytes that Content-Length says; -1: it does not. What hooks make of the exchange does not change it. */
  announced = 0
  readonly #owner: BodyOwner
  readonly #receiver: BodyReceiver
  readonly #window: ReceiveWindow
  /** Bytes that the other side has, and has not said that it wants more. */
  #owed = 0
  #pending: Pieces | null = null
  #trailers = ''

  constructor(owner: BodyOwner, receiver: BodyReceiver, windowBytes: number, isPaused: boolean) {
    this.#owner = owner
    this.#receiver = receiver
    // A client that has not read our SETTINGS yet has the window of the RFC.
    this.#window = new ReceiveWindow(windowBytes, Math.max(windowBytes, DEFAULT_WINDOW))
    this.isPaused = isPaused
  }

  /** A piece of DATA: NO_ERROR, or the stream's error. */
  receive(bytes: Buffer, start: number, end: number, flow: number, endStream: boolean, slot: ReadSlot | null): number {
    const length = end - start
    const code = this.hasEnded ? STREAM_CLOSED : this.#window.receive(flow) ? NO_ERROR : FLOW_CONTROL_ERROR
    if (code !== NO_ERROR) {
      this.#owner.release(flow)
      return code
    }
    // Padding goes nowhere.
    this.#release(flow - length)
    if (length > 0) this.#take(bytes, start, end, slot)
    if (endStream) this.end('')
    return NO_ERROR
  }

  #take(bytes: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    if (this.#receiver.wantsNothing || !this.#receiver.onArrival(end - start)) this.#owner.release(end - start)
    else if (this.isPaused || this.#pending !== null) {
      this.#pending ??= new Pieces()
      this.#pending.push(bytes, start, end)
    } else this.#pass(bytes, start, end, slot)
  }

  #pass(bytes: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    const wantsMore = this.#receiver.onPiece(bytes, start, end, slot)
    if (wantsMore || this.#receiver.wantsNothing) this.#release(end - start)
    else {
      this.#owed += end - start
      this.isPaused = true
    }
  }

  /** END_STREAM. `trailers`: their lines. */
  end(trailers: string): void {
    this.hasEnded = true
    this.#trailers = trailers
    this.#passEnd()
  }

  /** Behind everything else; and a tunnel's waits until there is another end. */
  #passEnd(): void {
    if (!this.hasEnded || this.isPassed || this.#pending !== null) return
    if (this.isPaused && this.#owed === 0 && !this.#receiver.wantsNothing) return
    this.isPassed = true
    this.#receiver.onEnd(this.#trailers)
  }

  resume(): void {
    this.isPaused = false
    this.#release(this.#owed)
    this.#owed = 0
    while (this.#pending !== null && !this.isPaused) {
      const piece = this.#pending.shift()
      if (this.#pending.isEmpty) this.#pending = null
      this.#pass(piece, 0, piece.length, null)
    }
    this.#passEnd()
  }

  /** What waits is not wanted any more: it gives back its part of the connection's window. */
  drop(): void {
    const bytes = this.#owed + (this.#pending?.bytes ?? 0)
    this.#pending = null
    this.#owed = 0
    if (bytes > 0) this.#owner.release(bytes)
  }

  #release(bytes: number): void {
    if (bytes === 0) return
    this.#owner.release(bytes)
    const increment = this.hasEnded || this.#receiver.wantsNothing ? 0 : this.#window.release(bytes)
    if (increment > 0) this.#owner.wire.write(windowUpdateFrame(this.#receiver.id, increment))
  }
}
