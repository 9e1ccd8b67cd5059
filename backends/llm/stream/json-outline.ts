/**
 * JSON that passes, without its lists and its long strings: what is left says what an answer has cost, and is short,
 * however many pictures are in the answer. Linear: strings are searched for their end, other bytes are looked at once.
 */

/** Strings are short in what is of interest: names and words of settings. Bytes. */
const STRING_BYTES_MAX = 256

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x5b
const CLOSE = 0x5d

export class JsonOutline {
  #lists = 0
  #isInString = false
  /** The bytes so far end with an odd number of backslashes. */
  #isEscaped = false
  #string: Buffer[] = []
  #stringBytes = 0

  /** What is left of bytes [start, end) of `chunk`: pieces of it, or copies. */
  cut(chunk: Buffer, start: number, end: number): Buffer[] {
    const bytes = chunk.subarray(start, end)
    const left: Buffer[] = []
    for (let at = 0; at < bytes.length; )
      at = this.#isInString ? this.#inString(bytes, at, left) : this.#outside(bytes, at, left)
    return left
  }

  /** Up to the next string. */
  #outside(bytes: Buffer, from: number, left: Buffer[]): number {
    let kept = from
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === OPEN) {
        if (this.#lists++ === 0) left.push(bytes.subarray(kept, at + 1))
      } else if (byte === CLOSE && this.#lists > 0) {
        if (--this.#lists === 0) kept = at
      } else if (byte === QUOTE) {
        if (this.#lists === 0) left.push(bytes.subarray(kept, at + 1))
        this.#isInString = true
        return at + 1
      }
    }
    if (this.#lists === 0) left.push(bytes.subarray(kept))
    return bytes.length
  }

  /** Up to its end. */
  #inString(bytes: Buffer, from: number, left: Buffer[]): number {
    const quote = bytes.indexOf(QUOTE, from)
    const end = quote < 0 ? bytes.length : quote
    this.#keep(bytes.subarray(from, end))
    const isEscaped = this.#isEscapedAt(bytes, from, end)
    this.#isEscaped = quote < 0 && isEscaped
    if (quote < 0) return end
    if (isEscaped) {
      this.#keep(bytes.subarray(quote, quote + 1))
      return quote + 1
    }
    if (this.#lists === 0) left.push(...this.#string, bytes.subarray(quote, quote + 1))
    this.#string = []
    this.#stringBytes = 0
    this.#isInString = false
    return quote + 1
  }

  #isEscapedAt(bytes: Buffer, from: number, end: number): boolean {
    let at = end
    while (at > from && bytes[at - 1] === BACKSLASH) at--
    const isOdd = (end - at) % 2 === 1
    return at === from && this.#isEscaped ? !isOdd : isOdd
  }

  /** Of a long string nothing: cut within an escape it would be no JSON. */
  #keep(piece: Buffer): void {
    this.#stringBytes += piece.length
    if (this.#stringBytes > STRING_BYTES_MAX) this.#string = []
    else if (this.#lists === 0) this.#string.push(Buffer.from(piece))
  }
}
