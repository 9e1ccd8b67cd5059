/**
 * One destination of connections whose bytes are passed on unread: its addresses, which of them work,
 * and what is tried next when one does not answer. No pool: every client has a connection of its own.
 */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Destination, EndpointOptions } from '#engine/contract/backend.ts'
import type { Dialled, StreamEndpoint, TcpReason, TcpSession } from '#engine/contract/tcp.ts'
import { CircuitBreaker } from '#engine/kit/circuit-breaker.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import type { Address, Connected, DialOptions, SocketLayer } from '#engine/socket/socket-layer.ts'
import { addressGuard } from './address-guard.ts'
import { EJECTION } from './health.ts'
import { Resolver } from './resolver.ts'

const ATTEMPTS_MAX = 4
/** Addresses of one name that are used. */
const ADDRESSES_MAX = 64
/** How long the addresses of this machine are believed. */
const OWN_ADDRESSES_MS = 5_000

export interface StreamShared {
  readonly sockets: SocketLayer
  readonly timers: TimerWheel
  readonly observer: { connected(): void; connectFailed(code: string): void }
}

export type StreamOptions = Omit<EndpointOptions, 'tls'>

/** One address, and how it does. */
class Place {
  readonly address: Address
  readonly label: string
  /** Connections that exist or are being made. */
  busy = 0
  readonly breaker = new CircuitBreaker(EJECTION)

  constructor(address: Address) {
    this.address = address
    this.label = labelOf(address)
  }

  get ejected(): boolean {
    return !this.breaker.isClosed && !this.breaker.allows(performance.now())
  }

  failed(): void {
    this.busy--
    this.breaker.failed(performance.now())
  }
}

export class StreamState implements StreamEndpoint {
  readonly name: string
  #places: Place[] = []
  #known: readonly unknown[] | null = null
  #next = 0
  /** Attempts that are under way. */
  #dialling = 0
  readonly mayDial: ((ip: string) => boolean) | null
  readonly shared: StreamShared
  readonly connectTimeoutMs: number
  readonly dial: DialOptions
  readonly #port: number
  readonly #resolver: Resolver | null

  constructor(destination: Destination, options: StreamOptions, shared: StreamShared, resolver?: Resolver) {
    const { host, port, unixPath } = destination
    this.shared = shared
    this.connectTimeoutMs = options.connectTimeoutMs
    this.dial = options.keepaliveMs === undefined ? {} : { keepaliveMs: options.keepaliveMs }
    this.mayDial = options.guarded ? addressGuard(options.allow) : null
    this.#port = port
    this.#resolver = unixPath === null ? (resolver ?? new Resolver(host)) : null
    this.name = unixPath === null ? `${isIP(host) === 6 ? `[${host}]` : host}:${port}` : `unix:${unixPath}`
    if (unixPath !== null) this.#places = [new Place({ unixPath })]
  }

  get usable(): boolean {
    return this.#places.length === 0 || this.#places.some((place) => !place.ejected)
  }

  /** Connections that exist or are being made. */
  get total(): number {
    return this.#places.reduce((sum, place) => sum + place.busy, this.#dialling)
  }

  connect(session: TcpSession, done: Dialled): () => void {
    const dial = new Dial(this, session, done)
    dial.next()
    return () => dial.giveUp()
  }

  dialling(count: number): void {
    this.#dialling += count
  }

  async resolve(): Promise<void> {
    await this.#resolver?.resolve()
  }

  /** The addresses known now; none: they have to be resolved first. */
  places(): readonly Place[] {
    const resolver = this.#resolver
    if (resolver === null) return this.#places
    const { addresses } = resolver
    if (addresses !== this.#known) {
      this.#known = addresses
      const before = this.#places
      this.#places = addresses.slice(0, ADDRESSES_MAX).map(({ ip, family }) => {
        const kept = before.find(({ address }) => 'ip' in address && address.ip === ip)
        return kept ?? new Place({ ip, family, port: this.#port })
      })
    }
    return this.#places
  }

  /** The least busy address that works, among those not in `tried`; the one back soonest if none works. */
  pick(tried: readonly Place[]): Place | null {
    const places = this.places()
    let best: Place | null = null
    const offset = this.#next++
    for (let i = 0; i < places.length; i++) {
      const place = places[(offset + i) % places.length]!
      if (!tried.includes(place) && (best === null || isBetter(place, best))) best = place
    }
    return best
  }
}

/** One client's way to one of the addresses. */
class Dial {
  readonly #endpoint: StreamState
  readonly #session: TcpSession
  readonly #done: Dialled
  readonly #timer: WheelTimer
  readonly #tried: Place[] = []
  #place: Place | null = null
  #abandon: () => void = () => {}
  #isOver = false
  #hasResolved = false

  constructor(endpoint: StreamState, session: TcpSession, done: Dialled) {
    this.#endpoint = endpoint
    this.#session = session
    this.#done = done
    this.#timer = new WheelTimer(() => this.#onTimeout())
    endpoint.dialling(1)
  }

  next(): void {
    const endpoint = this.#endpoint
    if (endpoint.places().length === 0) {
      if (this.#hasResolved) this.#end('DNS_FAILURE')
      else this.#resolve()
      return
    }
    const place = endpoint.pick(this.#tried)
    if (place === null) {
      this.#end('CONNECT_FAILURE')
      return
    }
    const { address } = place
    if ('ip' in address) {
      // One refused address of a name is enough: picking the others would make the guard a lottery.
      if (endpoint.mayDial !== null && !endpoint.mayDial(address.ip)) {
        this.#end('ADDRESS_REFUSED')
        return
      }
      if (address.port === this.#session.localPort && isOwnAddress(address.ip)) {
        this.#end('LOOP_DETECTED')
        return
      }
    }
    this.#connect(place)
  }

  #resolve(): void {
    this.#hasResolved = true
    this.#arm()
    const resolved = (code: TcpReason | null) => {
      enterTurn()
      if (!this.#isOver && code === null) this.next()
      else if (code !== null) this.#end(code)
      leaveTurn()
    }
    this.#endpoint.resolve().then(
      () => resolved(null),
      () => resolved('DNS_FAILURE')
    )
  }

  #arm(): void {
    this.#endpoint.shared.timers.arm(this.#timer, performance.now(), this.#endpoint.connectTimeoutMs)
  }

  #connect(place: Place): void {
    const session = this.#session
    const { sockets, observer } = this.#endpoint.shared
    session.attempts++
    session.endpoint = place.label
    place.busy++
    this.#place = place
    this.#arm()
    const done: Connected = (code, wire) => {
      if (wire === null) {
        this.#failed(place, code ?? 'EIO')
        return
      }
      observer.connected()
      place.breaker.succeeded()
      session.release = () => {
        place.busy--
      }
      this.#over()
      this.#done(null, wire)
    }
    this.#abandon = sockets.connect(place.address, done, null, this.#endpoint.dial)
  }

  /** Nothing was sent: the next address may always be tried. */
  #failed(place: Place, code: string): void {
    this.#place = null
    this.#endpoint.shared.observer.connectFailed(code)
    place.failed()
    this.#tried.push(place)
    if (this.#tried.length < ATTEMPTS_MAX && this.#tried.length < this.#endpoint.places().length) this.next()
    else this.#end(code === 'ETIMEDOUT' ? 'CONNECT_TIMEOUT' : 'CONNECT_FAILURE')
  }

  #onTimeout(): void {
    const place = this.#place
    enterTurn()
    if (place === null) this.#end('CONNECT_TIMEOUT')
    else {
      this.#abandon()
      this.#failed(place, 'ETIMEDOUT')
    }
    leaveTurn()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#place = null
    this.#endpoint.dialling(-1)
    this.#endpoint.shared.timers.remove(this.#timer)
  }

  #end(reason: TcpReason): void {
    if (this.#isOver) return
    this.#over()
    this.#done(reason, null)
  }

  giveUp(): void {
    const place = this.#place
    if (this.#isOver) return
    this.#over()
    if (place === null) return
    place.busy--
    this.#abandon()
  }
}

function isBetter(place: Place, best: Place): boolean {
  const { ejected } = place
  if (ejected !== best.ejected) return !ejected
  return ejected ? place.breaker.openUntil < best.breaker.openUntil : place.busy < best.busy
}

function labelOf(address: Address): string {
  if ('unixPath' in address) return `unix:${address.unixPath}`
  return address.family === 6 ? `[${address.ip}]:${address.port}` : `${address.ip}:${address.port}`
}

let own = new Set<string>()
let ownUntil = 0

/** Whether a connection to `ip` ends on this machine. */
function isOwnAddress(ip: string): boolean {
  if (ip.startsWith('127.') || ip === '0.0.0.0' || ip === '::' || ip === '::1') return true
  const now = performance.now()
  if (ownUntil <= now) {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
    own = new Set(all.map(({ address }) => address))
    ownUntil = now + OWN_ADDRESSES_MS
  }
  return own.has(ip)
}
