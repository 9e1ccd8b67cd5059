/**
 * The bytes of server-sent events that pass as they are, whole events only: so a comment may stand between any two,
 * and an error behind the last, whenever they are needed. Each byte is looked at a bounded number of times.
 */
import { SSE_EVENT_BYTES_MAX } from '#engine/http/sse.ts'
import { Pieces } from '#engine/kit/pieces.ts'

const LF = 10
const CR = 13

export class EventBytes {
  readonly #held = new Pieces()
  #heldBytes = 0
  /** The line that the next byte belongs to is empty so far. */
  #isLineEmpty = true
  #afterCr = false
  /** That CR was an empty line. */
  #isEndAfterCr = false
  /** An event longer than any: from here on bytes pass as they come. */
  #isRaw = false

  /** Whether something may be put behind what has been passed. */
  get isBetween(): boolean {
    return !this.#isRaw
  }

  /** What has become whole with bytes [start, end) of `chunk`: `chunk` for just these, a copy, or null for nothing. */
  take(chunk: Buffer, start: number, end: number): Buffer | null {
    if (this.#isRaw) return chunk
    if (start === end) return null
    const length = this.#lastEnd(chunk, start, end)
    if (length === end - start && this.#heldBytes === 0) return chunk
    if (length < 0) {
      this.#hold(chunk, start, end)
      return this.#heldBytes > SSE_EVENT_BYTES_MAX ? this.#giveUp() : null
    }
    const whole = Buffer.concat([...this.#held.list, chunk.subarray(start, start + length)])
    this.#held.drop()
    this.#heldBytes = 0
    this.#hold(chunk, start + length, end)
    return whole
  }

  /** The rest of an unfinished event. */
  rest(): Buffer | null {
    if (this.#heldBytes === 0) return null
    const rest = this.#held.whole
    this.#held.drop()
    this.#heldBytes = 0
    return rest
  }

  /** Bytes from `start` to behind the last empty line; -1 when there is none. */
  #lastEnd(chunk: Buffer, start: number, end: number): number {
    // A piece ends with one, as a rule.
    if (end - start > 1 && chunk[end - 1] === LF && chunk[end - 2] === LF) {
      this.#isLineEmpty = true
      this.#afterCr = false
      this.#isEndAfterCr = false
      return end - start
    }
    const bytes = chunk.subarray(start, end)
    if (this.#afterCr || bytes.includes(CR)) return this.#lastEndAnyLine(bytes)
    const pair = bytes.lastIndexOf('\n\n', undefined, 'latin1')
    const cut = pair >= 0 ? pair + 2 : this.#isLineEmpty && bytes[0] === LF ? 1 : -1
    this.#isLineEmpty = bytes[bytes.length - 1] === LF
    return cut
  }

  /** The same where lines may also end with CR, or CR and LF: after a CR the next byte tells which. */
  #lastEndAnyLine(bytes: Buffer): number {
    let last = -1
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]
      const isSecondHalf = byte === LF && this.#afterCr
      if (this.#isEndAfterCr) last = isSecondHalf ? i + 1 : i
      this.#isEndAfterCr = byte === CR && this.#isLineEmpty
      this.#afterCr = byte === CR
      if (byte !== LF && byte !== CR) this.#isLineEmpty = false
      else if (!isSecondHalf) {
        if (byte === LF && this.#isLineEmpty) last = i + 1
        this.#isLineEmpty = true
      }
    }
    return last
  }

  #hold(chunk: Buffer, start: number, end: number): void {
    if (start === end) return
    this.#held.push(chunk, start, end)
    this.#heldBytes += end - start
  }

  #giveUp(): Buffer | null {
    this.#isRaw = true
    return this.rest()
  }
}
