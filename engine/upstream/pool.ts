/** The connections to one address: idle ones last-in first-out, so that the surplus ages and expires. */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/transport.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { Address } from '#engine/socket/wire.ts'
import type { Home, Http1Upstream, Repeat } from './h1.ts'
import { type Http2Owner, Http2Pool } from './h2-pool.ts'
import { HTTP1 } from './version.ts'

/** First ejection after a failed connect; doubles up to the maximum with each further failure. */
const EJECT_FIRST_MS = 500
const EJECT_MAX_MS = 30_000

/** What pools share with their endpoint. */
export interface PoolOwner extends Http2Owner {
  readonly llhttp: Llhttp
  /** A connection of `pool` is free: true if somebody waiting took it. */
  offer(pool: Pool): boolean
}

export class Pool implements Home {
  readonly address: Address
  /** ip:port or unix:path, for logs. */
  readonly label: string
  /** Exchanges under way. */
  busy = 0
  /** Those of HTTP/2, which are shared; all else here is about those of HTTP/1.1. */
  readonly http2: Http2Pool
  #idle: Http1Upstream[] = []
  #failures = 0
  #ejectedUntil = 0
  /** Connections being made. */
  #dials = 0
  readonly #owner: PoolOwner

  constructor(owner: PoolOwner, address: Address) {
    this.#owner = owner
    this.address = address
    this.label = labelOf(address)
    this.http2 = new Http2Pool(this, owner)
  }

  get llhttp(): Llhttp {
    return this.#owner.llhttp
  }

  get events(): ServerEvents {
    return this.#owner.events
  }

  get idle(): number {
    return this.#idle.length
  }

  /** Connecting failed lately: others are preferred until the ejection is over, and then until one has tried. */
  get ejected(): boolean {
    return this.#failures > 0 && (this.#dials > 0 || this.#ejectedUntil > performance.now())
  }

  /** 0: a unix socket. */
  get family(): 0 | 4 | 6 {
    return 'unixPath' in this.address ? 0 : this.address.family
  }

  /** Milliseconds of performance.now() at which the ejection ends. */
  get ejectedUntil(): number {
    return this.#ejectedUntil
  }

  /** An idle connection, now busy, or undefined. */
  take(): Http1Upstream | undefined {
    const connection = this.#idle.pop()
    if (connection === undefined) return undefined
    this.#owner.timers.disarm(connection.idleTimer)
    this.busy++
    return connection
  }

  dialling(): void {
    this.#dials++
  }

  /** Behind dialling(): nobody waits for that connection any more, which says nothing of the address. */
  abandoned(): void {
    this.#dials--
  }

  /** Behind dialling(). */
  connected(): void {
    this.reached()
    this.busy++
  }

  /** The address works. Behind dialling(). */
  reached(): void {
    this.#dials--
    this.#failures = 0
  }

  /** Behind dialling(). */
  connectFailed(): void {
    this.#dials--
    const pause = Math.min(EJECT_FIRST_MS * 2 ** this.#failures, EJECT_MAX_MS)
    this.#failures++
    this.#ejectedUntil = performance.now() + pause
  }

  release(connection: Http1Upstream): void {
    const max = this.#owner.requestsPerConnectionMax
    if (max > 0 && connection.served >= max) {
      connection.close()
      return
    }
    this.busy--
    this.#idle.push(connection)
    if (this.#owner.offer(this)) return
    this.#owner.timers.arm(connection.idleTimer, turnStartedAt, this.#owner.idleTimeoutMs)
  }

  gone(connection: Http1Upstream): void {
    const index = this.#idle.indexOf(connection)
    if (index < 0) this.busy--
    else this.#idle.splice(index, 1)
    this.#owner.timers.remove(connection.idleTimer)
    this.#owner.closed()
  }

  failed(_connection: Http1Upstream, ex: Exchange, code: ErrorCode, repeat: Repeat): void {
    this.#owner.failed(ex, code, repeat, HTTP1)
  }

  /** Closes what is idle; what is busy closes when its exchange is over. */
  closeIdle(): void {
    for (const connection of [...this.#idle]) connection.close()
    this.http2.closeIdle()
  }
}

function labelOf(address: Address): string {
  if ('unixPath' in address) return `unix:${address.unixPath}`
  return address.family === 6 ? `[${address.ip}]:${address.port}` : `${address.ip}:${address.port}`
}
