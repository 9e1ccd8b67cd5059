/** The two timeouts of an exchange: of the whole, and of the attempt at hand. */
import type { ErrorCode } from './contract/errors.ts'
import type { Exchange } from './contract/exchange.ts'
import { type TimerWheel, WheelTimer } from './kit/timer-wheel.ts'
import { enterTurn, leaveTurn, turnStartedAt } from './socket/round.ts'

export class Timeouts {
  readonly #timers: TimerWheel
  readonly #expired: (ex: Exchange, code: ErrorCode) => void

  constructor(timers: TimerWheel, expired: (ex: Exchange, code: ErrorCode) => void) {
    this.#timers = timers
    this.#expired = (ex, code) => {
      enterTurn()
      if (ex.onTimeout === null || !ex.onTimeout(code)) expired(ex, code)
      leaveTurn()
    }
  }

  startRequest(ex: Exchange): void {
    const { requestTimeoutMs } = ex.route!.settings
    if (requestTimeoutMs === 0) return
    ex.timer = new WheelTimer(() => this.#expired(ex, 'REQUEST_TIMEOUT'))
    this.#timers.arm(ex.timer, turnStartedAt, requestTimeoutMs)
  }

  startAttempt(ex: Exchange): void {
    const { backendTimeoutMs } = ex.route!.settings
    if (backendTimeoutMs === 0) return
    ex.attemptTimer = new WheelTimer(() => this.#expired(ex, 'UPSTREAM_TIMEOUT'))
    this.#timers.arm(ex.attemptTimer, turnStartedAt, backendTimeoutMs)
  }

  stop(ex: Exchange): void {
    if (ex.timer !== null) this.#timers.remove(ex.timer)
    if (ex.attemptTimer !== null) this.#timers.remove(ex.attemptTimer)
  }
}
