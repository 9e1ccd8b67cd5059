/** The connections to one address: idle ones last-in first-out, so that the surplus ages and expires. */

import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { Address } from '#engine/socket/socket-layer.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { type DialledAddress, labelOf } from './address-list.ts'
import type { DestinationState } from './destination.ts'
import type { Health } from './health.ts'
import { HTTP1 } from './http-version.ts'
import { type Http1ConnectionOwner, Http1Upstream, REPEAT_NEVER, type Repeat } from './http1/connection.ts'
import { Http2Pool, type Http2PoolOwner } from './http2/pool.ts'
import type { UpstreamShared } from './shared.ts'
import { REQUESTS } from './thresholds.ts'

/** What pools share with their endpoint. */
export interface PoolOwner extends Http2PoolOwner {
  /** `connection` has no exchange any more. */
  freed(connection: Http1Upstream): void
  /** A connection of `pool` is free: true if an attempt that waits took it. */
  offer(pool: Pool): boolean
}

/** Of a pool that has had none: most of thousands have not. */
export const NO_CONNECTIONS: Http1Upstream[] = []

export class Pool implements Http1ConnectionOwner, DialledAddress {
  readonly address: Address
  /** ip:port or unix:path, for logs. */
  readonly label: string
  readonly host: DestinationState
  /** Exchanges under way. */
  busy = 0
  readonly health: Health
  readonly shared: UpstreamShared
  #http2: Http2Pool | null = null
  #connections: Set<Http1Upstream> | null = null
  #idle: Http1Upstream[] = NO_CONNECTIONS
  readonly #owner: PoolOwner

  constructor(owner: PoolOwner, address: Address, host: DestinationState) {
    this.#owner = owner
    this.address = address
    const label = labelOf(address)
    // One text in memory where both say the same: there may be thousands of addresses.
    this.label = label === host.name ? host.name : label
    this.host = host
    this.health = host.healthOf(this.label)
    this.shared = this.health.sharedOf(owner.shared)
  }

  /** Those of HTTP/2, which are shared; all else here is about those of HTTP/1.1. */
  get http2(): Http2Pool {
    this.#http2 ??= new Http2Pool(this, this.#owner)
    return this.#http2
  }

  /** Null: none was ever wanted. */
  get usedHttp2(): Http2Pool | null {
    return this.#http2
  }

  /** Those of HTTP/1.1, idle and busy. */
  get connections(): Iterable<Http1Upstream> {
    return this.#connections ?? NO_CONNECTIONS
  }

  get idle(): number {
    return this.#idle.length
  }

  /** One exchange more is under way. */
  begun(): void {
    this.busy++
    this.host.thresholds?.change(REQUESTS, 1)
  }

  ended(): void {
    this.busy--
    this.host.thresholds?.change(REQUESTS, -1)
  }

  /** ex will be sent there next. */
  taken(ex: Exchange): void {
    ex.endpoint = this.label
    // Of several hosts each has a name of its own (Endpoint.hostHeader).
    if (ex.upstreamHost === '') ex.upstreamHost = this.host.hostHeader
  }

  /** An idle connection, now busy, or undefined. */
  take(): Http1Upstream | undefined {
    for (let connection = this.#idle.at(-1); connection !== undefined; connection = this.#idle.at(-1)) {
      if (connection.idleUntil > turnStartedAt) {
        this.#idle.pop()
        this.#owner.shared.timers.disarm(connection.idleTimer)
        this.begun()
        return connection
      }
      // Its timer is late: the loop has been busy, and the server may have closed it by now.
      connection.close()
    }
    return undefined
  }

  /** One that was dialled, over `wire`. */
  connected(wire: Wire): Http1Upstream {
    this.begun()
    const connection = new Http1Upstream(this, wire)
    this.#connections ??= new Set()
    this.#connections.add(connection)
    return connection
  }

  release(connection: Http1Upstream): void {
    const max = this.#owner.shared.requestsPerConnectionMax
    const { served, servedMax, idleMs } = connection
    if ((max > 0 && served >= max) || served >= servedMax || idleMs === 0 || this.#owner.isContended) {
      connection.close()
      return
    }
    this.ended()
    this.#owner.freed(connection)
    connection.idleUntil = turnStartedAt + idleMs
    if (this.#idle === NO_CONNECTIONS) this.#idle = [connection]
    else this.#idle.push(connection)
    if (this.#owner.offer(this)) return
    this.#owner.shared.timers.arm(
      connection.idleTimer,
      turnStartedAt,
      Math.min(this.#owner.shared.idleTimeoutMs, idleMs)
    )
  }

  gone(connection: Http1Upstream): void {
    this.#connections?.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    else {
      this.ended()
      this.#owner.freed(connection)
    }
    this.#owner.shared.timers.remove(connection.idleTimer)
    this.#owner.closed()
  }

  failed(_connection: Http1Upstream, ex: Exchange, code: ErrorCode, repeat: Repeat): void {
    if (repeat === REPEAT_NEVER) this.fault(code)
    this.#owner.failed(ex, code, repeat, HTTP1)
  }

  /** An exchange has failed with `code`: of these, those that the server is to blame for. */
  fault(code: ErrorCode): void {
    if (code === 'UPSTREAM_RESET' || code === 'UPSTREAM_PROTOCOL') this.health.failed()
  }

  /** Closes what is idle; what is busy closes when its exchange is over. */
  closeIdle(): void {
    for (const connection of [...this.#idle]) connection.close()
    this.#http2?.closeIdle()
  }
}
