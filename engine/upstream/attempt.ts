/** One exchange that waits for a connection. */

import type { Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { ATTEMPT_WATCH } from '#engine/contract/resilience.ts'
import type { PendingAttempt } from '#engine/contract/transport.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import { DialAttempt, type Dialler } from './dialler.ts'
import { HTTP1, type Version } from './http-version.ts'
import type { Http2Pool } from './http2/pool.ts'
import type { Pool } from './pool.ts'

export class Attempt extends DialAttempt<Pool> implements PendingAttempt {
  readonly ex: Exchange
  /** Where it waits for a stream on a connection that others use too. */
  readonly sharing: Http2Pool[] = []
  /** How it is to be sent. */
  version: Version
  /** It waits for a connection: until its endpoint has taken note that it does so no more. */
  isPending = true
  readonly #onAbort: (attempt: Attempt) => void

  constructor(
    ex: Exchange,
    dialler: Dialler<Pool, Attempt>,
    onAbort: (attempt: Attempt) => void,
    version: Version = HTTP1
  ) {
    super(dialler, ex, ex)
    this.ex = ex
    this.version = version
    this.#onAbort = onAbort
    ex.pending = this
  }

  override get isSharing(): boolean {
    return this.sharing.length > 0
  }

  /** Waits for no connection that others use too. Says whether it did. */
  leaveShared(): boolean {
    const pools = this.sharing.splice(0)
    for (const pool of pools) pool.forget(this)
    return pools.length > 0
  }

  abort(): void {
    this.cancelled = true
    this.ex.pending = null
    this.#onAbort(this)
  }
}

/** One attempt of `ex` takes so long and no longer, unless its route is stricter. */
export function limitAttempt(ex: Exchange, timeoutMs: number, timers: TimerWheel, events: ServerEvents): void {
  const armed = ex.attemptTimer
  if (armed !== null && armed.deadline > 0) {
    if (armed.deadline <= turnStartedAt + timeoutMs) return
    timers.remove(armed)
  }
  ex.attemptTimer = new WheelTimer(() => {
    if (ex.slots !== null) ATTEMPT_WATCH.get(ex)?.timedOut()
    events.onServerFault(ex, 'UPSTREAM_TIMEOUT')
  })
  timers.arm(ex.attemptTimer, turnStartedAt, timeoutMs)
}
