/** The two timeouts of an exchange, of the whole and of the attempt at hand, and the end of what its hooks wait for. */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { abortSignal } from '#engine/contract/exchange-signal.ts'
import { ATTEMPT_WATCH } from '#engine/contract/resilience.ts'
import { grpcTimeoutMs, isGrpc } from '#engine/http/grpc.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'

export class Timeouts {
  readonly #timers: TimerWheel
  readonly #expired: (ex: Exchange, code: ErrorCode) => void

  constructor(timers: TimerWheel, expired: (ex: Exchange, code: ErrorCode) => void) {
    this.#timers = timers
    this.#expired = (ex, code) => {
      if (ex.onTimeout === null || !ex.onTimeout(code)) expired(ex, code)
    }
  }

  startRequest(ex: Exchange): void {
    const { requestTimeoutMs } = ex.route!.settings
    const timeoutMs = ex.client.httpVersion === '2' ? withDeadline(ex, requestTimeoutMs) : requestTimeoutMs
    if (timeoutMs === 0) return
    ex.timer = new WheelTimer(() => this.#expired(ex, 'REQUEST_TIMEOUT'))
    this.#timers.arm(ex.timer, turnStartedAt, timeoutMs)
  }

  startAttempt(ex: Exchange): void {
    const { backendTimeoutMs } = ex.route!.settings
    if (backendTimeoutMs === 0) return
    ex.attemptTimer = new WheelTimer(() => {
      // Not of the whole exchange: its limit may be the client's own, who could have servers ejected by it.
      if (ex.slots !== null && ex.server !== null) ATTEMPT_WATCH.get(ex)?.timedOut()
      this.#expired(ex, 'UPSTREAM_TIMEOUT')
    })
    this.#timers.arm(ex.attemptTimer, turnStartedAt, backendTimeoutMs)
  }

  stop(ex: Exchange): void {
    if (ex.timer !== null) this.#timers.remove(ex.timer)
    if (ex.attemptTimer !== null) this.#timers.remove(ex.attemptTimer)
  }

  over(ex: Exchange): void {
    this.stop(ex)
    if (ex.slots !== null) abortSignal(ex)
  }
}

/** The route's limit, or what a gRPC client says in grpc-timeout if that is less. 0: no limit. */
function withDeadline(ex: Exchange, timeoutMs: number): number {
  if (!isGrpc(ex.method, ex.request)) return timeoutMs
  const own = grpcTimeoutMs(ex.request)
  return own === 0 || (timeoutMs > 0 && timeoutMs <= own) ? timeoutMs : own
}
