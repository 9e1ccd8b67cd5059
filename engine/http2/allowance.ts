/**
 * How much of something a peer may do: a bucket that fills with time and with useful work. What an attack repeats
 * (resets, pings, empty frames) is cheap to send and costs us; honest peers do it in proportion to what they ask for.
 */
export class Allowance {
  #level: number
  #filledAt: number
  readonly #most: number
  readonly #perMs: number

  /** `now`: milliseconds of any clock that only goes forward. */
  constructor(most: number, perSecond: number, now: number) {
    this.#most = most
    this.#level = most
    this.#perMs = perSecond / 1000
    this.#filledAt = now
  }

  /** False: there is nothing left, ENHANCE_YOUR_CALM. */
  spend(now: number): boolean {
    if (this.#level < 1) {
      // Only now: most peers never get here.
      this.earn((now - this.#filledAt) * this.#perMs)
      this.#filledAt = now
      if (this.#level < 1) return false
    }
    this.#level--
    return true
  }

  earn(amount: number): void {
    this.#level = Math.min(this.#most, this.#level + amount)
  }
}
