/** Memory in which the wires of a round gather what they send (docs/design/006-how-bytes-leave.md). */
import { endRoundSoon, roundsEnded } from './round.ts'

/**
 * How bytes leave, by size: the shortest as one latin1 string with the text around them, longer ones gathered in the
 * outbox, the longest as views of where they arrived (copying doubles the cost of 1 MB). Figures in
 * docs/performance.md.
 */
export const TEXT_BYTES_MAX = 1536
export const GATHER_BYTES_MAX = 16 * 1024
/** Likewise of bytes whose memory has another owner: they must be copied. */
export const COPY_BYTES_MAX = 64 * 1024

const OUTBOX_BYTES = 256 * 1024

export class Outbox {
  readonly bytes = Buffer.allocUnsafeSlow(OUTBOX_BYTES)
  /** Where the next bytes of this round go. */
  used = 0
  /** What lies before it may be the kernel's to read for as long as a peer takes nothing. */
  #base = 0
  /** The round (roundsEnded) that `used` belongs to. */
  #round = -1

  /** What earlier rounds have gathered has left. */
  beginRound(): void {
    if (this.#round === roundsEnded) return
    this.#round = roundsEnded
    this.used = this.#base
  }

  fits(count: number): boolean {
    return this.used + count <= OUTBOX_BYTES
  }

  /** Adds to the region that was added to last. */
  addText(text: string): void {
    this.bytes.latin1Write(text, this.used)
    this.used += text.length
  }

  add(chunk: Buffer, start: number, end: number): void {
    chunk.copy(this.bytes, this.used, start, end)
    this.used += end - start
    if (!this.fits(COPY_BYTES_MAX)) endRoundSoon()
  }

  /** The kernel has not taken all up to `end`. Says whether it is time for another outbox. */
  keep(end: number): boolean {
    if (end > this.#base) this.#base = end
    return this.#base > OUTBOX_BYTES / 2
  }
}
