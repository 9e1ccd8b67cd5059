/**
 * A circuit breaker: what fails is left alone for a while, longer with each failure in a row. When that pause is over
 * it is half open: one attempt goes through, and its outcome closes the breaker or opens it again. The owner keeps the
 * clock: every time is in milliseconds of one monotonic clock.
 */

export interface BreakerSettings {
  /** Pause after the first failure; it doubles with each further one. */
  readonly firstMs: number
  readonly maxMs: number
}

/** More do not lengthen a pause: the longest one is far below 2 ** 16 of the shortest. */
const FAILURES_MAX = 16

export class CircuitBreaker {
  /** Attempts under way that will tell whether it works again. The owner counts them. */
  probes = 0
  readonly #settings: BreakerSettings
  #failures = 0
  #openUntil = 0
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(settings: BreakerSettings) {
    this.#settings = settings
  }

  /** It has not failed since it last worked. */
  get isClosed(): boolean {
    return this.#failures === 0
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures
  }

  get openUntil(): number {
    return this.#openUntil
  }

  /** False while it is open, and while a probe of it is under way. */
  allows(now: number): boolean {
    return this.#failures === 0 || (this.#openUntil <= now && this.probes === 0)
  }

  /** What began before the last failure says nothing of how it is now: it does not close the breaker. */
  succeeded(startedAt = Number.POSITIVE_INFINITY): void {
    if (startedAt < this.#failedAt) return
    this.#failures = 0
    this.#openUntil = 0
  }

  /**
   * Attempts that were under way when another one failed are the same failure: a hundred at once are not a hundred in a
   * row. Without `startedAt` every report is a failure of its own. `pauseOf`: the pause in place of the breaker's own,
   * for jitter and for what the other end asks for.
   */
  failed(now: number, startedAt = Number.POSITIVE_INFINITY, pauseOf?: (ownMs: number) => number): void {
    const isNew = this.#failures === 0 || startedAt > this.#failedAt
    if (isNew) {
      this.#failures = Math.min(this.#failures + 1, FAILURES_MAX)
      this.#failedAt = now
    }
    const { firstMs, maxMs } = this.#settings
    const ownMs = Math.min(firstMs * 2 ** (this.#failures - 1), maxMs)
    const until = now + (pauseOf === undefined ? ownMs : pauseOf(ownMs))
    // A second report of one failure never shortens the pause.
    this.#openUntil = isNew ? until : Math.max(this.#openUntil, until)
  }

  /** Takes over what another thread knows of the same thing; `failures` 0 closes it. */
  adopt(failures: number, openUntil: number): void {
    this.#failures = failures
    this.#openUntil = openUntil
  }
}
