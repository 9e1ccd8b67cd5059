/** Bytes that come in pieces -> lines of text, each of a bounded length. */

const LF = 10

export class LineSplitter {
  readonly #bytesMax: number
  readonly #line: (text: string) => void
  readonly #tooLong: () => void
  #pieces: Buffer[] = []
  #bytes = 0
  /** The line is too long: its rest is thrown away. */
  #isSkipping = false
  /** Bytes thrown away of the line that runs. */
  skippedBytes = 0

  /** `tooLong` is called once per line of more than `bytesMax` bytes, which is left out. */
  constructor(bytesMax: number, line: (text: string) => void, tooLong: () => void) {
    this.#bytesMax = bytesMax
    this.#line = line
    this.#tooLong = tooLong
  }

  push(chunk: Buffer): void {
    let at = 0
    for (;;) {
      const end = chunk.indexOf(LF, at)
      if (end < 0) break
      this.#take(chunk, at, end)
      this.#finish()
      at = end + 1
    }
    if (at < chunk.length) this.#take(chunk, at, chunk.length)
  }

  #take(chunk: Buffer, start: number, end: number): void {
    const length = end - start
    if (this.#isSkipping) {
      this.skippedBytes += length
      return
    }
    this.#bytes += length
    if (this.#bytes > this.#bytesMax) {
      this.#isSkipping = true
      this.skippedBytes = this.#bytes
      this.#pieces = []
      this.#tooLong()
    } else if (length > 0) this.#pieces.push(chunk.subarray(start, end))
  }

  #finish(): void {
    const pieces = this.#pieces
    const isWhole = !this.#isSkipping && this.#bytes > 0
    this.#pieces = []
    this.#bytes = 0
    this.#isSkipping = false
    this.skippedBytes = 0
    if (isWhole) this.#line((pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)).toString('utf8'))
  }
}
