/**
 * Gives memory back when much of it has been let go. Bodies lie outside of V8's heap, which learns that they are
 * garbage at its next collection; when traffic ends after a rush there is none, and 700 MB of them stayed for good.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Less is not worth a collection, which takes 10 to 40 ms of a heap as large as a worker's. */
const WORTH_BYTES = 64 * 1024 * 1024
/** Of the most that was kept, so much may be left. */
const LEFT_PART = 1 / 4

export class Reclaim {
  /** The most that was kept since the last collection. */
  #peakBytes = 0
  #lastBytes = 0
  readonly #collect: () => void

  constructor(collect: () => void = collectGarbage) {
    this.#collect = collect
  }

  /** To be called every now and then with what is kept. */
  look(bytes: number): void {
    const isFalling = bytes < this.#lastBytes
    this.#lastBytes = bytes
    this.#peakBytes = Math.max(this.#peakBytes, bytes)
    // When it has come to rest: a collection in the middle of it would find half.
    if (isFalling || this.#peakBytes < WORTH_BYTES || bytes > this.#peakBytes * LEFT_PART) return
    this.#peakBytes = bytes
    this.#collect()
  }
}

let collector: (() => void) | null = null

/** The one door to it that needs no flag on the command line. */
function collectGarbage(): void {
  if (collector === null) {
    setFlagsFromString('--expose-gc')
    collector = runInNewContext('gc') as () => void
  }
  collector()
}
