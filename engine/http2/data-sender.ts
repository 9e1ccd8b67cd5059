/**
 * DATA frames of a connection, within the windows of the peer (RFC 9113 section 5.2), for both sides of the gateway. A
 * stream whose bytes do not fit waits, and those that wait take turns, a frame each.
 */
import { frameHead } from '#engine/http2/frame-writer.ts'
import { DATA, DEFAULT_FRAME_BYTES, DEFAULT_WINDOW } from '#engine/http2/protocol.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Wire } from '#engine/socket/wire.ts'

/** A longer frame saves nothing, and makes the other streams wait. */
const FRAME_BYTES_MAX = 64 * 1024

/** For DataSender: a client asks for nothing with a window that cuts frames shorter than this (CVE-2019-9511). */
export const USEFUL_BYTES = 1024

/** A stream that sends. */
export interface SendingStream {
  readonly id: number
  /** What its peer takes on it. */
  sendWindow: number
  /** Bytes wait for a window. */
  readonly hasUnsent: boolean
  /** Sends one frame of what waits. */
  sendPending(): void
  /** Nothing waits any more: neither for windows nor for the wire. */
  onSent(): void
}

export class DataSender {
  /** What the peer takes on the connection. */
  window = DEFAULT_WINDOW
  /** DATA frames that have left: what the peer's WINDOW_UPDATEs answer. */
  frames = 0
  #frameBytes = DEFAULT_FRAME_BYTES
  /** Streams with unsent bytes, and streams that wait for the wire alone. */
  readonly #forWindow = new Set<SendingStream>()
  readonly #forWire = new Set<SendingStream>()
  readonly #wire: Wire
  readonly #usefulBytes: number

  /** `usefulBytes`: a frame that a window cuts shorter than this is none of `frames`. */
  constructor(wire: Wire, usefulBytes: number) {
    this.#wire = wire
    this.#usefulBytes = usefulBytes
  }

  get frameBytes(): number {
    return this.#frameBytes
  }

  /** The peer's SETTINGS_MAX_FRAME_SIZE. */
  set frameBytes(bytes: number) {
    this.#frameBytes = Math.min(bytes, FRAME_BYTES_MAX)
  }

  /** Sends as much of [start, end) as there is room for: where the rest begins. */
  send(stream: SendingStream, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): number {
    let at = start
    while (at < end) {
      const next = this.sendFrame(stream, chunk, at, end, slot)
      if (next === at) break
      at = next
    }
    return at
  }

  sendFrame(stream: SendingStream, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): number {
    const wanted = Math.min(end - start, this.#frameBytes)
    const length = Math.min(wanted, stream.sendWindow, this.window)
    if (length <= 0) return start
    stream.sendWindow -= length
    this.window -= length
    if (length === wanted || length >= this.#usefulBytes) this.frames++
    this.#wire.write(frameHead(length, DATA, 0, stream.id))
    this.#wire.writeBytes(chunk, start, start + length, slot)
    return start + length
  }

  /** Until there is a window for its bytes, or the wire has taken what was written. */
  wait(stream: SendingStream): void {
    if (stream.hasUnsent) this.#forWindow.add(stream)
    else this.#forWire.add(stream)
  }

  /** It is over: one that ends while it waits must not be kept until its turn comes. */
  forget(stream: SendingStream): void {
    this.#forWindow.delete(stream)
    this.#forWire.delete(stream)
  }

  /** A window has opened, or the wire has drained. A byte of window must not make us look at all that wait for it. */
  flush(): void {
    for (const stream of this.#forWire) {
      if (this.#wire.congested) return
      this.#forWire.delete(stream)
      if (!stream.hasUnsent) stream.onSent()
    }
    // Those that are put back come round again.
    for (const stream of this.#forWindow) {
      if (this.window <= 0 || this.#wire.congested) return
      this.#forWindow.delete(stream)
      // Its own WINDOW_UPDATE brings it back.
      if (stream.sendWindow <= 0) continue
      stream.sendPending()
      if (stream.hasUnsent) this.#forWindow.add(stream)
      else stream.onSent()
    }
  }
}
