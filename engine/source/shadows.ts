/**
 * Routes that no request can reach: others take every one of them. Only what the rules of routing
 * (engine/routing: host, then path, then conditions, then order) make certain is reported; overlaps of regular
 * expressions are not computed.
 */
import type { Bind, Listener, RouteMatch, RouteSpec, ValueMatch } from '#engine/ir/snapshot.ts'
import { compilePattern } from '#engine/kit/pattern.ts'
import { HostTable } from '#engine/routing/hosts.ts'
import type { Path } from '#engine/schema/placed.ts'
import type { Finding } from './tree.ts'
import { overlap } from './warnings.ts'

/** `binds` of a Snapshot, of which the first `written` stand in the configuration as they are. */
export function shadowed(binds: readonly Bind[], written: number): Finding[] {
  const ports = new Map<number, HostTable<Listener>>()
  for (const { port, listeners } of binds) {
    const table = ports.get(port) ?? new HostTable<Listener>()
    ports.set(port, table)
    for (const listener of listeners) table.set(listener.hostname, listener)
  }
  return binds.slice(0, written).flatMap(({ port, listeners }, b) =>
    listeners.flatMap((listener, l) => {
      const routes = ['binds', b, 'listeners', l, 'routes']
      const warn = (path: Path, message: string): Finding => ({ path: [...routes, ...path], message, at: 'value' })
      return new Shadows(listener, ports.get(port)!, warn).run()
    })
  )
}

type Warn = (path: Path, message: string) => Finding

/** What the routes of one host name have, each with the name of the route that had it first. */
interface Taken {
  /** By path and conditions. */
  readonly matches: Map<string, string>
  /** Conditions of those whose path is every path. */
  readonly everywhere: Map<string, string>
}

class Shadows {
  readonly #listener: Listener
  readonly #listeners: HostTable<Listener>
  readonly #warn: Warn
  readonly #tables = new HostTable<Taken>()

  constructor(listener: Listener, listeners: HostTable<Listener>, warn: Warn) {
    this.#listener = listener
    this.#listeners = listeners
    this.#warn = warn
  }

  run(): Finding[] {
    const { routes } = this.#listener
    // All of them first: between a prefix and an expression it is not the order that decides.
    for (const route of routes) for (const hostname of hostsOf(route)) this.#note(hostname, route)
    const seen = new HostTable<Set<string>>()
    return routes.flatMap((route, r) => this.#look(route, r, seen))
  }

  #note(hostname: string, { matches, name }: RouteSpec): void {
    const taken = this.#tables.get(hostname) ?? { matches: new Map(), everywhere: new Map() }
    this.#tables.set(hostname, taken)
    for (const match of matches) {
      const { key, conditions, isEverywhere } = termsOf(match)
      if (!taken.matches.has(key)) taken.matches.set(key, name)
      if (isEverywhere && !taken.everywhere.has(conditions)) taken.everywhere.set(conditions, name)
    }
  }

  /** `seen`: what the routes before it, and this one so far, have. */
  #look(route: RouteSpec, r: number, seen: HostTable<Set<string>>): Finding[] {
    const findings: Finding[] = []
    let by: string | undefined
    let isReached = false
    hostsOf(route).forEach((hostname, h) => {
      const host = narrower(this.#listener.hostname, hostname)
      // The routes that get requests for the host, or for those that a wildcard covers and no longer one does.
      const other = host === undefined ? undefined : this.#listeners.covering(host)[0]
      if (other !== undefined && other !== this.#listener) {
        const message = `is never a host of this listener: requests for it go to the listener "${other.name}"`
        // Without host names of its own it is the listener's, and every route would get a warning.
        if (route.hostnames.length > 0) findings.push(this.#warn([r, 'hostnames', h], message))
        return
      }
      const before = seen.get(hostname) ?? new Set<string>()
      seen.set(hostname, before)
      for (const match of route.matches) {
        const { key } = termsOf(match)
        const taker = host === undefined ? '' : this.#takerOf(host, hostname, match, before)
        before.add(key)
        if (taker === undefined) isReached = true
        else if (taker !== '' && (by === undefined || by === route.name)) by = taker
      }
    })
    if (by === undefined || isReached) return findings
    const message = `is never chosen: others take every request that it matches, such as the route "${by}"`
    return [...findings, this.#warn([r], message)]
  }

  /** Which route gets the requests for `host` that `match` of a route for `hostname` is about; undefined: that one. */
  #takerOf(host: string, hostname: string, match: RouteMatch, before: ReadonlySet<string>): string | undefined {
    const { key, conditions } = termsOf(match)
    const own = this.#tables.get(hostname)!
    for (const taken of this.#tables.covering(host)) {
      const covering = taken.everywhere.get(NONE) ?? taken.everywhere.get(conditions)
      const everywhere = covering !== undefined && isInPaths(match) ? covering : undefined
      if (taken !== own) {
        const taker = taken.matches.get(key) ?? everywhere
        if (taker !== undefined) return taker
        continue
      }
      if (before.has(key)) return own.matches.get(key)
      // In one table prefixes come before expressions, and the longer prefix before the shorter.
      return 'regex' in match.path ? everywhere : undefined
    }
    return undefined
  }
}

function hostsOf({ hostnames }: RouteSpec): readonly string[] {
  return hostnames.length === 0 ? ['*'] : hostnames
}

const isWild = (host: string): boolean => host.startsWith('*')

/** The hosts that both cover, as one name; undefined when there are none. */
function narrower(a: string, b: string): string | undefined {
  if (!overlap(a, b)) return undefined
  if (a === '*') return b
  if (b === '*') return a
  if (isWild(a) !== isWild(b)) return isWild(a) ? b : a
  return a.length > b.length ? a : b
}

/** A final slash of a prefix means nothing. */
function pathOf({ path }: RouteMatch): string {
  if ('exact' in path) return `=${path.exact}`
  if ('regex' in path) return `~${path.regex}`
  return `^${path.prefix.endsWith('/') ? path.prefix.slice(0, -1) : path.prefix}`
}

/** Whether all that it matches begins with a slash: "*", the server as a whole, lies below no prefix. */
function isInPaths({ path }: RouteMatch): boolean {
  return !('regex' in path) || !compilePattern(path.regex).matches('*')
}

const NONE = ''

/** Equal for equal conditions in any order. */
function conditionsOf({ method, headers, query }: RouteMatch): string {
  const of = (kind: string) => (field: { readonly name: string; readonly value: ValueMatch }) =>
    JSON.stringify([kind, field.name, field.value])
  if (method === undefined && headers.length === 0 && query.length === 0) return NONE
  const all = [...headers.map(of('header')), ...query.map(of('query'))].sort()
  return JSON.stringify(method === undefined ? all : [method, ...all])
}

/** What a match asks for, as text that is equal for equal matches. */
interface Terms {
  readonly key: string
  readonly conditions: string
  /** Its path is every path. */
  readonly isEverywhere: boolean
}

/** A reload keeps the matches that it does not change (share.ts). */
const known = new WeakMap<RouteMatch, Terms>()

function termsOf(match: RouteMatch): Terms {
  const before = known.get(match)
  if (before !== undefined) return before
  const path = pathOf(match)
  const conditions = conditionsOf(match)
  const terms = { key: `${path} ${conditions}`, conditions, isEverywhere: path === '^' }
  known.set(match, terms)
  return terms
}
