/** What a router takes over from the one before: the tables of hosts whose routes have not changed. */
import type { Problem } from '#engine/contract/config-error.ts'
import type { Route } from '#engine/contract/route.ts'
import { commonEnds, isSameList } from '#engine/kit/same-list.ts'
import { type Candidate, compileCandidate, type PathSpec } from './candidate.ts'
import { HostTable } from './hosts.ts'
import type { RouterRoute } from './misses.ts'
import { PathTable } from './paths.ts'

/** Path tables to try in turn for a host, most specific host name first. */
export type Chain = readonly PathTable[]

interface Entry {
  readonly path: PathSpec
  readonly candidate: Candidate
}

interface Host {
  readonly entries: readonly Entry[]
  readonly table: PathTable
}

/** The hosts of one listener, and the routes that they were made of. */
interface ListenerHosts {
  readonly specs: readonly RouterRoute[]
  readonly routes: readonly Route[]
  readonly own: HostTable<Host>
  /** Those of them with a star. */
  readonly wildcards: HostTable<PathTable>
  readonly chains: HostTable<Chain>
}

const EVERY_HOST = ['*']
const NO_HOSTS: ListenerHosts = {
  specs: [],
  routes: [],
  own: new HostTable(),
  wildcards: new HostTable(),
  chains: new HostTable()
}

/** Of the routers of one thread, of which each takes over from the one before. */
export class RouterCache {
  readonly #entries = new WeakMap<Route, readonly Entry[]>()
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
  chainsOf(
    key: string,
    specs: readonly RouterRoute[],
    routes: readonly Route[],
    path: string,
    problems: Problem[]
  ): HostTable<Chain> {
    const report: Report = ({ route, matchIndex }, error) =>
      problems.push({
        path: `${path}.routes[${routes.indexOf(route)}].matches[${matchIndex}]`,
        message: (error as Error).message
      })
    const before = this.#before.get(key) ?? NO_HOSTS
    const { start, end } = commonEnds(before.routes, routes)
    const last = { before: before.routes.length - end, now: routes.length - end }
    const stale = new Set([...before.specs.slice(start, last.before), ...specs.slice(start, last.now)].flatMap(namesOf))
    const gone = new Set(before.routes.slice(start, last.before))
    const [from, until] = haveOthers(before, stale, gone) ? [0, routes.length] : [start, last.now]
    const entries = this.#entriesOf(stale, specs.slice(from, until), routes.slice(from, until), report)
    const made = stale.size === 0 ? before : withHosts(before, stale, entries, report)
    this.#made.set(key, { ...made, specs, routes })
    return made.chains
  }

  /** Of these hosts alone, in the order of the routes. */
  #entriesOf(
    hostnames: ReadonlySet<string>,
    specs: readonly RouterRoute[],
    routes: readonly Route[],
    report: Report
  ): ReadonlyMap<string, readonly Entry[]> {
    const found = new Map<string, Entry[]>()
    for (let i = 0; i < specs.length; i++) {
      for (const hostname of namesOf(specs[i]!)) {
        if (!hostnames.has(hostname)) continue
        const entries = this.#candidatesOf(routes[i]!, specs[i]!, report)
        const known = found.get(hostname)
        if (known === undefined) found.set(hostname, [...entries])
        else known.push(...entries)
      }
    }
    return found
  }

  #candidatesOf(route: Route, spec: RouterRoute, report: Report): readonly Entry[] {
    const known = this.#entries.get(route)
    if (known !== undefined) return known
    const made = spec.matches.flatMap((match, matchIndex) => {
      try {
        return [{ path: match.path, candidate: compileCandidate(match, route, matchIndex) }]
      } catch (error) {
        report({ route, matchIndex }, error)
        return []
      }
    })
    this.#entries.set(route, made)
    return made
  }
}

type Report = (match: Pick<Candidate, 'route' | 'matchIndex'>, error: unknown) => void

const namesOf = ({ hostnames }: RouterRoute): readonly string[] => (hostnames.length === 0 ? EVERY_HOST : hostnames)

/** Whether routes that stay have one of these hosts, too. */
function haveOthers(before: ListenerHosts, hostnames: ReadonlySet<string>, gone: ReadonlySet<Route>): boolean {
  for (const hostname of hostnames) {
    const entries = before.own.get(hostname)?.entries ?? []
    if (entries.some(({ candidate }) => !gone.has(candidate.route))) return true
  }
  return false
}

/** `entries`: of the hosts that are stale; those without are gone. */
function withHosts(
  before: ListenerHosts,
  stale: ReadonlySet<string>,
  entries: ReadonlyMap<string, readonly Entry[]>,
  report: Report
): ListenerHosts {
  const changes = new Map<string, Host | undefined>()
  for (const hostname of stale) {
    const fresh = entries.get(hostname)
    const old = before.own.get(hostname)
    if (fresh === undefined) changes.set(hostname, undefined)
    else if (old === undefined || !isSameList(old.entries, fresh)) {
      changes.set(hostname, { entries: fresh, table: tableOf(fresh, report) })
    }
  }
  const own = before.own.with(changes)
  if ([...changes.keys()].some(hasStar)) return { ...before, own, ...allChains(own) }
  const { wildcards, chains } = before
  const changed = [...changes].map(([hostname, host]): [string, Chain | undefined] => [
    hostname,
    host && [host.table, ...wildcards.covering(hostname)]
  ])
  return { ...before, own, chains: chains.with(changed) }
}

const hasStar = (hostname: string): boolean => hostname.startsWith('*')

function allChains(own: ListenerHosts['own']): Pick<ListenerHosts, 'wildcards' | 'chains'> {
  const wildcards = new HostTable<PathTable>()
  for (const [hostname, { table }] of own.entries()) if (hasStar(hostname)) wildcards.set(hostname, table)
  const chains = own.map(({ table }, hostname): Chain => {
    const above = wildcards.covering(hostname)
    return hasStar(hostname) ? above : [table, ...above]
  })
  return { wildcards, chains }
}

function tableOf(entries: readonly Entry[], report: Report): PathTable {
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
