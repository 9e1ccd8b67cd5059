/**
 * One destination: its addresses, their pools, who waits for a connection, and what is tried next
 * when an attempt fails. State of a worker that survives reloads.
 */
import type { Endpoint } from '#engine/contract/backend.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isIdempotent } from '#engine/http/method.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import type { Connected, DialOptions, TlsOutcome } from '#engine/socket/socket-layer.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { addressGuard } from './address-guard.ts'
import { AddressPools } from './address-pools.ts'
import { Attempt, type AttemptOwner, codeOf, type Dial, dialFault, limitAttempt } from './attempt.ts'
import type { DestinationState } from './destination.ts'
import { EndpointFacts } from './endpoint-facts.ts'
import { EITHER, HTTP1, type Version, versionFor } from './http-version.ts'
import { type Http1Upstream, REPEAT_ALWAYS, REPEAT_IDEMPOTENT, type Repeat } from './http1/connection.ts'
import { ConnectionQueue, type QueueOwner } from './http1/connection-queue.ts'
import type { Pool, PoolOwner } from './pool.ts'
import type { UpstreamShared } from './shared.ts'

/** Connections tried for one exchange, over all addresses and repetitions. */
const ATTEMPTS_MAX = 4
/** RFC 8305 section 8: how long an address may take before another one is tried beside it. */
const SLOW_MS = 250
/** The same trouble with a destination is told of so often. */
const SAME_FAULT_MS = 60_000

export class EndpointState extends EndpointFacts implements Endpoint, PoolOwner, AttemptOwner, QueueOwner {
  /** Connections that exist or are being made. */
  total = 0
  readonly #addresses: AddressPools
  readonly #queue = new ConnectionQueue(this)
  /** What was last wrong with its TLS, and when that was told. */
  #fault = { reason: '', at: 0 }

  constructor(destination: DestinationState, shared: UpstreamShared) {
    super(destination, shared)
    const { guarded, allow } = destination.options
    this.#addresses = new AddressPools(this, destination, guarded ? addressGuard(allow) : null)
  }

  /** As they were when somebody last looked for one. */
  get pools(): readonly Pool[] {
    return this.#addresses.pools
  }

  get connectionsMax(): number {
    return this.shared.poolMax
  }

  get usable(): boolean {
    const pools = this.#addresses.current()
    return pools.length === 0 || pools.some((pool) => !pool.health.ejected)
  }

  get idle(): number {
    return this.#addresses.pools.reduce((sum, pool) => sum + pool.idle + pool.http2.idle, 0)
  }

  get busy(): number {
    return this.#addresses.pools.reduce((sum, pool) => sum + pool.busy, 0)
  }

  /** Sends ex over an idle connection if there is one, else over a new one. */
  send(ex: Exchange): void {
    // HTTP/1.0 clients may name no host; HTTP/1.1 servers want one (RFC 9112 section 3.2).
    if (ex.authority === '') ex.upstreamHost ??= this.hostHeader
    const { http } = this.destination.options
    if (http !== undefined) {
      if (http.requestTimeoutMs > 0) limitAttempt(ex, http.requestTimeoutMs, this.timers, this.events)
      const version = versionFor(ex, http.version)
      if (version !== HTTP1) {
        if (typeof version === 'string') this.events.onServerFault(ex, version)
        else this.#sendShared(ex, version)
        return
      }
    }
    const pool = this.#addresses.pick(null)
    const connection = this.#queue.mayTake(ex) ? pool?.take() : undefined
    if (connection === undefined) this.dial(new Attempt(ex, this))
    else this.#reuse(ex, pool!, connection)
  }

  /** Sends ex by HTTP/2: over a connection with room if there is one, else when there is. */
  #sendShared(ex: Exchange, version: Version): void {
    const pool = this.#addresses.pick(null)
    if (pool?.http2.begin(ex) === true) this.#addresses.next++
    else this.dial(new Attempt(ex, this, version))
  }

  /** Sends ex over `connection`, which has been taken from `pool`. */
  #reuse(ex: Exchange, pool: Pool, connection: Http1Upstream): void {
    this.#addresses.next++
    ex.attempts++
    ex.endpoint = pool.label
    connection.begin(ex)
    this.#queue.acquired(connection)
    // Body bytes may have come while a hook or a full pool held the exchange back.
    this.events.onServerReady(ex)
  }

  // --- connecting ---

  dial(attempt: Attempt): void {
    const pools = this.#addresses.current()
    if (pools.length === 0) {
      this.#resolveFirst(attempt)
      return
    }
    if (this.#addresses.hasRefusedAddress) {
      // One refused address of a name is enough: picking the others would make the guard a lottery.
      this.#lose(attempt)
      this.report(attempt, 'ADDRESS_REFUSED')
      return
    }
    const pool = this.#addresses.pick(attempt.tried)
    if (pool === null) {
      this.report(attempt, 'CONNECT_FAILURE')
      return
    }
    if (attempt.version === EITHER && pool.health.declined) {
      attempt.version = HTTP1
      attempt.leaveShared()
    }
    if (attempt.version !== HTTP1) {
      if (!pool.http2.resume(attempt)) pool.http2.wait(attempt)
      return
    }
    const isFirst = attempt.dials.length === 0
    if (isFirst && !this.#queue.mayTake(attempt.ex)) {
      this.#enqueue(attempt)
      return
    }
    if (this.mayConnect()) {
      this.#connect(attempt, pool)
      return
    }
    if (!isFirst) return
    // At the limit an idle connection to another address is better than waiting.
    for (const other of pools) {
      const connection = other.take()
      if (connection === undefined) continue
      this.#resume(attempt, other, connection)
      return
    }
    // Those that were too old to be taken are closed now, and have woken nobody: this one is not waiting yet.
    if (this.mayConnect()) this.#connect(attempt, pool)
    else this.#enqueue(attempt)
  }

  #resolveFirst(attempt: Attempt): void {
    this.timers.arm(attempt.timer, performance.now(), this.destination.options.connectTimeoutMs)
    this.destination.resolver!.resolve().then(
      () => {
        enterTurn()
        // Its time was for the name. Who waits for a shared connection has no clock: the dial has one.
        this.timers.disarm(attempt.timer)
        if (!attempt.cancelled) this.dial(attempt)
        leaveTurn()
      },
      () => {
        enterTurn()
        attempt.ex.endpoint = this.name
        if (!attempt.cancelled) this.report(attempt, 'DNS_FAILURE')
        leaveTurn()
      }
    )
  }

  #enqueue(attempt: Attempt): void {
    this.timers.arm(attempt.timer, performance.now(), this.destination.options.connectTimeoutMs)
    const dropped = this.#queue.add(attempt)
    if (dropped !== null) this.report(dropped, 'UPSTREAM_OVERFLOW')
  }

  /** Behind mayConnect(). */
  #connect(attempt: Attempt, pool: Pool): void {
    this.#addresses.next++
    attempt.ex.attempts++
    attempt.ex.endpoint = pool.label
    attempt.tried.push(pool)
    pool.health.dialling()
    const now = performance.now()
    this.timers.arm(attempt.timer, now, this.destination.options.connectTimeoutMs)
    if (this.#mayTryOther(attempt)) this.timers.arm(attempt.slow, now, SLOW_MS)
    const dial: Dial = { pool, exchange: attempt.ex, giveUp: () => {} }
    attempt.dials.push(dial)
    this.#queue.dialling(dial)
    const done: Connected = (code, wire, tls) => {
      if (!attempt.over(dial)) return
      this.#queue.dialled(dial)
      const fault = dialFault(code, wire, tls)
      if (fault === null) this.#connected(attempt, pool, wire!, tls)
      else this.#connectFailed(attempt, pool, fault.code, fault.tls)
    }
    dial.giveUp = this.shared.sockets.connect(pool.address, done, this.destination.tls, this.#dialOptions(attempt))
  }

  #dialOptions(attempt: Attempt): DialOptions {
    const { keepaliveMs } = this.destination.options
    const { preamble } = this
    const reached = () => this.timers.disarm(attempt.slow)
    return keepaliveMs === undefined ? { preamble, reached } : { keepaliveMs, preamble, reached }
  }

  #mayTryOther(attempt: Attempt): boolean {
    return attempt.ex.attempts < ATTEMPTS_MAX && this.#addresses.pick(attempt.tried) !== null
  }

  #connected(attempt: Attempt, pool: Pool, wire: Wire, tls: TlsOutcome | undefined): void {
    this.shared.observer.connected()
    if (tls !== undefined) this.shared.observer.secured?.(tls.resumed)
    const connection = pool.connected(wire)
    // Those that were first and are not here yet are slow at best: others are to be preferred for a while.
    this.#lose(attempt, attempt.tried.indexOf(pool))
    const { ex } = attempt
    // Where it goes, and not what was tried last.
    ex.endpoint = pool.label
    this.timers.remove(attempt.timer)
    this.timers.remove(attempt.slow)
    ex.pending = null
    connection.begin(ex)
    this.#queue.acquired(connection)
    this.events.onServerReady(ex)
  }

  /** Gives up what is under way; addresses that were tried before the `first` ones count as failed. */
  #lose(attempt: Attempt, first = 0): void {
    for (const dial of attempt.dials.splice(0)) {
      const { pool } = dial
      dial.giveUp()
      this.#queue.dialled(dial)
      if (attempt.tried.indexOf(pool) < first) pool.health.connectFailed()
      else pool.health.abandoned()
      this.closed()
    }
  }

  #connectFailed(attempt: Attempt, pool: Pool, code: string, tls?: TlsOutcome): void {
    this.shared.observer.connectFailed(code)
    pool.health.connectFailed()
    this.closed()
    this.connectFailed(attempt, code, tls)
  }

  connectFailed(attempt: Attempt, code: string, tls?: TlsOutcome): void {
    if (tls !== undefined && tls.reason !== '') this.#noteFault(attempt.ex, tls.reason)
    if (attempt.cancelled) return
    // Nothing was sent: the next address may always be tried.
    if (this.#mayTryOther(attempt)) this.dial(attempt)
    else if (attempt.dials.length === 0 && attempt.sharing.length === 0) this.report(attempt, codeOf(code))
  }

  mayBeSlow(attempt: Attempt): void {
    if (this.#mayTryOther(attempt)) this.timers.arm(attempt.slow, performance.now(), SLOW_MS)
  }

  #noteFault(ex: Exchange, reason: string): void {
    ex.errorDetail = reason
    const now = performance.now()
    if (this.#fault.reason === reason && now - this.#fault.at < SAME_FAULT_MS) return
    this.#fault = { reason, at: now }
    this.shared.observer.insecure?.(this.name, reason)
  }

  report(attempt: Attempt, code: ErrorCode): void {
    this.timers.remove(attempt.timer)
    this.timers.remove(attempt.slow)
    attempt.leaveShared()
    attempt.ex.pending = null
    this.events.onServerFault(attempt.ex, code)
  }

  onTimeout(attempt: Attempt): void {
    enterTurn()
    if (attempt.dials.length > 0) {
      // An address that does not answer is as good as one that refuses: there may be others.
      const [last, ...others] = attempt.dials.splice(0).toReversed()
      for (const dial of others) {
        dial.giveUp()
        this.#queue.dialled(dial)
        this.shared.observer.connectFailed('ETIMEDOUT')
        dial.pool.health.connectFailed()
        this.closed()
      }
      last!.giveUp()
      this.#queue.dialled(last!)
      this.#connectFailed(attempt, last!.pool, 'ETIMEDOUT')
    } else {
      attempt.cancelled = true
      this.report(attempt, this.#stopWaiting(attempt) ? 'UPSTREAM_OVERFLOW' : 'CONNECT_TIMEOUT')
    }
    leaveTurn()
  }

  onSlow(attempt: Attempt): void {
    if ((attempt.dials.length === 0 && attempt.sharing.length === 0) || !this.#mayTryOther(attempt)) return
    enterTurn()
    this.dial(attempt)
    leaveTurn()
  }

  onAbort(attempt: Attempt): void {
    this.timers.remove(attempt.timer)
    this.timers.remove(attempt.slow)
    this.#stopWaiting(attempt)
    this.#lose(attempt)
  }

  /** Whether it was waiting for others to leave. */
  #stopWaiting(attempt: Attempt): boolean {
    if (attempt.leaveShared()) return true
    return this.#queue.remove(attempt)
  }

  // --- what pools report ---

  freed(connection: Http1Upstream): void {
    this.#queue.released(connection)
  }

  offer(pool: Pool): boolean {
    const attempt = this.#queue.next()
    if (attempt === undefined) return false
    this.#resume(attempt, pool, pool.take()!)
    return true
  }

  #resume(attempt: Attempt, pool: Pool, connection: Http1Upstream): void {
    this.timers.remove(attempt.timer)
    attempt.ex.pending = null
    this.#reuse(attempt.ex, pool, connection)
  }

  closed(): void {
    this.total--
    this.wake()
  }

  /** Whether somebody waits for a connection that nobody makes. */
  get wants(): boolean {
    return this.#queue.waiting > 0 || this.#addresses.pools.some(({ http2 }) => http2.wants)
  }

  /** There is room for a connection. */
  protected wake(): void {
    const attempt = this.#queue.next()
    if (attempt !== undefined) this.dial(attempt)
  }

  /** As wake, also for those who wait for a connection that they will share. */
  protected wakeAll(): void {
    this.wake()
    for (const { http2 } of this.#addresses.pools) if (http2.wants) http2.capacityGrew()
  }

  get isFull(): boolean {
    return this.total >= this.connectionsMax
  }

  mayConnect(): boolean {
    if (this.total >= this.shared.poolMax) return false
    this.total++
    return true
  }

  connected(tls: TlsOutcome | undefined): void {
    this.shared.observer.connected()
    if (tls !== undefined) this.shared.observer.secured?.(tls.resumed)
  }

  notConnected(code: string): void {
    this.shared.observer.connectFailed(code)
  }

  failed(ex: Exchange, code: ErrorCode, repeat: Repeat, version: Version): void {
    const mayRepeat = repeat === REPEAT_ALWAYS || (repeat === REPEAT_IDEMPOTENT && isIdempotent(ex.method))
    if (mayRepeat && ex.attempts < ATTEMPTS_MAX) {
      this.shared.observer.retried()
      this.dial(new Attempt(ex, this, version))
      return
    }
    this.events.onServerFault(ex, code)
  }

  closeIdle(): void {
    for (const pool of this.#addresses.pools) pool.closeIdle()
  }
}
