/**
 * Port -> listener -> host -> path. Everything that depends on the configuration alone is done once:
 * a request costs a few Map lookups and one substring per path segment, with one route or with 5,000.
 */
import type { Problem } from '#engine/contract/config-error.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { DialectFinder, Exchange } from '#engine/contract/exchange.ts'
import type { Listener, ListenerParts, Recorder, Route, Router } from '#engine/contract/route.ts'
import type { ClientTls } from '#engine/contract/transport.ts'
import { hostOf } from '#engine/http/authority.ts'
import { decodedPath, isPlainPath, meansSlashes, readingsOf } from '#engine/http/path.ts'
import { REQUEST_DEFAULTS, type RequestRules } from '#engine/http/request-rules.ts'
import { type Candidate, QueryMemo } from './candidate.ts'
import { HostTable } from './hosts.ts'
import { nearestText, type RouterRoute } from './misses.ts'
import { receiveRequest } from './receive.ts'
import { type Chain, RouterCache } from './router-cache.ts'

/** The part of a configuration that routing reads; the Snapshot's binds have this shape. */
export interface RouterBind<R extends RouterRoute = RouterRoute> {
  readonly port: number
  readonly listeners: readonly RouterListener<R>[]
}
export interface RouterListener<R extends RouterRoute = RouterRoute> {
  readonly name: string
  readonly hostname: string
  readonly routes: readonly R[]
  /** Null or absent: clear text. */
  readonly tls?: ListenerTls | null
  /** Absent: the defaults. */
  readonly requests?: RequestRules
}
/** What a listener asks of connections. */
interface ListenerTls {
  readonly clientCa: string | null
  readonly allowsUnverified?: boolean
}
/** Where a listener stands in the configuration. */
export interface ListenerIndex {
  readonly port: number
  readonly listener: number
  readonly bind: number
}

/**
 * Builds the router. `compileListener` is called once per listener, and then `compileRoutes` for the routes of it,
 * which it returns in their order. Problems (two listeners for one host, expressions that do not compile) are appended
 * to `problems`; the router may only be used when there are none. `cache`: of the router that this one takes the place
 * of.
 */
export function buildRouter<R extends RouterRoute>(
  binds: readonly RouterBind<R>[],
  compileListener: (place: ListenerIndex) => ListenerParts,
  compileRoutes: (specs: readonly R[], place: ListenerIndex) => readonly Route[],
  problems: Problem[],
  cache = new RouterCache()
): Router {
  cache.begin()
  const ports: Ports = new Map()
  const memo = new QueryMemo()
  binds.forEach((bind, b) => {
    const listeners = ports.get(bind.port) ?? new HostTable<RoutedListener>()
    ports.set(bind.port, listeners)
    bind.listeners.forEach((listener, l) => {
      const path = `binds[${b}].listeners[${l}]`
      if (listeners.get(listener.hostname) !== undefined) {
        const message = `port ${bind.port} already has a listener for the host "${listener.hostname}"`
        problems.push({ path: `${path}.hostname`, message })
      }
      const place = { bind: b, listener: l, port: bind.port }
      const parts = compileListener(place)
      const routes = compileRoutes(listener.routes, place)
      const chains = cache.chainsOf(`${bind.port} ${listener.name}`, listener.routes, routes, path, problems)
      listeners.set(listener.hostname, new RoutedListener(parts, chains, memo, listener, path))
    })
  })
  if (problems.length === 0) cache.keep()
  return new PortRouter(ports)
}

type Ports = Map<number, HostTable<RoutedListener>>

class PortRouter implements Router {
  readonly #ports: Ports

  constructor(ports: Ports) {
    this.#ports = ports
  }

  route(ex: Exchange): ErrorCode | null {
    const host = hostOf(ex.authority)
    // A bind on port 0 got its number from the kernel: it serves what no other bind does.
    const listeners = this.#ports.get(ex.client.localPort) ?? this.#ports.get(0)
    const listener = listeners?.find(host)
    const tls = ex.client.tls ?? null
    // A certificate, and what a client had to show, hold for the listener that the handshake was made with.
    if (listener === undefined) return tls === null ? 'LISTENER_NOT_FOUND' : 'MISDIRECTED'
    if (!listener.admits(tls)) return 'MISDIRECTED'
    ex.listener = listener
    const code = listener.receive(ex)
    if (code !== null || listener.requestHooks !== null) return code
    return listener.match(ex, host)
  }
}

class RoutedListener implements Listener {
  readonly name: string
  readonly port: number
  readonly requestHooks: Listener['requestHooks']
  readonly dialect?: DialectFinder
  readonly responseHooks: Listener['responseHooks']
  readonly recorder: Recorder
  readonly requestId?: NonNullable<ListenerParts['requestId']>
  readonly hookOwners?: NonNullable<ListenerParts['hookOwners']>
  readonly placesOf?: NonNullable<ListenerParts['placesOf']>
  readonly sourceOf?: NonNullable<ListenerParts['sourceOf']>
  /** In the Snapshot. */
  readonly #path: string
  readonly #hosts: HostTable<Chain>
  readonly #memo: QueryMemo
  readonly #tls: ListenerTls | null
  readonly #rules: RequestRules
  /** In the order of the configuration. */
  readonly #routes: readonly RouterRoute[]

  constructor(
    parts: ListenerParts,
    hosts: HostTable<Chain>,
    memo: QueryMemo,
    { tls = null, requests = REQUEST_DEFAULTS, routes }: Pick<RouterListener, 'tls' | 'requests' | 'routes'>,
    path: string
  ) {
    this.name = parts.name
    this.port = parts.port
    this.requestHooks = parts.requestHooks
    if (parts.dialect !== undefined) this.dialect = parts.dialect
    this.responseHooks = parts.responseHooks
    this.recorder = parts.recorder
    if (parts.requestId !== undefined) this.requestId = parts.requestId
    if (parts.placesOf !== undefined) this.placesOf = parts.placesOf
    if (parts.hookOwners !== undefined) this.hookOwners = parts.hookOwners
    if (parts.sourceOf !== undefined) this.sourceOf = parts.sourceOf
    this.#path = path
    this.#hosts = hosts
    this.#memo = memo
    this.#tls = tls
    this.#rules = requests
    this.#routes = routes
  }

  /** False for a connection older than the listener's settings: the client must connect anew. */
  admits(tls: ClientTls | null): boolean {
    const own = this.#tls
    if (tls === null) return own === null
    if (tls.listener !== this.name) return false
    if (own === null || own.clientCa === null) return true
    return tls.clientCa === own.clientCa && (own.allowsUnverified === true || tls.allowsUnverified !== true)
  }

  receive(ex: Exchange): ErrorCode | null {
    return receiveRequest(ex, this.#rules)
  }

  route(ex: Exchange): ErrorCode | null {
    return this.match(ex, hostOf(ex.authority))
  }

  whyNoRoute(ex: Exchange): string {
    const sourceOf = (inside: string) => this.sourceOf?.(`${this.#path}.${inside}`) ?? null
    return `listener ${this.name}: ${nearestText(this.#routes, ex, hostOf(ex.authority), sourceOf)}`
  }

  /** `host`: that of ex.authority. */
  match(ex: Exchange, host: string): ErrorCode | null {
    if (!isPlainPath(ex.path)) return this.#matchReadings(ex, host)
    const candidate = this.#find(ex.path, ex, host)
    if (candidate === null) return 'ROUTE_NOT_FOUND'
    ex.route = candidate.route
    ex.matchIndex = candidate.matchIndex
    return null
  }

  /**
   * For any path: what a server may take for another path has to lead to the same route then too, or to none as it
   * does: its policies were made for that path, and a path without a route must not be reachable. A route
   * that names the very path means it; one that writes "%2F" means names with slashes, where no other route is near.
   */
  #matchReadings(ex: Exchange, host: string): ErrorCode | null {
    const readings = readingsOf(ex.path)
    if (readings === null) return 'BAD_PATH'
    const own = this.#find(decodedPath(ex.path), ex, host)
    const match = own?.route.matches[own.matchIndex]
    if (match?.kind !== 'exact') {
      for (let i = 1; i < readings.length; i++) {
        const other = this.#find(decodedPath(readings[i]!), ex, host)
        if (other?.route === own?.route) continue
        if (other !== null || match === undefined || !meansSlashes(match.path, ex.path)) return 'PATH_AMBIGUOUS'
      }
    }
    if (own === null) return 'ROUTE_NOT_FOUND'
    ex.route = own.route
    ex.matchIndex = own.matchIndex
    return null
  }

  #find(path: string, ex: Exchange, host: string): Candidate | null {
    const chain = this.#hosts.find(host)
    if (chain === undefined) return null
    for (let i = 0; i < chain.length; i++) {
      const candidate = chain[i]!.find(path, ex, this.#memo)
      if (candidate !== null) return candidate
    }
    return null
  }
}
