/**
 * Connections of HTTP/2 to one address, and the exchanges that wait for room on one. Exchanges share a connection as
 * long as the server lets them; another is opened only when all are full. A connection is dialled for nobody in
 * particular: a client that leaves takes nothing from those who wait beside it.
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/transport.ts'
import { isGrpc } from '#engine/http/grpc.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import type { ReadMemory } from '#engine/socket/memory.ts'
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'
import type { TlsClient } from '#engine/socket/tls.ts'
import type { SocketLayer, TlsOutcome, Wire } from '#engine/socket/wire.ts'
import type { Attempt } from './attempt.ts'
import type { Repeat } from './h1.ts'
import { Http2Upstream } from './h2.ts'
import type { Http2Home } from './h2-home.ts'
import type { Pool } from './pool.ts'
import { EITHER, HTTP1, HTTP2, type Version } from './version.ts'

/** Exchanges that may wait for room. */
const WAITERS_MAX = 1024
/** Streams that a server is believed to take before it has said so (RFC 9113 section 6.5.2 advises no fewer). */
export const STREAMS_ASSUMED = 100

/** Code of a connection to somebody who speaks something else. */
export const NOT_HTTP2 = 'NOT_HTTP2'

/** What the pools of an endpoint share. */
export interface Http2Owner {
  readonly sockets: SocketLayer
  readonly events: ServerEvents
  readonly timers: TimerWheel
  readonly memory: ReadMemory
  readonly idleTimeoutMs: number
  /** 0: no limit. */
  readonly requestsPerConnectionMax: number
  readonly connectTimeoutMs: number
  /** Undefined: as the system does. */
  readonly keepaliveMs: number | undefined
  /** What connections begin with, before TLS; '' for nothing. */
  readonly hello: string
  /** Of the offer of HTTP/2; null: clear text. */
  readonly http2Tls: TlsClient | null
  /** Others wait for the room that an idle connection takes. */
  readonly isCrowded: boolean
  /** Counts a connection that is about to be made. False: there are as many as there may be. */
  mayConnect(): boolean
  /** For metrics: the connection is there, or did not come about. */
  connected(tls: TlsOutcome | undefined): void
  notConnected(code: string): void
  /** A connection is gone, or did not come about: room for another. */
  closed(): void
  connectFailed(attempt: Attempt, code: string, tls?: TlsOutcome): void
  /** Sends the attempt once more from the beginning. */
  dial(attempt: Attempt): void
  report(attempt: Attempt, code: ErrorCode): void
  failed(ex: Exchange, code: ErrorCode, repeat: Repeat, version: Version): void
}

export class Http2Pool implements Http2Home {
  readonly #pool: Pool
  readonly #owner: Http2Owner
  /** Those that take further streams. */
  readonly #connections: Http2Upstream[] = []
  readonly #waiting: Attempt[] = []
  #dials = 0
  /** Connections whose server has not said anything yet, with the clock of the dial. */
  readonly #opening = new Map<Http2Upstream, WheelTimer>()

  constructor(pool: Pool, owner: Http2Owner) {
    this.#pool = pool
    this.#owner = owner
  }

  get events(): ServerEvents {
    return this.#owner.events
  }

  get timers(): TimerWheel {
    return this.#owner.timers
  }

  get memory(): ReadMemory {
    return this.#owner.memory
  }

  get requestsPerConnectionMax(): number {
    return this.#owner.requestsPerConnectionMax
  }

  /** Connections without an exchange. */
  get idle(): number {
    let count = 0
    for (const connection of this.#connections) if (connection.streams === 0) count++
    return count
  }

  /** Sends ex over a connection that has room. False: there is none. */
  begin(ex: Exchange): boolean {
    const connection = this.#withRoom()
    if (connection === null) return false
    ex.attempts++
    this.#start(ex, connection)
    return true
  }

  /** As begin, for an exchange that has waited. */
  resume(attempt: Attempt): boolean {
    const connection = this.#withRoom()
    if (connection === null) return false
    attempt.ex.attempts++
    this.#take(attempt, connection)
    return true
  }

  /** Sends the attempt as soon as a connection has room for it. */
  wait(attempt: Attempt): void {
    const { ex } = attempt
    if (this.#waiting.length >= WAITERS_MAX) {
      this.#owner.report(attempt, 'UPSTREAM_OVERFLOW')
      return
    }
    ex.attempts++
    ex.endpoint = this.#pool.label
    attempt.tried.push(this.#pool)
    this.#waiting.push(attempt)
    attempt.sharing = this
    this.#dialEnough()
    // A dial ends in time by itself. Without one, somebody else's stream has to end first.
    if (this.#dials === 0) this.#patience(attempt)
  }

  /** Whether somebody waits for a connection that nobody makes yet. */
  get wants(): boolean {
    return this.#waiting.length > this.#dials * STREAMS_ASSUMED
  }

  /** The attempt waits no more, if it did. */
  forget(attempt: Attempt): boolean {
    const at = this.#waiting.indexOf(attempt)
    if (at < 0) return false
    this.#waiting.splice(at, 1)
    attempt.sharing = null
    return true
  }

  closeIdle(): void {
    for (const connection of [...this.#connections]) if (connection.streams === 0) connection.leave()
  }

  // --- what connections report ---

  freed(connection: Http2Upstream): void {
    this.#pool.busy--
    if (this.#waiting.length > 0) this.#serveWaiting()
    if (connection.streams > 0) return
    if (!this.#connections.includes(connection)) return
    if (this.#owner.isCrowded) connection.leave()
    else this.#owner.timers.arm(connection.idleTimer, turnStartedAt, this.#owner.idleTimeoutMs)
  }

  retired(connection: Http2Upstream): void {
    const at = this.#connections.indexOf(connection)
    if (at >= 0) this.#connections.splice(at, 1)
  }

  gone(connection: Http2Upstream): void {
    this.retired(connection)
    this.#owner.timers.remove(connection.idleTimer)
    this.#owner.closed()
    if (this.#waiting.length > 0) this.#serveWaiting()
  }

  failed(ex: Exchange, code: ErrorCode, repeat: Repeat): void {
    this.#owner.failed(ex, code, repeat, HTTP2)
  }

  roomier(): void {
    if (this.#waiting.length > 0) this.#serveWaiting()
  }

  // --- sharing out ---

  #withRoom(): Http2Upstream | null {
    for (const connection of this.#connections) if (connection.room > 0) return connection
    return null
  }

  #start(ex: Exchange, connection: Http2Upstream): void {
    this.#pool.busy++
    ex.endpoint = this.#pool.label
    // Armed, it is moved when it is armed again: taking it out costs more.
    this.#owner.timers.disarm(connection.idleTimer)
    connection.begin(ex)
    this.#owner.events.onServerReady(ex)
  }

  #take(attempt: Attempt, connection: Http2Upstream): void {
    this.#owner.timers.remove(attempt.timer)
    attempt.sharing = null
    attempt.ex.pending = null
    this.#start(attempt.ex, connection)
  }

  #serveWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const connection = this.#withRoom()
      if (connection === null) break
      this.#waiting.shift()
      this.#take(next, connection)
    }
    if (this.#waiting.length === 0) return
    this.#dialEnough()
    if (this.#dials === 0) for (const attempt of this.#waiting) this.#patience(attempt)
  }

  #patience(attempt: Attempt): void {
    if (attempt.timer.deadline > 0) return
    this.#owner.timers.arm(attempt.timer, turnStartedAt, this.#owner.connectTimeoutMs)
  }

  // --- connecting ---

  #dialEnough(): void {
    // One that is empty and has no room says that the server takes nobody at the moment.
    if (this.#connections.some(({ streams, room }) => streams === 0 && room <= 0)) return
    while (this.#dials * STREAMS_ASSUMED < this.#waiting.length && this.#owner.mayConnect()) this.#dial()
  }

  #dial(): void {
    const { sockets, timers, connectTimeoutMs, keepaliveMs, hello, http2Tls } = this.#owner
    this.#dials++
    this.#pool.health.dialling()
    let opening: Http2Upstream | null = null
    const timer = new WheelTimer(() => {
      enterTurn()
      if (opening === null) giveUp()
      else this.#opening.delete(opening)
      opening?.destroy()
      this.#dialFailed('ETIMEDOUT')
      leaveTurn()
    })
    timers.arm(timer, turnStartedAt, connectTimeoutMs)
    const giveUp = sockets.connect(
      this.#pool.address,
      (code, wire, tls) => {
        if (wire !== null && (http2Tls === null || tls?.protocol === 'h2')) {
          this.#owner.connected(tls)
          // The dial is over when the server has shown that it speaks HTTP/2.
          opening = new Http2Upstream(this, wire, http2Tls === null ? 'http' : 'https')
          this.#opening.set(opening, timer)
          return
        }
        timers.remove(timer)
        if (wire === null) this.#dialFailed(code ?? 'EIO', tls)
        else this.#decline(wire)
      },
      http2Tls,
      keepaliveMs === undefined ? { hello } : { keepaliveMs, hello }
    )
  }

  ready(connection: Http2Upstream): void {
    this.#opened(connection)
    this.#dials--
    this.#pool.health.reached()
    this.#connections.push(connection)
    this.#serveWaiting()
    if (connection.streams === 0) this.#owner.timers.arm(connection.idleTimer, turnStartedAt, this.#owner.idleTimeoutMs)
  }

  refused(connection: Http2Upstream, code: string): void {
    this.#opened(connection)
    this.#pool.health.decline()
    this.#dialFailed(code)
  }

  #opened(connection: Http2Upstream): void {
    const timer = this.#opening.get(connection)
    if (timer !== undefined) this.#owner.timers.remove(timer)
    this.#opening.delete(connection)
  }

  /** The server prefers HTTP/1.1: whoever may goes there. */
  #decline(wire: Wire): void {
    this.#pool.health.decline()
    this.#dials--
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
    attempt.tried.pop()
    this.#owner.dial(attempt)
  }

  #takeWaiting(): Attempt[] {
    const taken = this.#waiting.splice(0)
    for (const attempt of taken) attempt.sharing = null
    return taken
  }

  #dialFailed(code: string, tls?: TlsOutcome): void {
    this.#dials--
    // A server that speaks another protocol is there: exchanges of that one should not avoid it.
    if (code === NOT_HTTP2) this.#pool.health.abandoned()
    else this.#pool.health.connectFailed()
    this.#owner.notConnected(code)
    this.#owner.closed()
    // Others are on their way, or streams will end.
    if (this.#dials > 0) return
    if (this.#connections.length > 0) {
      for (const attempt of this.#waiting) this.#patience(attempt)
      return
    }
    for (const attempt of this.#takeWaiting()) {
      if (this.#pool.health.declined && attempt.version === EITHER) this.#goBack(attempt)
      else this.#owner.connectFailed(attempt, code, tls)
    }
  }
}
