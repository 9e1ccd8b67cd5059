/** What uWebSockets.js takes of a response body, and what it leaves with us until the client reads on. */
import { Pieces } from '#engine/kit/pieces.ts'
import type { HttpResponse } from './uws-library.ts'

export class BodyWriter {
  /** The client does not read as fast as we write. */
  isCongested = false
  /** Copies of bytes that wait: for the end of the round, or for the client. Bounded: the upstream is stopped. */
  readonly #held = new Pieces()
  /** Bytes of a sized body that the library has taken. */
  #offset = 0

  get isHolding(): boolean {
    return !this.#held.isEmpty
  }

  keep(bytes: Buffer): void {
    this.#held.push(bytes, 0, bytes.length)
  }

  /** What is held, and `bytes` behind it; from now on the caller's to write. */
  take(bytes: Buffer | null): Buffer[] {
    const pieces = this.#held.list
    this.#held.drop()
    if (bytes !== null) pieces.push(bytes)
    return pieces
  }

  drop(): void {
    this.#held.drop()
  }

  /** Whether `bytes` are the last of a body of `total` bytes. */
  willEnd(bytes: Buffer, total: number): boolean {
    return !this.isHolding && this.#offset + bytes.length === total
  }

  /** Hands over what the kernel takes and keeps a copy of the rest. True: the response is complete and `res` dead. */
  writeSized(res: HttpResponse, bytes: Buffer, total: number): boolean {
    if (this.isHolding) {
      this.keep(bytes)
      return false
    }
    const [isWhole, isDone] = res.tryEnd(bytes, total)
    if (isDone) return true
    this.isCongested = !isWhole
    const taken = isWhole ? bytes.length : res.getWriteOffset() - this.#offset
    this.#offset += taken
    if (taken < bytes.length) this.keep(bytes.subarray(taken))
    return false
  }

  /**
   * The library takes every chunk, however many it has buffered, and does not say how many. So while it
   * is congested one byte is offered: if it could send all it had, the rest may follow.
   */
  writeChunk(res: HttpResponse, bytes: Buffer): void {
    if (this.isHolding) {
      this.keep(bytes)
      return
    }
    let rest = bytes
    if (this.isCongested && bytes.length > 1) {
      rest = bytes.subarray(1)
      this.isCongested = !res.write(bytes.subarray(0, 1))
      if (this.isCongested) {
        this.keep(rest)
        return
      }
    }
    this.isCongested = !res.write(rest)
  }
}
