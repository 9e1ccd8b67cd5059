/** Where a reply of the gateway's own comes back to from the service. */
import type { BodyOutput } from '#engine/contract/body-processor.ts'

export class ReplyOutput implements BodyOutput {
  /** A text says why there is none; null: it stays as it was. */
  readonly whole: Promise<Buffer | string | null>
  readonly #bytesMax: number
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #done: (whole: Buffer | string | null) => void = () => {}

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.whole = new Promise((resolve) => {
      this.#done = resolve
    })
  }

  send(chunk: Buffer, start: number, end: number): boolean {
    this.#bytes += end - start
    if (this.#bytes > this.#bytesMax) this.#done('it makes more of a reply than may be kept')
    else this.#pieces.push(Buffer.from(chunk.subarray(start, end)))
    return true
  }

  end(): void {
    this.#done(Buffer.concat(this.#pieces))
  }

  more(): void {}

  /** The service is gone, and the reply goes on without it. */
  giveUp(): void {
    this.#done(null)
  }
}
