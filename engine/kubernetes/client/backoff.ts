/** Pauses between attempts, each twice as long as the one before, with chance: many clients must not come at once. */
import type { Time } from '#engine/contract/time.ts'

const FIRST_MS = 200
const MS_MAX = 10_000

export class Backoff {
  readonly #time: Pick<Time, 'random'>
  #nextMs = FIRST_MS

  constructor(time: Pick<Time, 'random'>) {
    this.#time = time
  }

  /** How long to wait now. `least`: what the server asks for. */
  pauseMs(least: number | null = null): number {
    const ms = this.#nextMs * (0.5 + this.#time.random() / 2)
    this.#nextMs = Math.min(this.#nextMs * 2, MS_MAX)
    return Math.max(ms, least ?? 0)
  }

  reset(): void {
    this.#nextMs = FIRST_MS
  }
}
