/** One end of a byte pipe: a wire whose bytes pass through unread, with backpressure both ways. */
import { FLUSH_MS, keepLingering, stopLingering } from './linger.ts'
import type { ReadSlot } from './memory.ts'
import { inTurn } from './round.ts'
import { BULK_BODY, type Wire, type WireOwner } from './wire.ts'

/** The other end, as a pipe sees it. */
interface Peer {
  send(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  finish(): void
  abort(): void
  resume(): void
}

export class PipeEnd implements WireOwner {
  /** Bytes received from this end's connection. */
  bytes = 0
  #peer: Peer | null = null
  #closed: () => void = () => {}
  #kept: Buffer | null = null
  #readEnded = false
  #writeEnded = false
  #gone = false
  #paused = false
  readonly #wire: Wire
  readonly #memory: Buffer
  readonly #onGone: () => void
  readonly #stallMs: number

  /**
   * `memory`: the thread's read memory, into which positions point. `onGone`: this end's connection is over.
   * `stallMs`: how long the other end may take nothing; meanwhile this wire is not read, and would not even
   * notice that its peer has gone.
   */
  constructor(wire: Wire, memory: Buffer, onGone: () => void = () => {}, stallMs = FLUSH_MS) {
    this.#wire = wire
    this.#memory = memory
    this.#onGone = onGone
    this.#stallMs = stallMs
    wire.owner = this
    wire.bulk = BULK_BODY
  }

  /** Bytes that were received before there was a pipe; they are the first to pass. */
  keep(bytes: Buffer): void {
    this.#kept = this.#kept === null ? bytes : Buffer.concat([this.#kept, bytes])
  }

  join(peer: Peer, closed: () => void): void {
    this.#peer = peer
    this.#closed = closed
    const kept = this.#kept
    this.#kept = null
    if (kept !== null) this.#pass(kept, 0, kept.length, null)
    if (!this.#paused) this.#wire.resume()
  }

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    if (this.#peer === null) this.keep(Buffer.from(this.#memory.subarray(start, end)))
    else this.#pass(this.#memory, start, end, slot)
  }

  #pass(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    this.bytes += end - start
    if (this.#peer!.send(chunk, start, end, slot)) return
    this.#paused = true
    this.#wire.pause()
    keepLingering(this, this.#stallMs)
  }

  send(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    if (this.#gone || this.#writeEnded) return true
    this.#wire.writeBytes(chunk, start, end, slot)
    return !this.#wire.congested
  }

  resume(): void {
    if (!this.#paused || this.#gone) return
    this.#paused = false
    stopLingering(this)
    this.#wire.resume()
  }

  onDrain(): void {
    this.#peer?.resume()
  }

  onEnd(): void {
    this.#readEnded = true
    this.#peer?.finish()
    if (this.#writeEnded) this.#end(false)
  }

  finish(): void {
    if (this.#gone || this.#writeEnded) return
    this.#writeEnded = true
    if (this.#readEnded) this.#end(false)
    else this.#wire.finish()
  }

  onError(_code: string): void {
    this.#end(true)
    this.#peer?.abort()
  }

  /** Ends both sides now. */
  cut(): void {
    inTurn(() => this.onError('ECONNABORTED'))
  }

  abort(): void {
    if (!this.#gone) inTurn(() => this.#end(true))
  }

  /** The other end has taken nothing for too long. */
  destroy(): void {
    const peer = this.#peer
    this.abort()
    peer?.abort()
  }

  #end(now: boolean): void {
    if (this.#gone) return
    this.#gone = true
    if (this.#paused) stopLingering(this)
    // Not an orderly end: a peer that reads to the end must not take it for one.
    if (now) this.#wire.reset()
    else this.#wire.close(false)
    this.#onGone()
    this.#closed()
  }
}
