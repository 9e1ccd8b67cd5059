/** A stream that its client gets as it comes, and that is kept when it has ended well. */
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import { OuterTap } from '#backends/llm/stream/outer-tap.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

export class KeepTap extends OuterTap {
  readonly #bytesMax: number
  readonly #keep: (bytes: Buffer) => void
  /** Null: it will not be kept. */
  #pieces: Buffer[] | null = []
  #bytes = 0

  constructor(inner: CostTap, bytesMax: number, keep: (bytes: Buffer) => void) {
    super(inner)
    this.#bytesMax = bytesMax
    this.#keep = keep
  }

  body(ex: Exchange, chunk: Buffer, start: number, end: number): Buffer | null {
    const made = this.inner.body(ex, chunk, start, end)
    if (made === chunk) this.#take(chunk.subarray(start, end))
    else if (made !== null) this.#take(made)
    return made
  }

  override end(ex: Exchange): Buffer | null {
    const rest = super.end(ex)
    if (rest !== null) this.#take(rest)
    const { hasBroken, errorType } = this.cost
    const pieces = this.#pieces
    this.#pieces = null
    if (pieces !== null && !this.isBusy && !hasBroken && errorType === null) this.#keep(Buffer.concat(pieces))
    return rest
  }

  /** What two providers have said is one answer for its client alone. */
  override goesOn(ex: Exchange, code: ErrorCode | null): boolean {
    const goesOn = super.goesOn(ex, code)
    if (goesOn) this.#pieces = null
    return goesOn
  }

  override fault(ex: Exchange, code: ErrorCode): Buffer | null {
    this.#pieces = null
    return super.fault(ex, code)
  }

  #take(bytes: Buffer): void {
    this.#bytes += bytes.length
    // What a tap works on in turns of its own it sends itself: not all of it would be here.
    if (this.isBusy || this.#bytes > this.#bytesMax) this.#pieces = null
    this.#pieces?.push(Buffer.from(bytes))
  }
}
