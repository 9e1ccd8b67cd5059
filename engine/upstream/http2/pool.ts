/**
 * Connections of HTTP/2 to one address, and the exchanges that wait for a stream on one. Exchanges share a connection
 * as long as the server lets them; another is opened only when all are full. A connection is dialled for no exchange in
 * particular: a client that leaves takes nothing from those that wait beside it.
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isGrpc } from '#engine/http/grpc.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { TlsOutcome } from '#engine/socket/socket-layer.ts'
import { WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { Attempt } from '#engine/upstream/attempt.ts'
import { connectTo } from '#engine/upstream/connect.ts'
import { FairQueue } from '#engine/upstream/fair-queue.ts'
import type { HostSet } from '#engine/upstream/host-group.ts'
import { EITHER, HTTP1, HTTP2, NOT_HTTP2, type Version } from '#engine/upstream/http-version.ts'
import { REPEAT_NEVER, type Repeat } from '#engine/upstream/http1/connection.ts'
import type { Pool } from '#engine/upstream/pool.ts'
import type { UpstreamShared } from '#engine/upstream/shared.ts'
import { type EvictionCandidate, SlowClientEviction } from '#engine/upstream/slow-client-eviction.ts'
import { Http2Upstream } from './connection.ts'
import type { Http2ConnectionOwner } from './connection-owner.ts'
import { OpenConnections } from './open-connections.ts'
import type { Http2UpstreamStream } from './stream.ts'

/** Streams that a server is assumed to take before its SETTINGS (RFC 9113 section 6.5.2 advises no fewer). */
export const STREAMS_ASSUMED = 100

/** What the pools of an endpoint share. */
export interface Http2PoolOwner {
  readonly shared: UpstreamShared
  readonly hosts: HostSet
  /** What connections begin with, before TLS; '' for nothing. */
  readonly preamble: string
  /** Others wait for the connection that an idle one stands for. */
  readonly isContended: boolean
  /** There are as many connections as there may be. */
  readonly isFull: boolean
  /** Counts a connection that is about to be made. False: there are as many as there may be. */
  mayConnect(): boolean
  /** For metrics: the connection is there, or did not come about. */
  sharedConnected(tls: TlsOutcome | undefined): void
  notConnected(code: string): void
  /** A connection is gone, or did not come about: another may be made. */
  closed(): void
  /** Connecting failed: tries another address, if there is one. */
  tryNext(attempt: Attempt, code: string, tls?: TlsOutcome): void
  /** The attempt waits for a dial: another address may be tried beside this one before long (RFC 8305 section 5). */
  startRace(attempt: Attempt): void
  /** Sends the attempt once more from the beginning. */
  dial(attempt: Attempt): void
  /** The attempt waits for no connection any more. */
  settled(attempt: Attempt): void
  report(attempt: Attempt, code: ErrorCode): void
  failed(ex: Exchange, code: ErrorCode, repeat: Repeat, version: Version): void
}

/** One connection that is being made: until its server has shown that it speaks HTTP/2. */
interface Http2Dial {
  readonly timer: WheelTimer
  giveUp: () => void
  /** Somebody answers there, whatever he speaks. */
  isReached: boolean
  /** Null: it is not connected, or TLS is not agreed on. */
  connection: Http2Upstream | null
}

export class Http2Pool implements Http2ConnectionOwner {
  readonly #pool: Pool
  readonly #owner: Http2PoolOwner
  /** Those that take further streams. */
  readonly #open = new OpenConnections()
  readonly #waiting = new FairQueue<Attempt>(() => this.#open.exchanges())
  readonly #dials = new Set<Http2Dial>()
  #eviction: SlowClientEviction | null = null

  constructor(pool: Pool, owner: Http2PoolOwner) {
    this.#pool = pool
    this.#owner = owner
  }

  get shared(): UpstreamShared {
    return this.#pool.shared
  }

  /** Connections without an exchange. */
  get idle(): number {
    return this.#open.idle
  }

  /** A connection has a free stream. */
  get hasRoom(): boolean {
    return this.#open.first() !== null
  }

  /** Sends ex over a connection with a free stream. False: there is none. */
  begin(ex: Exchange): boolean {
    const connection = this.#connectionFor(ex)
    if (connection === null) return false
    ex.attempts++
    this.#start(ex, connection)
    return true
  }

  /** As begin, for an exchange that has waited. */
  resume(attempt: Attempt): boolean {
    const connection = this.#connectionFor(attempt.ex)
    if (connection === null) return false
    attempt.ex.attempts++
    this.#take(attempt, connection)
    return true
  }

  /** Sends the attempt as soon as a connection has a stream for it. */
  wait(attempt: Attempt): void {
    const { ex } = attempt
    ex.attempts++
    ex.endpoint = this.#pool.label
    attempt.tried.push(this.#pool)
    attempt.sharing.push(this)
    const dropped = this.#waiting.add(attempt)
    if (dropped !== null) this.#owner.report(dropped, 'UPSTREAM_OVERFLOW')
    if (dropped === attempt) return
    this.#dialEnough()
    // A dial ends in time by itself. Without one, another exchange's stream has to end first.
    if (this.#dials.size === 0) {
      this.#startTimer(attempt)
      this.#evictSlowClients()
    } else if (this.#open.isEmpty && !this.#isReached) this.#owner.startRace(attempt)
  }

  get #isReached(): boolean {
    return [...this.#dials].some(({ isReached }) => isReached)
  }

  /** Whether an exchange waits for a connection that is not being made yet. */
  get wants(): boolean {
    return this.#waiting.size > this.#dials.size * STREAMS_ASSUMED
  }

  /** The attempt waits no more, if it did. */
  forget(attempt: Attempt): void {
    this.#waiting.remove(attempt)
  }

  /** Another address was faster. `isSlow`: although this one was asked before. Nobody's dials are given up. */
  lostRace(attempt: Attempt, isSlow: boolean): void {
    this.forget(attempt)
    if (this.#waiting.size > 0 || this.#isReached) return
    for (const dial of [...this.#dials]) {
      this.#over(dial)
      dial.giveUp()
      if (isSlow) this.#pool.health.connectFailed()
      else this.#pool.health.abandoned()
      this.#owner.closed()
    }
  }

  closeIdle(): void {
    this.#open.closeIdle()
  }

  // --- what connections report ---

  freed(connection: Http2Upstream, stream: Http2UpstreamStream): void {
    this.#pool.ended()
    this.#waiting.released(stream)
    if (this.#waiting.size > 0) this.#serveWaiting()
    if (connection.streams > 0) return
    if (!this.#open.has(connection)) return
    if (this.#owner.isContended) connection.closeIdle()
    else this.#owner.shared.timers.arm(connection.idleTimer, turnStartedAt, this.#owner.shared.idleTimeoutMs)
  }

  retired(connection: Http2Upstream): void {
    this.#open.remove(connection)
  }

  gone(connection: Http2Upstream): void {
    this.retired(connection)
    this.#owner.shared.timers.remove(connection.idleTimer)
    this.#owner.closed()
    if (this.#waiting.size > 0) this.#serveWaiting()
  }

  failed(ex: Exchange, code: ErrorCode, repeat: Repeat): void {
    if (repeat === REPEAT_NEVER) this.#pool.fault(code)
    this.#owner.failed(ex, code, repeat, HTTP2)
  }

  capacityGrew(): void {
    if (this.#waiting.size > 0) this.#serveWaiting()
  }

  newEviction(
    connections: () => Iterable<EvictionCandidate>,
    waiting: () => number,
    keptByWaiting: () => readonly number[]
  ): SlowClientEviction {
    const { timers, events } = this.#owner.shared
    const giveUp = (ex: Exchange, code: ErrorCode) => events.onServerFault(ex, code)
    return new SlowClientEviction({ timers, connections, waiting, keptByWaiting, giveUp, now: () => timers.now })
  }

  // --- sharing out ---

  #connectionFor(ex: Exchange): Http2Upstream | null {
    const connection = this.#open.first()
    if (connection === null || !this.#owner.isFull) return connection
    const { left, streams } = this.#open
    return this.#waiting.mayTake(ex, left, left + streams) ? connection : null
  }

  /** The attempt that gets the next stream, if one of those that wait may have it. */
  #next(): Attempt | undefined {
    if (!this.#owner.isFull) return this.#waiting.next(Number.POSITIVE_INFINITY, 0)
    const { left, streams } = this.#open
    return this.#waiting.next(left, left + streams)
  }

  #start(ex: Exchange, connection: Http2Upstream): void {
    this.#pool.begun()
    this.#pool.taken(ex)
    // Armed, it is moved when it is armed again: taking it out costs more.
    this.#owner.shared.timers.disarm(connection.idleTimer)
    this.#waiting.acquired(connection.begin(ex))
    this.#pool.shared.events.onServerReady(ex)
  }

  #take(attempt: Attempt, connection: Http2Upstream): void {
    this.#owner.shared.timers.remove(attempt.timer)
    this.#owner.shared.timers.remove(attempt.slow)
    const { tried } = attempt
    const others = attempt.sharing.splice(0).filter((pool) => pool !== this)
    attempt.ex.pending = null
    this.#owner.settled(attempt)
    this.#start(attempt.ex, connection)
    const own = tried.indexOf(this.#pool)
    for (const pool of others) pool.lostRace(attempt, own < 0 || tried.indexOf(pool.#pool) < own)
  }

  #serveWaiting(): void {
    while (this.#waiting.size > 0) {
      const connection = this.#open.first()
      const attempt = connection === null ? undefined : this.#next()
      if (attempt === undefined) break
      this.#take(attempt, connection!)
    }
    if (this.#waiting.size === 0) return
    this.#dialEnough()
    if (this.#dials.size > 0) return
    for (const attempt of this.#waiting) this.#startTimer(attempt)
    this.#evictSlowClients()
  }

  /** No connection is being made for those that wait: they need a stream that another client keeps. */
  #evictSlowClients(): void {
    this.#eviction ??= this.newEviction(
      () => this.#open.exchanges(),
      () => (this.#dials.size > 0 ? 0 : this.#waiting.size),
      () => this.#waiting.connectionsByWaitingClient()
    )
    this.#eviction.request()
  }

  #startTimer(attempt: Attempt): void {
    if (attempt.timer.deadline > 0) return
    this.#owner.shared.timers.arm(attempt.timer, turnStartedAt, this.#owner.hosts.options.connectTimeoutMs)
  }

  // --- connecting ---

  #dialEnough(): void {
    if (this.#open.isRefused) return
    while (this.#dials.size * STREAMS_ASSUMED < this.#waiting.size && this.#owner.mayConnect()) this.#dial()
  }

  #dial(): void {
    const { shared, hosts, preamble } = this.#owner
    const { timers } = shared
    const { connectTimeoutMs, keepaliveMs, tls: configuredTls } = hosts.options
    this.#pool.health.dialling()
    const timer = new WheelTimer(() => {
      this.#over(dial)
      if (dial.connection === null) dial.giveUp()
      else dial.connection.destroy()
      this.#dialFailed('ETIMEDOUT')
    })
    const dial: Http2Dial = { timer, giveUp: () => {}, isReached: false, connection: null }
    this.#dials.add(dial)
    timers.arm(timer, turnStartedAt, connectTimeoutMs)
    // Exchanges that wait for it go on waiting.
    const reached = () => {
      dial.isReached = true
      for (const attempt of this.#waiting) timers.disarm(attempt.slow)
    }
    dial.giveUp = connectTo(
      this.#pool,
      HTTP2,
      shared,
      (code, wire, tls) => {
        if (wire !== null && (tls === undefined || tls.protocol === 'h2')) {
          this.#owner.sharedConnected(tls)
          reached()
          // The dial is over when the server has shown that it speaks HTTP/2.
          dial.connection = new Http2Upstream(this, wire, configuredTls === null ? 'http' : 'https')
          return
        }
        this.#over(dial)
        if (wire === null) this.#dialFailed(code ?? 'EIO', tls)
        else this.#decline(wire)
      },
      keepaliveMs === undefined ? { preamble, reached } : { keepaliveMs, preamble, reached }
    )
  }

  ready(connection: Http2Upstream): void {
    this.#opened(connection)
    this.#pool.health.reached()
    this.#open.add(connection)
    this.#serveWaiting()
    if (connection.streams === 0)
      this.#owner.shared.timers.arm(connection.idleTimer, turnStartedAt, this.#owner.shared.idleTimeoutMs)
  }

  refused(connection: Http2Upstream, code: string): void {
    this.#opened(connection)
    this.#pool.health.decline()
    this.#dialFailed(code)
  }

  #opened(connection: Http2Upstream): void {
    for (const dial of this.#dials) if (dial.connection === connection) this.#over(dial)
  }

  #over(dial: Http2Dial): void {
    this.#owner.shared.timers.remove(dial.timer)
    this.#dials.delete(dial)
  }

  /** The server prefers HTTP/1.1: exchanges that allow it go there. */
  #decline(wire: Wire): void {
    this.#pool.health.decline()
    this.#pool.health.reached()
    wire.destroy()
    this.#owner.closed()
    for (const attempt of this.#takeWaiting()) {
      const { ex } = attempt
      if (attempt.version === EITHER) this.#goBack(attempt)
      else this.#owner.report(attempt, isGrpc(ex.method, ex.request) ? 'GRPC_TO_HTTP1' : 'UPSTREAM_NOT_HTTP2')
    }
  }

  /** Nothing of it was sent, and the address works: in the other way. */
  #goBack(attempt: Attempt): void {
    attempt.version = HTTP1
    attempt.leaveShared()
    attempt.tried.splice(attempt.tried.indexOf(this.#pool), 1)
    this.#owner.dial(attempt)
  }

  #takeWaiting(): Attempt[] {
    const taken = [...this.#waiting]
    for (const attempt of taken) this.#waiting.remove(attempt)
    for (const attempt of taken) attempt.sharing.splice(attempt.sharing.indexOf(this), 1)
    return taken
  }

  #dialFailed(code: string, tls?: TlsOutcome): void {
    // A server that speaks another protocol is there: exchanges of that one should not avoid it.
    if (code === NOT_HTTP2) this.#pool.health.abandoned()
    else this.#pool.health.connectFailed()
    this.#owner.notConnected(code)
    this.#owner.closed()
    // Others are on their way, or streams will end.
    if (this.#dials.size > 0) return
    if (!this.#open.isEmpty) {
      for (const attempt of this.#waiting) this.#startTimer(attempt)
      return
    }
    for (const attempt of this.#takeWaiting()) {
      if (this.#pool.health.declined && attempt.version === EITHER) this.#goBack(attempt)
      else this.#owner.tryNext(attempt, code, tls)
    }
  }
}
