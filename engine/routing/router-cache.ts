/** What a router takes over from the one before: the tables of hosts whose routes have not changed. */
import type { Problem } from '#engine/contract/config-error.ts'
import type { Route } from '#engine/contract/route.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import { type Candidate, compileCandidate, type MatchSpec, type PathSpec } from './candidate.ts'
import { HostTable } from './hosts.ts'
import type { MatchedRoute } from './misses.ts'
import { PathTable } from './paths.ts'

/** Path tables to try in turn for a host, most specific host name first. */
export type Chain = readonly PathTable[]

interface Entry {
  readonly path: PathSpec
  readonly candidate: Candidate
}

/** The matches of a route. */
interface RouteMatches {
  readonly matched: MatchedRoute
  readonly entries: readonly Entry[]
}

interface RouterRoute {
  readonly hostnames: readonly string[]
  readonly matches: readonly MatchSpec[]
}

interface HostEntries {
  readonly entries: Entry[]
  table: PathTable | null
}

/** The hosts of one listener. */
interface ListenerHosts {
  readonly tables: ReadonlyMap<string, HostEntries>
  readonly hosts: HostTable<Chain>
}

const EVERY_HOST = ['*']

/** Of the routers of one thread, of which each takes over from the one before. */
export class RouterCache {
  readonly #routes = new WeakMap<Route, RouteMatches>()
  #before: ReadonlyMap<string, ListenerHosts> = new Map()
  #made = new Map<string, ListenerHosts>()

  /** Another router begins. One with problems is not taken over from. */
  begin(): void {
    this.#made = new Map()
  }

  /** The router is in order. */
  keep(): void {
    this.#before = this.#made
  }

  /** `key`: names the listener over configurations. `path`: of it, for problems. Routes as `specs`. */
  hostsOf(
    key: string,
    specs: readonly RouterRoute[],
    routes: readonly Route[],
    path: string,
    problems: Problem[]
  ): { readonly hosts: HostTable<Chain>; readonly matched: readonly MatchedRoute[] } {
    const report = (route: number, match: number, error: unknown) =>
      problems.push({ path: `${path}.routes[${route}].matches[${match}]`, message: (error as Error).message })
    const tables = new Map<string, HostEntries>()
    const matched = specs.map((spec, r) => {
      const known = this.#matchesOf(routes[r]!, spec, (m, error) => report(r, m, error))
      for (const hostname of spec.hostnames.length === 0 ? EVERY_HOST : spec.hostnames) {
        const host = tables.get(hostname)
        if (host === undefined) tables.set(hostname, { entries: [...known.entries], table: null })
        else host.entries.push(...known.entries)
      }
      return known.matched
    })
    const before = this.#before.get(key)
    let isSame = before?.tables.size === tables.size
    for (const [hostname, host] of tables) {
      const other = before?.tables.get(hostname)
      if (other !== undefined && isSameList(other.entries, host.entries)) host.table = other.table
      else {
        isSame = false
        host.table = tableOf(host.entries, ({ route, matchIndex }, error) =>
          report(routes.indexOf(route), matchIndex, error)
        )
      }
    }
    const hosts = isSame ? before!.hosts : chainsOf(tables)
    this.#made.set(key, { tables, hosts })
    return { hosts, matched }
  }

  #matchesOf(route: Route, spec: RouterRoute, report: (match: number, error: unknown) => void): RouteMatches {
    const known = this.#routes.get(route)
    if (known !== undefined) return known
    const entries = spec.matches.flatMap((match, m) => {
      try {
        return [{ path: match.path, candidate: compileCandidate(match, route, m) }]
      } catch (error) {
        report(m, error)
        return []
      }
    })
    const made = { matched: { name: route.name, hostnames: spec.hostnames, matches: spec.matches }, entries }
    this.#routes.set(route, made)
    return made
  }
}

function tableOf(entries: readonly Entry[], report: (candidate: Candidate, error: unknown) => void): PathTable {
  const table = new PathTable()
  for (const { path, candidate } of entries) {
    try {
      table.add(path, candidate)
    } catch (error) {
      report(candidate, error)
    }
  }
  return table
}

function chainsOf(tables: ReadonlyMap<string, HostEntries>): HostTable<Chain> {
  const byHost = new HostTable<PathTable>()
  for (const [hostname, { table }] of tables) byHost.set(hostname, table!)
  return byHost.map((_, hostname) => byHost.covering(hostname))
}
