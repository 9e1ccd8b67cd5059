/** Where a reply of the gateway's own comes back to from the service. */
import type { BodyOutput } from '#engine/contract/body-processor.ts'

export class ReplyOutput implements BodyOutput {
  /** Null: it is longer than may be kept. */
  readonly whole: Promise<Buffer | null>
  readonly #bytesMax: number
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #done: (whole: Buffer | null) => void = () => {}

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.whole = new Promise((resolve) => {
      this.#done = resolve
    })
  }

  send(chunk: Buffer, start: number, end: number): boolean {
    this.#bytes += end - start
    if (this.#bytes > this.#bytesMax) this.#done(null)
    else this.#pieces.push(Buffer.from(chunk.subarray(start, end)))
    return true
  }

  end(): void {
    this.#done(Buffer.concat(this.#pieces))
  }

  more(): void {}
}
