/** How many retries a stream of requests may cause: without a bound they multiply the outage that they answer. */

/** Seconds that the share is taken over. */
const WINDOW_S = 10

export interface BudgetLimits {
  /** Retries per hundred requests of the window. */
  readonly percent: number
  /** Retries in every second, whatever the share: with few requests a share of them is nothing. */
  readonly minPerSecond: number
}

/** Counts in one slot per second; a sum is kept, so a question costs the same at every load. */
export class RetryBudget {
  readonly #limits: BudgetLimits
  readonly #requests = new Float64Array(WINDOW_S)
  readonly #retries = new Float64Array(WINDOW_S)
  #requestsSum = 0
  #retriesSum = 0
  #second = 0

  constructor(limits: BudgetLimits) {
    this.#limits = limits
  }

  /** A request begins. `nowMs`: any monotonic clock, the same for every call. */
  request(nowMs: number): void {
    this.#requests[this.#advance(nowMs)]!++
    this.#requestsSum++
  }

  /** Takes one retry out of the budget, or says that nothing is left of it. */
  take(nowMs: number): boolean {
    const slot = this.#advance(nowMs)
    const { percent, minPerSecond } = this.#limits
    const isWithin = (this.#retriesSum + 1) * 100 <= this.#requestsSum * percent
    if (!isWithin && this.#retries[slot]! >= minPerSecond) return false
    this.#retries[slot]!++
    this.#retriesSum++
    return true
  }

  /** Forgets the seconds that have left the window; returns the slot of this one. */
  #advance(nowMs: number): number {
    const second = Math.floor(nowMs / 1000)
    const stale = Math.min(second - this.#second, WINDOW_S)
    for (let i = 0; i < stale; i++) {
      const slot = (second - i) % WINDOW_S
      this.#requestsSum -= this.#requests[slot]!
      this.#retriesSum -= this.#retries[slot]!
      this.#requests[slot] = 0
      this.#retries[slot] = 0
    }
    if (second > this.#second) this.#second = second
    return this.#second % WINDOW_S
  }
}
