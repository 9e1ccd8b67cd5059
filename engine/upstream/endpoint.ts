/**
 * One destination: its addresses, their pools, who waits for a connection, and what is tried next
 * when an attempt fails. State of a worker that survives reloads.
 */
import { isIP } from 'node:net'
import type { Destination, Endpoint, EndpointOptions } from '#engine/contract/backend.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { PendingAttempt, ServerEvents } from '#engine/contract/transport.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import { isIdempotent } from '#engine/http/method.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import { TlsClient } from '#engine/socket/tls.ts'
import type { Connected, SocketLayer, Wire } from '#engine/socket/wire.ts'
import { addressGuard } from './guard.ts'
import { Http1Upstream, REPEAT_ALWAYS, REPEAT_IDEMPOTENT, type Repeat } from './h1.ts'
import { Pool, type PoolOwner } from './pool.ts'
import { Resolver } from './resolver.ts'

/** Exchanges that may wait for a connection while the pool is at its limit. */
const WAITERS_MAX = 1024
/** Connections tried for one exchange, over all addresses and repetitions. */
const ATTEMPTS_MAX = 4
/** Addresses of one name that are used. */
const ADDRESSES_MAX = 64

/** What every endpoint of a worker shares. */
export interface UpstreamShared {
  readonly sockets: SocketLayer
  readonly llhttp: Llhttp
  readonly timers: TimerWheel
  readonly events: ServerEvents
  readonly idleTimeoutMs: number
  /** Connections per endpoint. */
  readonly poolMax: number
  readonly requestsPerConnectionMax: number
  readonly observer: UpstreamObserver
}

/** Told about events that metrics count. */
export interface UpstreamObserver {
  connected(): void
  connectFailed(code: string): void
  retried(): void
}

class Attempt implements PendingAttempt {
  readonly ex: Exchange
  readonly timer: WheelTimer
  /** Pools that have been tried without success. */
  readonly tried: Pool[] = []
  cancelled = false
  /** The pool whose address is being dialled, or null; giveUp() ends that. */
  pool: Pool | null = null
  giveUp: () => void = () => {}
  readonly #onAbort: (attempt: Attempt) => void

  constructor(ex: Exchange, onTimeout: (attempt: Attempt) => void, onAbort: (attempt: Attempt) => void) {
    this.ex = ex
    this.#onAbort = onAbort
    this.timer = new WheelTimer(() => onTimeout(this))
    ex.pending = this
  }

  abort(): void {
    this.cancelled = true
    this.ex.pending = null
    this.#onAbort(this)
  }
}

export class EndpointState implements Endpoint, PoolOwner {
  readonly name: string
  readonly hostHeader: string
  readonly isHostname: boolean
  /** Connections that exist or are being made. */
  total = 0
  #pools: Pool[] = []
  #known: readonly unknown[] | null = null
  /** Where #pick starts among addresses that are equally busy; moves when one is used, not when one is looked at. */
  #next = 0
  readonly #waiting: Attempt[] = []
  readonly #destination: Destination
  readonly #options: EndpointOptions
  readonly #resolver: Resolver | null
  readonly #tls: TlsClient | null
  readonly #mayDial: ((ip: string) => boolean) | null
  readonly #shared: UpstreamShared

  constructor(destination: Destination, options: EndpointOptions, shared: UpstreamShared, resolver?: Resolver) {
    const { host, port, unixPath } = destination
    const literal = isIP(host)
    this.#destination = destination
    this.#options = options
    this.#shared = shared
    this.#resolver = unixPath === null ? (resolver ?? new Resolver(host)) : null
    this.#tls = options.tls === null ? null : new TlsClient(options.tls)
    this.#mayDial = options.guarded ? addressGuard(options.allow) : null
    const bracketed = literal === 6 ? `[${host}]` : host
    this.name = unixPath === null ? `${bracketed}:${port}` : `unix:${unixPath}`
    this.hostHeader =
      unixPath !== null ? 'localhost' : port === (options.tls === null ? 80 : 443) ? bracketed : `${bracketed}:${port}`
    this.isHostname = unixPath === null && literal === 0
    if (unixPath !== null) this.#pools = [new Pool(this, { unixPath })]
  }

  get llhttp(): Llhttp {
    return this.#shared.llhttp
  }

  get events(): ServerEvents {
    return this.#shared.events
  }

  get timers(): TimerWheel {
    return this.#shared.timers
  }

  get idleTimeoutMs(): number {
    return this.#shared.idleTimeoutMs
  }

  get requestsPerConnectionMax(): number {
    return this.#shared.requestsPerConnectionMax
  }

  get usable(): boolean {
    return this.#pools.length === 0 || this.#pools.some((pool) => !pool.ejected)
  }

  get idle(): number {
    return this.#pools.reduce((sum, pool) => sum + pool.idle, 0)
  }

  get busy(): number {
    return this.#pools.reduce((sum, pool) => sum + pool.busy, 0)
  }

  /** Sends ex over an idle connection if there is one, else over a new one. */
  send(ex: Exchange): void {
    // HTTP/1.0 clients may name no host; HTTP/1.1 servers want one (RFC 9112 section 3.2).
    if (ex.authority === '') ex.upstreamHost ??= this.hostHeader
    const pool = this.#pick(null)
    if (pool === null || pool.idle === 0) this.#dial(new Attempt(ex, this.#onTimeout, this.#onAbort))
    else this.#reuse(ex, pool)
  }

  /** Sends ex over an idle connection of `pool`, which has one. */
  #reuse(ex: Exchange, pool: Pool): void {
    this.#next++
    ex.attempts++
    ex.endpoint = pool.label
    pool.take()!.begin(ex)
    // Body bytes may have come while a hook or a full pool held the exchange back.
    this.events.onServerReady(ex)
  }

  // --- choosing an address ---

  /** The pools of the addresses known now. */
  #current(): readonly Pool[] {
    const resolver = this.#resolver
    if (resolver === null) return this.#pools
    const { addresses } = resolver
    if (addresses !== this.#known) {
      this.#known = addresses
      const before = this.#pools
      this.#pools = addresses.slice(0, ADDRESSES_MAX).map(({ ip, family }) => {
        const kept = before.find((pool) => 'ip' in pool.address && pool.address.ip === ip)
        return kept ?? new Pool(this, { ip, family, port: this.#destination.port })
      })
      for (const pool of before) if (!this.#pools.includes(pool)) pool.closeIdle()
    }
    return this.#pools
  }

  /** The least busy address that works, among those not in `tried`; the one back soonest if none works. */
  #pick(tried: readonly Pool[] | null): Pool | null {
    const pools = this.#current()
    if (pools.length === 1 && tried === null) return pools[0]!
    let best: Pool | null = null
    const offset = this.#next
    for (let i = 0; i < pools.length; i++) {
      const pool = pools[(offset + i) % pools.length]!
      if (tried?.includes(pool)) continue
      if (best === null || isBetter(pool, best)) best = pool
    }
    return best
  }

  // --- connecting ---

  #dial(attempt: Attempt): void {
    const pools = this.#current()
    if (pools.length === 0) {
      this.#resolveFirst(attempt)
      return
    }
    const pool = this.#pick(attempt.tried)
    if (pool === null) {
      this.#report(attempt, 'CONNECT_FAILURE')
      return
    }
    if (this.#mayDial !== null && 'ip' in pool.address && !this.#mayDial(pool.address.ip)) {
      // One refused address of a name is enough: picking the others would make the guard a lottery.
      this.#report(attempt, 'ADDRESS_REFUSED')
      return
    }
    if (this.total < this.#shared.poolMax) {
      this.#connect(attempt, pool)
      return
    }
    // At the limit an idle connection to another address is better than waiting.
    const other = pools.find(({ idle }) => idle > 0)
    if (other === undefined) this.#queue(attempt)
    else this.#resume(attempt, other)
  }

  #resolveFirst(attempt: Attempt): void {
    this.timers.arm(attempt.timer, performance.now(), this.#options.connectTimeoutMs)
    this.#resolver!.resolve().then(
      () => {
        enterTurn()
        if (!attempt.cancelled) this.#dial(attempt)
        leaveTurn()
      },
      () => {
        enterTurn()
        if (!attempt.cancelled) this.#report(attempt, 'DNS_FAILURE')
        leaveTurn()
      }
    )
  }

  #queue(attempt: Attempt): void {
    if (this.#waiting.length >= WAITERS_MAX) {
      this.#report(attempt, 'UPSTREAM_OVERFLOW')
      return
    }
    this.#waiting.push(attempt)
    this.timers.arm(attempt.timer, performance.now(), this.#options.connectTimeoutMs)
  }

  #connect(attempt: Attempt, pool: Pool): void {
    this.total++
    this.#next++
    attempt.ex.attempts++
    attempt.ex.endpoint = pool.label
    this.timers.arm(attempt.timer, performance.now(), this.#options.connectTimeoutMs)
    attempt.pool = pool
    const done: Connected = (code, wire) => {
      attempt.pool = null
      if (wire !== null) this.#connected(attempt, pool, wire)
      else this.#connectFailed(attempt, pool, code ?? 'EIO')
    }
    attempt.giveUp = this.#shared.sockets.connect(pool.address, done, this.#tls)
  }

  #connected(attempt: Attempt, pool: Pool, wire: Wire): void {
    this.#shared.observer.connected()
    pool.connected()
    const connection = new Http1Upstream(pool, wire)
    const { ex } = attempt
    this.timers.remove(attempt.timer)
    ex.pending = null
    connection.begin(ex)
    this.events.onServerReady(ex)
  }

  #connectFailed(attempt: Attempt, pool: Pool, code: string): void {
    this.#shared.observer.connectFailed(code)
    pool.connectFailed()
    attempt.tried.push(pool)
    this.closed()
    if (attempt.cancelled) return
    // Nothing was sent: the next address may always be tried.
    if (attempt.ex.attempts < ATTEMPTS_MAX && this.#pick(attempt.tried) !== null) this.#dial(attempt)
    else this.#report(attempt, codeOf(code))
  }

  #report(attempt: Attempt, code: ErrorCode): void {
    this.timers.remove(attempt.timer)
    attempt.ex.pending = null
    this.events.onServerFault(attempt.ex, code)
  }

  readonly #onTimeout = (attempt: Attempt): void => {
    const { pool } = attempt
    const waits = this.#waiting.indexOf(attempt)
    enterTurn()
    if (pool !== null) {
      // An address that does not answer is as good as one that refuses: there may be others.
      attempt.pool = null
      attempt.giveUp()
      this.#connectFailed(attempt, pool, 'ETIMEDOUT')
    } else {
      attempt.cancelled = true
      if (waits >= 0) this.#waiting.splice(waits, 1)
      this.#report(attempt, waits >= 0 ? 'UPSTREAM_OVERFLOW' : 'CONNECT_TIMEOUT')
    }
    leaveTurn()
  }

  readonly #onAbort = (attempt: Attempt): void => {
    this.timers.remove(attempt.timer)
    const waits = this.#waiting.indexOf(attempt)
    if (waits >= 0) this.#waiting.splice(waits, 1)
    if (attempt.pool === null) return
    attempt.pool = null
    attempt.giveUp()
    this.closed()
  }

  // --- what pools report ---

  offer(pool: Pool): boolean {
    if (this.#waiting.length === 0) return false
    this.#resume(this.#waiting.shift()!, pool)
    return true
  }

  #resume(attempt: Attempt, pool: Pool): void {
    this.timers.remove(attempt.timer)
    attempt.ex.pending = null
    this.#reuse(attempt.ex, pool)
  }

  closed(): void {
    this.total--
    const attempt = this.#waiting.shift()
    if (attempt !== undefined) this.#dial(attempt)
  }

  failed(ex: Exchange, code: ErrorCode, repeat: Repeat): void {
    const mayRepeat = repeat === REPEAT_ALWAYS || (repeat === REPEAT_IDEMPOTENT && isIdempotent(ex.method))
    if (mayRepeat && ex.attempts < ATTEMPTS_MAX) {
      this.#shared.observer.retried()
      this.#dial(new Attempt(ex, this.#onTimeout, this.#onAbort))
      return
    }
    this.events.onServerFault(ex, code)
  }

  closeIdle(): void {
    for (const pool of this.#pools) pool.closeIdle()
  }
}

/** Codes of the system (E...) are about reaching the server; the others are what TLS finds wrong with it. */
function codeOf(code: string): ErrorCode {
  if (code === 'ETIMEDOUT') return 'CONNECT_TIMEOUT'
  return /^E(?!RR_|PROTO)/.test(code) ? 'CONNECT_FAILURE' : 'UPSTREAM_TLS'
}

function isBetter(pool: Pool, best: Pool): boolean {
  const ejected = pool.ejected
  if (ejected !== best.ejected) return !ejected
  return ejected ? pool.ejectedUntil < best.ejectedUntil : pool.busy < best.busy
}
