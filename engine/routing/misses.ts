/** Why routes do not match a request: for the log of one that found none, and for people who ask ahead of it. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { decodedPath } from '#engine/http/path.ts'
import { compilePattern, type Pattern } from '#engine/kit/pattern.ts'
import { isSensitive, redactText, withoutKeys } from '#engine/kit/sensitive.ts'
import { headerReader, type MatchSpec, type PathSpec, QueryMemo, type ValueSpec } from './candidate.ts'

/** A route of a listener, as far as routing reads it; those of the Snapshot have this shape. */
export interface RouterRoute {
  readonly name: string
  readonly hostnames: readonly string[]
  readonly matches: readonly MatchSpec[]
}

/** The parts of a match in the order in which they are looked at. */
const PARTS = ['host', 'path', 'method', 'header', 'query'] as const

/** The first part of a match that a request does not have. */
export interface Miss {
  readonly route: string
  /** Indices into the routes, and into their matches. */
  readonly routeIndex: number
  readonly matchIndex: number
  readonly part: (typeof PARTS)[number]
  /** What the match asks for and what the request has. Nothing secret, and no value of the query. */
  readonly why: string
  /** Of misses of one part the higher is the nearer: characters of the path that agree. */
  readonly agreed: number
}

/** More routes are not looked at for one line of a log: 20 us for so many. */
const LOOKED_AT_MAX = 256
const TEXT_CHARS_MAX = 80

/** One for each match of the first routes that `ex` does not fit; none for those that it fits. `max`: of matches. */
export function missesOf(routes: readonly RouterRoute[], ex: Exchange, host: string, max = LOOKED_AT_MAX): Miss[] {
  const misses: Miss[] = []
  const path = decodedPath(ex.path)
  let looked = 0
  for (const [routeIndex, route] of routes.entries()) {
    for (const [matchIndex, match] of route.matches.entries()) {
      if (++looked > max) return misses
      const found = missOf(route, match, ex, host, path)
      if (found !== null) misses.push({ route: route.name, routeIndex, matchIndex, agreed: 0, ...found })
    }
  }
  return misses
}

/** The one that got farthest; the first of several. Undefined for none. */
export function nearestOf(misses: readonly Miss[]): Miss | undefined {
  return misses.reduce<Miss | undefined>(
    (best, one) => (best === undefined || compare(one, best) < 0 ? one : best),
    undefined
  )
}

/** The nearest miss of each route that does not fit, the nearest route first. */
export function nearestFirst(routes: readonly RouterRoute[], ex: Exchange, host: string): Miss[] {
  const misses = missesOf(routes, ex, host)
  const perRoute = Map.groupBy(misses, ({ routeIndex }) => routeIndex)
  // Of a route with several matches one that fits is enough.
  const missed = [...perRoute].filter(([index, some]) => some.length === routes[index]!.matches.length)
  return missed.map(([, some]) => nearestOf(some)!).toSorted(compare)
}

function compare(a: Miss, b: Miss): number {
  return PARTS.indexOf(b.part) - PARTS.indexOf(a.part) || b.agreed - a.agreed
}

/** For the log of a request without a route. `sourceOf`: where a match was written; null: unknown. */
export function nearestText(
  routes: readonly RouterRoute[],
  ex: Exchange,
  host: string,
  sourceOf: (inside: string) => string | null = () => null
): string {
  const nearest = nearestOf(missesOf(routes, ex, host))
  if (nearest === undefined) return routes.length === 0 ? 'the listener has no routes' : 'no route matches'
  const { route, routeIndex, matchIndex, why } = nearest
  const at = `routes[${routeIndex}].matches[${matchIndex}]`
  const source = sourceOf(at)
  return `nearest of ${routes.length} is ${at} (${route}${source === null ? '' : `, ${source}`}): ${why}`
}

type Found = Pick<Miss, 'part' | 'why'> & Partial<Pick<Miss, 'agreed'>>

function missOf(route: RouterRoute, match: MatchSpec, ex: Exchange, host: string, path: string): Found | null {
  if (!isAmong(host, route.hostnames)) {
    return { part: 'host', why: `its hostnames are ${cut(route.hostnames.join(' '))}, asked is ${cut(host)}` }
  }
  if (!fitsPath(match.path, path)) {
    const wanted = pathText(match.path)
    return { part: 'path', why: `its path is ${wanted}, asked is ${cut(path)}`, agreed: agreedChars(match.path, path) }
  }
  const { method, headers, query } = match
  if (method !== undefined && method !== ex.method) {
    return { part: 'method', why: `its method is ${method}, asked is ${cut(ex.method)}` }
  }
  for (const { name, value } of headers) {
    const found = headerReader(name)(ex)
    if (found !== undefined && fitsValue(value, found)) continue
    const has = found === undefined ? 'is not there' : isSensitive(name) ? 'is another' : `is ${cut(found)}`
    return { part: 'header', why: `its header ${name} ${valueText(name, value)}, that of the request ${has}` }
  }
  for (const { name, value } of query) {
    if (new QueryMemo().some(ex.query, name, (text) => fitsValue(value, text))) continue
    return { part: 'query', why: `its query parameter ${name} ${valueText(name, value)}, the request has no such one` }
  }
  return null
}

/** Compiled when the first line of a log asks, and once: expressions cost more than all other parts of a match. */
const PATTERNS = new WeakMap<object, Pattern>()

function patternOf(spec: { readonly regex: string }): Pattern {
  let pattern = PATTERNS.get(spec)
  if (pattern === undefined) {
    pattern = compilePattern(spec.regex)
    PATTERNS.set(spec, pattern)
  }
  return pattern
}

/** As HostTable finds them. */
function isAmong(host: string, hostnames: readonly string[]): boolean {
  if (hostnames.length === 0) return true
  return hostnames.some((name) => {
    if (!name.startsWith('*')) return name === host
    return name === '*' || (host.endsWith(name.slice(1)) && host.length >= name.length)
  })
}

/** As PathTable finds them. */
function fitsPath(spec: PathSpec, path: string): boolean {
  if ('exact' in spec) return decodedPath(spec.exact) === path
  if ('regex' in spec) return patternOf(spec).matches(path)
  const prefix = decodedPath(spec.prefix).replace(/\/$/, '')
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')
}

function fitsValue(spec: ValueSpec, text: string): boolean {
  return 'exact' in spec ? spec.exact === text : patternOf(spec).matches(text)
}

function agreedChars(spec: PathSpec, path: string): number {
  if ('regex' in spec) return 0
  const wanted = decodedPath('exact' in spec ? spec.exact : spec.prefix)
  let i = 0
  while (i < wanted.length && wanted[i] === path[i]) i++
  return i
}

function pathText(spec: PathSpec): string {
  if ('exact' in spec) return `exactly ${cut(spec.exact)}`
  return 'regex' in spec ? `the expression ${cut(spec.regex)}` : `${cut(spec.prefix)} and below`
}

function valueText(name: string, spec: ValueSpec): string {
  if (isSensitive(name)) return 'has a value of its own'
  return 'exact' in spec ? `is ${cut(spec.exact)}` : `fits ${cut(spec.regex)}`
}

function cut(text: string): string {
  const shown = withoutKeys(redactText(text.slice(0, TEXT_CHARS_MAX)))
  return `"${text.length > TEXT_CHARS_MAX ? `${shown}...` : shown}"`
}
