import type { Time } from '#engine/contract/time.ts'

/** A clock that stands still, and timers that ring when the test says so. */
export class ManualTime implements Time {
  ms = 0
  #timers: { readonly at: number; readonly call: () => void }[] = []
  #armed: (() => void)[] = []
  readonly now = (): number => this.ms
  readonly wallNow = (): number => this.ms
  readonly random = (): number => 0.5
  readonly after = (ms: number, call: () => void): (() => void) => {
    const timer = { at: this.ms + ms, call }
    this.#timers.push(timer)
    for (const armed of this.#armed.splice(0)) armed()
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** Milliseconds until the next timer; null: there is none. */
  get next(): number | null {
    return this.#timers.length === 0 ? null : Math.min(...this.#timers.map(({ at }) => at)) - this.ms
  }

  pass(ms: number): void {
    const end = this.ms + ms
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers = this.#timers.filter((timer) => timer !== due)
      this.ms = due.at
      due.call()
    }
    this.ms = end
  }

  /** Waits until a timer of at most `msMax` is set, and lets it ring. */
  async passNext(msMax: number): Promise<void> {
    while (this.next === null || this.next > msMax) await new Promise<void>((resolve) => this.#armed.push(resolve))
    this.pass(this.next)
  }
}
