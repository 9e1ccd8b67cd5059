/**
 * Shared memory for long bodies: handing one to another thread costs nothing, and sending it needs no copy, because it
 * is never written again once it is full.
 */

/** Shorter bodies have memory of their thread's own. */
export const SHARED_BYTES = 128 * 1024

/**
 * Room for `length` bytes, to be filled at once or as they come. One that could grow has pages of its own, which the
 * kernel clears one by one when they are first written; others may get memory that was used before, and all of it is
 * cleared at once (10 MB: 15 to 30 ms).
 */
export function allocShared(length: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(length, { maxByteLength: length }), 0, length)
}

/** Address space that one GrowingRoom may reserve; it takes memory for what has been put only. */
const GROWING_BYTES_MAX = 256 * 1024 * 1024

/** Room for an unknown number of bytes: it grows where it is, without a copy. */
export class GrowableBuffer {
  readonly #memory: SharedArrayBuffer
  readonly #max: number
  /** Grows with its memory. */
  readonly #bytes: Buffer

  private constructor(memory: SharedArrayBuffer, max: number) {
    this.#memory = memory
    this.#max = max
    this.#bytes = Buffer.from(memory)
  }

  /** With `bytes` at first, and never more than `max`. Null: so much cannot be reserved. */
  static open(bytes: number, max: number): GrowableBuffer | null {
    if (max > GROWING_BYTES_MAX) return null
    try {
      return new GrowableBuffer(new SharedArrayBuffer(Math.min(bytes, max), { maxByteLength: max }), max)
    } catch (error) {
      if (error instanceof RangeError) return null
      throw error
    }
  }

  /** Copies [start, end) of `chunk` to `at`. */
  put(chunk: Buffer, at: number, start: number, end: number): void {
    const length = at + end - start
    const { byteLength } = this.#memory
    if (length > byteLength) this.#memory.grow(Math.min(Math.max(2 * byteLength, length), this.#max))
    chunk.copy(this.#bytes, at, start, end)
  }

  /** The first `length` bytes: they have all been put. */
  first(length: number): Buffer {
    return Buffer.from(this.#memory, 0, length)
  }
}

export function isShared({ buffer }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer
}

/** Bytes from another thread, without a copy. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** `value` as JSON; a long one for other threads too. Throws RangeError when it is nested too deeply. */
export function jsonBytes(value: object): Buffer {
  return textBytes(JSON.stringify(value))
}

/** `text`; a long one for other threads too. */
export function textBytes(text: string): Buffer {
  if (text.length <= SHARED_BYTES) return Buffer.from(text)
  const room = allocShared(Buffer.byteLength(text))
  room.write(text)
  return room
}
