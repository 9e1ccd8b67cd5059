/** A stream that has become one end of a byte pipe: a WebSocket over HTTP/2 (RFC 8441). */
import type { SpliceEnd } from '#engine/contract/transport.ts'
import { CANCEL } from '#engine/http2/protocol.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Http2Stream } from './stream.ts'

export class Tunnel implements SpliceEnd {
  bytes = 0
  readonly #stream: Http2Stream
  #peer: SpliceEnd | null = null
  #closed: () => void = () => {}
  #isGone = false

  constructor(stream: Http2Stream) {
    this.#stream = stream
  }

  join(peer: SpliceEnd, closed: () => void): void {
    this.#peer = peer
    this.#closed = closed
    this.#stream.resumeBody()
  }

  /** Bytes of the client. False: stop until resume(). */
  receive(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    this.bytes += end - start
    return this.#peer!.send(chunk, start, end, slot)
  }

  receiveEnd(): void {
    this.#peer?.finish()
  }

  send(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    return this.#isGone || this.#stream.push(chunk, start, end, slot)
  }

  /** The client takes more again. */
  resumePeer(): void {
    this.#peer?.resume()
  }

  finish(): void {
    this.#stream.finishSending('')
  }

  abort(): void {
    this.#stream.reset(CANCEL)
  }

  resume(): void {
    this.#stream.resumeBody()
  }

  /** The stream is over. One that was broken breaks the other end too. */
  gone(isBroken: boolean): void {
    if (this.#isGone) return
    this.#isGone = true
    const peer = this.#peer
    this.#peer = null
    this.#closed()
    if (isBroken) peer?.abort()
  }
}
