/**
 * Port -> listener -> host -> path. Everything that depends on the configuration alone is done once:
 * a request costs a few Map lookups and one substring per path segment, with one route or with 5,000.
 */
import type { Problem } from '#engine/contract/config-error.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Route, Router } from '#engine/contract/route.ts'
import { hostOf } from '#engine/http/authority.ts'
import { compileCandidate, type MatchSpec, QueryMemo } from './candidate.ts'
import { HostTable } from './hosts.ts'
import { PathTable } from './paths.ts'

/** The part of a configuration that routing reads; the Snapshot's binds have this shape. */
export interface RouterBind<R extends RouterRoute = RouterRoute> {
  readonly port: number
  readonly listeners: readonly RouterListener<R>[]
}
export interface RouterListener<R extends RouterRoute = RouterRoute> {
  readonly name: string
  readonly hostname: string
  readonly routes: readonly R[]
}
export interface RouterRoute {
  readonly hostnames: readonly string[]
  readonly matches: readonly MatchSpec[]
}

/** Where a route stands in the configuration. */
export interface RoutePlace {
  readonly port: number
  readonly listener: number
  readonly route: number
  readonly bind: number
}

/** Path tables to try in turn for a host, most specific host name first. */
type Chain = readonly PathTable[]

/**
 * Builds the router. `compileRoute` is called once per route of every listener. Problems (two
 * listeners for one host, expressions that do not compile) are appended to `problems`; the router
 * may only be used when there are none.
 */
export function buildRouter<R extends RouterRoute>(
  binds: readonly RouterBind<R>[],
  compileRoute: (spec: R, place: RoutePlace) => Route,
  problems: Problem[]
): Router {
  const ports = new Map<number, HostTable<HostTable<Chain>>>()
  binds.forEach((bind, b) => {
    const listeners = ports.get(bind.port) ?? new HostTable<HostTable<Chain>>()
    ports.set(bind.port, listeners)
    bind.listeners.forEach((listener, l) => {
      const path = `binds[${b}].listeners[${l}]`
      if (listeners.get(listener.hostname) !== undefined) {
        const message = `port ${bind.port} already has a listener for the host "${listener.hostname}"`
        problems.push({ path: `${path}.hostname`, message })
      }
      const compile = (spec: R, route: number) => compileRoute(spec, { bind: b, listener: l, route, port: bind.port })
      listeners.set(listener.hostname, buildHosts(listener.routes, compile, path, problems))
    })
  })
  return new PortRouter(ports)
}

function buildHosts<R extends RouterRoute>(
  routes: readonly R[],
  compileRoute: (spec: R, index: number) => Route,
  path: string,
  problems: Problem[]
): HostTable<Chain> {
  const tables = new HostTable<PathTable>()
  routes.forEach((spec, r) => {
    const route = compileRoute(spec, r)
    const hostnames = spec.hostnames.length === 0 ? ['*'] : spec.hostnames
    spec.matches.forEach((match, m) => {
      try {
        const candidate = compileCandidate(match, route, m)
        for (const hostname of hostnames) {
          const table = tables.get(hostname) ?? new PathTable()
          tables.set(hostname, table)
          table.add(match.path, candidate)
        }
      } catch (error) {
        problems.push({ path: `${path}.routes[${r}].matches[${m}]`, message: (error as Error).message })
      }
    })
  })
  return tables.map((_, hostname) => tables.covering(hostname))
}

class PortRouter implements Router {
  readonly #ports: ReadonlyMap<number, HostTable<HostTable<Chain>>>
  readonly #memo = new QueryMemo()

  constructor(ports: ReadonlyMap<number, HostTable<HostTable<Chain>>>) {
    this.#ports = ports
  }

  route(ex: Exchange): ErrorCode | null {
    const host = hostOf(ex.authority)
    // A bind on port 0 got its number from the kernel: it serves what no other bind does.
    const listeners = this.#ports.get(ex.client.localPort) ?? this.#ports.get(0)
    const hosts = listeners?.find(host)
    if (hosts === undefined) return 'LISTENER_NOT_FOUND'
    const chain = hosts.find(host)
    if (chain !== undefined) {
      for (let i = 0; i < chain.length; i++) {
        const candidate = chain[i]!.find(ex, this.#memo)
        if (candidate === null) continue
        ex.route = candidate.route
        ex.matchIndex = candidate.matchIndex
        return null
      }
    }
    return 'ROUTE_NOT_FOUND'
  }
}
