/** So many log lines in so much time, and how many were left out. */
export class LineBudget {
  readonly #max: number
  readonly #windowMs: number
  readonly #tell: (leftOut: number) => void
  #startedAt = Number.NEGATIVE_INFINITY
  #lines = 0

  /** `tell`: says once for each window how many lines it has left out; never 0. */
  constructor(max: number, windowMs: number, tell: (leftOut: number) => void) {
    this.#max = max
    this.#windowMs = windowMs
    this.#tell = tell
  }

  /** Whether one more line may be written at `now`, in milliseconds. */
  take(now: number): boolean {
    this.look(now)
    if (this.#lines === 0) this.#startedAt = now
    return ++this.#lines <= this.#max
  }

  /** Ends a window that is over. Called now and then, so that its number is told although no line follows. */
  look(now: number): void {
    if (now - this.#startedAt <= this.#windowMs) return
    const leftOut = this.#lines - this.#max
    this.#lines = 0
    if (leftOut > 0) this.#tell(leftOut)
  }
}
