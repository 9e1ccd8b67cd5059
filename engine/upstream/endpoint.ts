/**
 * One destination: its addresses, their pools, who waits for a connection, and what is tried next
 * when an attempt fails. State of a worker that survives reloads.
 */

import type { Background } from '#engine/contract/background.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isIdempotent } from '#engine/http/method.ts'
import type { TlsOutcome } from '#engine/socket/socket-layer.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { AddressList } from './address-list.ts'
import { Attempt, limitAttempt } from './attempt.ts'
import { ATTEMPTS_MAX, type Dial, Dialler, type DialOwner } from './dialler.ts'
import type { HostSet } from './host-group.ts'
import { EITHER, HTTP1, type Version, versionFor } from './http-version.ts'
import { type Http1Upstream, REPEAT_ALWAYS, REPEAT_IDEMPOTENT, type Repeat } from './http1/connection.ts'
import { ConnectionQueue, type QueueOwner } from './http1/connection-queue.ts'
import { Pool, type PoolOwner } from './pool.ts'
import type { UpstreamShared } from './shared.ts'
import { CONNECTIONS, PENDING, type Thresholds } from './thresholds.ts'

/** RFC 8305 section 8: how long an address may take before another one is tried beside it. */
const RACE_AFTER_MS = 250

export class EndpointState implements Endpoint, PoolOwner, QueueOwner, DialOwner<Pool, Attempt> {
  readonly name: string
  readonly hostHeader: string
  readonly isTls: boolean
  readonly hosts: HostSet
  readonly shared: UpstreamShared
  /** Connections that exist or are being made. */
  total = 0
  background?: Background
  readonly raceAfterMs = RACE_AFTER_MS
  readonly #addresses: AddressList<Pool>
  readonly #dialler: Dialler<Pool, Attempt>
  readonly #queue = new ConnectionQueue(this)

  constructor(hosts: HostSet, shared: UpstreamShared) {
    this.name = hosts.name
    this.hostHeader = hosts.hostHeader
    this.isTls = hosts.options.tls !== null
    this.hosts = hosts
    this.shared = shared
    this.#addresses = new AddressList(hosts, (address, host) => new Pool(this, address, host), shared.mayDial)
    this.#dialler = new Dialler(this, hosts, shared, this.#addresses)
  }

  get isHostname(): boolean {
    return this.hosts.isHostname
  }

  /** As they were when one was last picked. */
  get pools(): readonly Pool[] {
    return this.#addresses.all
  }

  /** What connections begin with, before TLS; '' for nothing. */
  get preamble(): string {
    return ''
  }

  preambleOf(): string {
    return this.preamble
  }

  /** Others wait for the connection that an idle one stands for. */
  get isContended(): boolean {
    return false
  }

  get connectionsMax(): number {
    const { thresholds } = this.hosts
    return thresholds === null ? this.shared.poolMax : thresholds.connectionsMax(this.shared.poolMax)
  }

  /** Those that are known now. */
  get addresses(): readonly Pool[] {
    return this.#addresses.current()
  }

  /** Those that are known without asking for a name. */
  get knownAddresses(): readonly Pool[] {
    return this.#addresses.known
  }

  get usable(): boolean {
    return this.#addresses.isUsable
  }

  get balancing(): string {
    const { length } = this.#addresses.current()
    if (this.hosts.isEmpty) return 'it has no endpoint now'
    if (length === 0) return 'its name has to be resolved'
    const { policy = 'LeastRequest' } = this.hosts.options.resilience?.loadBalancing ?? {}
    return length === 1 ? 'its only address' : `${policy} among ${length} addresses`
  }

  get idle(): number {
    return this.#addresses.all.reduce((sum, pool) => sum + pool.idle + (pool.usedHttp2?.idle ?? 0), 0)
  }

  get busy(): number {
    return this.#addresses.all.reduce((sum, pool) => sum + pool.busy, 0)
  }

  /** Sends ex over an idle connection if there is one, else over a new one. */
  send(ex: Exchange): void {
    // HTTP/1.0 clients may name no host; HTTP/1.1 servers want one (RFC 9112 section 3.2).
    if (ex.authority === '') ex.upstreamHost ??= this.hostHeader
    const { http } = this.hosts.options
    if (http !== undefined) {
      if (http.requestTimeoutMs > 0) limitAttempt(ex, http.requestTimeoutMs, this.shared.timers, this.shared.events)
      const version = versionFor(ex, http.version)
      if (version !== HTTP1) {
        if (typeof version === 'string') this.shared.events.onServerFault(ex, version)
        else this.#sendShared(ex, version)
        return
      }
    }
    const pool = this.#addresses.pick(null, ex)
    const { thresholds } = this.hosts
    if (thresholds !== null && this.#isRefused(ex, thresholds, pool === null || pool.idle === 0)) return
    const connection = this.#queue.mayTake(ex) ? pool?.take() : undefined
    if (connection === undefined) this.dial(this.#attempt(ex, HTTP1))
    else this.#reuse(ex, pool!, connection)
  }

  /** Sends ex by HTTP/2: over a connection with a free stream if there is one, else when there is. */
  #sendShared(ex: Exchange, version: Version): void {
    const pool = this.#addresses.pick(null, ex)
    const { thresholds } = this.hosts
    if (thresholds !== null && this.#isRefused(ex, thresholds, pool?.http2.hasRoom !== true)) return
    if (pool?.http2.begin(ex) === true) this.#addresses.next++
    else this.dial(this.#attempt(ex, version))
  }

  /** `waits`: there is no connection for it yet. */
  #isRefused(ex: Exchange, thresholds: Thresholds, waits: boolean): boolean {
    const setting = thresholds.refusal(waits)
    if (setting === null) {
      thresholds.attach(ex)
      return false
    }
    ex.errorDetail = setting
    this.shared.events.onServerFault(ex, 'CIRCUIT_BREAKER')
    return true
  }

  /** Sends ex over `connection`, which has been taken from `pool`. */
  #reuse(ex: Exchange, pool: Pool, connection: Http1Upstream): void {
    this.#addresses.next++
    ex.attempts++
    pool.taken(ex)
    connection.begin(ex)
    this.#queue.acquired(connection)
    // Body bytes may have come while a hook or a full pool held the exchange back.
    pool.shared.events.onServerReady(ex)
  }

  // --- connecting ---

  dial(attempt: Attempt): void {
    const pool = this.#dialler.next(attempt)
    if (pool === null) return
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
      this.#dialler.connect(attempt, pool)
      return
    }
    if (!isFirst) return
    // At the limit an idle connection to another address is better than waiting.
    for (const other of this.#addresses.current()) {
      const connection = other.take()
      if (connection === undefined) continue
      this.#resume(attempt, other, connection)
      return
    }
    // Those that were too old to be taken are closed now, and have woken nobody: this one is not waiting yet.
    if (this.mayConnect()) this.#dialler.connect(attempt, pool)
    else this.#enqueue(attempt)
  }

  #attempt(ex: Exchange, version: Version): Attempt {
    const { thresholds } = this.hosts
    thresholds?.change(PENDING, 1)
    return new Attempt(ex, this.#dialler, (attempt) => this.#abort(attempt), version)
  }

  settled(attempt: Attempt): void {
    if (!attempt.isPending) return
    attempt.isPending = false
    this.hosts.thresholds?.change(PENDING, -1)
  }

  #enqueue(attempt: Attempt): void {
    this.#dialler.startTimer(attempt)
    if (this.total < this.shared.poolMax) this.hosts.thresholds?.connectionRefused()
    const dropped = this.#queue.add(attempt)
    if (dropped !== null) this.report(dropped, 'UPSTREAM_OVERFLOW')
  }

  dialling(dial: Dial<Pool>): void {
    this.#queue.dialling(dial)
  }

  dialled(dial: Dial<Pool>): void {
    this.#queue.dialled(dial)
  }

  connected(attempt: Attempt, pool: Pool, wire: Wire): void {
    const { ex } = attempt
    this.settled(attempt)
    const connection = pool.connected(wire)
    ex.pending = null
    pool.taken(ex)
    connection.begin(ex)
    this.#queue.acquired(connection)
    pool.shared.events.onServerReady(ex)
  }

  tryNext(attempt: Attempt, code: string, tls?: TlsOutcome): void {
    this.#dialler.tryNext(attempt, code, tls)
  }

  startRace(attempt: Attempt): void {
    this.#dialler.startRace(attempt)
  }

  noteFault({ ex }: Attempt, reason: string): void {
    ex.errorDetail = reason
  }

  report(attempt: Attempt, code: ErrorCode): void {
    const { ex } = attempt
    this.settled(attempt)
    this.#dialler.stopTimers(attempt)
    attempt.leaveShared()
    ex.pending = null
    if (code === 'DNS_FAILURE' || code === 'NO_ENDPOINT') ex.endpoint = this.name
    this.shared.events.onServerFault(ex, code)
  }

  waitedTooLong(attempt: Attempt): void {
    attempt.cancelled = true
    this.report(attempt, this.#stopWaiting(attempt) ? 'UPSTREAM_OVERFLOW' : 'CONNECT_TIMEOUT')
  }

  #abort(attempt: Attempt): void {
    this.settled(attempt)
    this.#dialler.stopTimers(attempt)
    this.#stopWaiting(attempt)
    this.#dialler.abandon(attempt)
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
    this.settled(attempt)
    this.shared.timers.remove(attempt.timer)
    attempt.ex.pending = null
    this.#reuse(attempt.ex, pool, connection)
  }

  closed(): void {
    this.total--
    this.hosts.thresholds?.change(CONNECTIONS, -1)
    this.wake()
  }

  /** Whether an attempt waits for a connection that is not being made. */
  get wants(): boolean {
    return this.#queue.waiting > 0 || this.#addresses.all.some(({ usedHttp2 }) => usedHttp2?.wants === true)
  }

  /** Another connection may be made. */
  protected wake(): void {
    const attempt = this.#queue.next()
    if (attempt !== undefined) this.dial(attempt)
  }

  /** As wake, also for those who wait for a connection that they will share. */
  protected wakeAll(): void {
    this.wake()
    for (const { usedHttp2 } of this.#addresses.all) if (usedHttp2?.wants === true) usedHttp2.capacityGrew()
  }

  get isFull(): boolean {
    return this.total >= this.connectionsMax
  }

  mayConnect(): boolean {
    const { thresholds } = this.hosts
    if (this.total >= this.connectionsMax) return false
    this.total++
    thresholds?.change(CONNECTIONS, 1)
    return true
  }

  sharedConnected(tls: TlsOutcome | undefined): void {
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
      // Another host of a group may get it.
      if (this.hostHeader === '' && this.#isOwn(ex.upstreamHost)) ex.upstreamHost = ''
      this.dial(this.#attempt(ex, version))
      return
    }
    this.shared.events.onServerFault(ex, code)
  }

  /** Whether it is the name of one of several hosts. */
  #isOwn(name: string | null): boolean {
    return this.hosts.hosts.some(({ hostHeader }) => hostHeader === name)
  }

  closeIdle(): void {
    for (const pool of this.#addresses.all) pool.closeIdle()
  }
}
