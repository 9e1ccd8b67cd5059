/** One exchange that waits for a connection, and the connections that are being made for it. */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { PendingAttempt, ServerEvents } from '#engine/contract/transport.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'
import type { TlsOutcome } from '#engine/socket/socket-layer.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { Holder } from './fair-queue.ts'
import { HTTP1, type Version } from './http-version.ts'
import { type Http2Pool, NOT_HTTP2 } from './http2/pool.ts'
import type { Pool } from './pool.ts'

/** One connection that is being made. */
export interface Dial extends Holder {
  readonly pool: Pool
  giveUp: () => void
}

/** Whoever makes connections for attempts. */
export interface AttemptOwner {
  onTimeout(attempt: Attempt): void
  /** The addresses dialled so far let one wait: time to try another beside them (RFC 8305 section 5). */
  onSlow(attempt: Attempt): void
  onAbort(attempt: Attempt): void
}

export class Attempt implements PendingAttempt {
  readonly ex: Exchange
  /** Of the last connection that was begun, or of waiting. */
  readonly timer: WheelTimer
  readonly slow: WheelTimer
  /** Pools that have been tried. */
  readonly tried: Pool[] = []
  /** Under way, the eldest first. */
  readonly dials: Dial[] = []
  cancelled = false
  /** Where it waits for room on a connection that others use too. */
  readonly sharing: Http2Pool[] = []
  /** How it is to be sent. */
  version: Version
  readonly #owner: AttemptOwner

  constructor(ex: Exchange, owner: AttemptOwner, version: Version = HTTP1) {
    this.ex = ex
    this.version = version
    this.#owner = owner
    this.timer = new WheelTimer(() => owner.onTimeout(this))
    this.slow = new WheelTimer(() => owner.onSlow(this))
    ex.pending = this
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
    this.#owner.onAbort(this)
  }

  /** `dial` is no longer under way. False: it was not any more. */
  over(dial: Dial): boolean {
    const index = this.dials.indexOf(dial)
    if (index >= 0) this.dials.splice(index, 1)
    return index >= 0
  }
}

/**
 * Null: a connection for HTTP/1.1 has been made; else why not. Settings may have left the server no choice but HTTP/2,
 * and a request of HTTP/1.1 would only make it close.
 */
export function dialFault(code: string | null, wire: Wire | null, tls?: TlsOutcome): DialFault | null {
  if (wire === null) return { code: code ?? 'EIO', tls }
  if (tls?.protocol !== 'h2') return null
  wire.destroy()
  return { code: 'ERR_ALPN', tls: { ...tls, reason: 'it agreed to h2 alone, and this is HTTP/1.1: allow it in alpn' } }
}

interface DialFault {
  readonly code: string
  readonly tls: TlsOutcome | undefined
}

/** Codes of the system (E...) are about reaching the server; the others are what TLS finds wrong with it. */
export function codeOf(code: string): ErrorCode {
  if (code === 'ETIMEDOUT') return 'CONNECT_TIMEOUT'
  if (code === NOT_HTTP2) return 'UPSTREAM_NOT_HTTP2'
  return /^E(?!RR_|PROTO)/.test(code) ? 'CONNECT_FAILURE' : 'UPSTREAM_TLS'
}

/** One attempt of `ex` takes so long and no longer, unless its route is stricter. */
export function limitAttempt(ex: Exchange, timeoutMs: number, timers: TimerWheel, events: ServerEvents): void {
  const armed = ex.attemptTimer
  if (armed !== null && armed.deadline > 0) {
    if (armed.deadline <= turnStartedAt + timeoutMs) return
    timers.remove(armed)
  }
  ex.attemptTimer = new WheelTimer(() => {
    enterTurn()
    events.onServerFault(ex, 'UPSTREAM_TIMEOUT')
    leaveTurn()
  })
  timers.arm(ex.attemptTimer, turnStartedAt, timeoutMs)
}
