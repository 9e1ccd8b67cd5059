/** Asks a client that says nothing whether it is still there: the settings http2KeepaliveInterval and -Timeout. */
import type { FrontendHttp2 } from '#engine/ir/frontend.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'

export interface Watched {
  /** Sends the question: any sign of life answers it. */
  ask(): void
  /** No answer has come. */
  lost(): void
}

export class AliveWatch {
  readonly #timers: TimerWheel
  readonly #settings: FrontendHttp2
  readonly #watched: Watched
  readonly #timer: WheelTimer
  #heardAt = turnStartedAt
  #isAsked = false

  constructor(timers: TimerWheel, settings: FrontendHttp2, watched: Watched) {
    this.#timers = timers
    this.#settings = settings
    this.#watched = watched
    this.#timer = new WheelTimer(() => this.#onTimeout())
    timers.arm(this.#timer, turnStartedAt, settings.pingIntervalMs)
  }

  /** The timer is not touched: it looks when it was last heard. */
  heard(): void {
    this.#heardAt = turnStartedAt
    this.#isAsked = false
  }

  stop(): void {
    this.#timers.remove(this.#timer)
  }

  #onTimeout(): void {
    const { pingIntervalMs, pingTimeoutMs } = this.#settings
    enterTurn()
    const leftMs = pingIntervalMs - (turnStartedAt - this.#heardAt)
    if (this.#isAsked) this.#watched.lost()
    else {
      const isDue = leftMs <= 0
      this.#isAsked = isDue
      this.#timers.arm(this.#timer, turnStartedAt, isDue ? pingTimeoutMs : leftMs)
      if (isDue) this.#watched.ask()
    }
    leaveTurn()
  }
}
