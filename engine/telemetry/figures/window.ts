/** What had been counted about five minutes ago, for tables that show what has come since. */

/** Snapshots are as far apart; as many are kept: five minutes in all. */
const STEP_SECONDS = 30
const STEPS_KEPT = 10

interface Snapshot<T> {
  readonly second: number
  readonly counts: T
}

export class Window<T> {
  readonly #read: () => T
  readonly #clock: () => number
  /** The oldest first. */
  readonly #past: Snapshot<T>[]

  /** `read`: what has been counted since the start. `clock`: milliseconds that only rise. */
  constructor(read: () => T, clock: () => number) {
    this.#read = read
    this.#clock = clock
    this.#past = [this.#now()]
  }

  /** To be called every second or so. */
  sample(): void {
    if (Math.floor(this.#clock() / 1000) < this.#past.at(-1)!.second + STEP_SECONDS) return
    this.#past.push(this.#now())
    if (this.#past.length > STEPS_KEPT) this.#past.shift()
  }

  /** Since the start, up to `seconds` ago and up to now. */
  look(): { readonly seconds: number; readonly before: T; readonly now: T } {
    const { second, counts } = this.#now()
    const oldest = this.#past[0]!
    return { seconds: second - oldest.second, before: oldest.counts, now: counts }
  }

  #now(): Snapshot<T> {
    return { second: Math.floor(this.#clock() / 1000), counts: this.#read() }
  }
}
