/**
 * The rules of matching written down for clarity instead of speed: every match of every route is
 * tried and the winners are sorted. Tests and fuzzing compare engine/routing with it.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { decodedPath, meansSlashes, normalPath, PATH_DEFAULTS, readingsOf } from '#engine/http/path.ts'
import type { PathMatch, RouteMatch, ValueMatch } from '#engine/ir/snapshot.ts'
import { compilePattern, type Pattern } from '#engine/kit/pattern.ts'

export interface ReferenceRoute {
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
}
export interface ReferenceListener {
  readonly hostname: string
  readonly routes: readonly ReferenceRoute[]
}

/** Indices into the configuration, or why nothing serves the request. */
export type Answer =
  | { readonly listener: number; readonly route: number; readonly match: number }
  | 'LISTENER_NOT_FOUND'
  | 'ROUTE_NOT_FOUND'
  | 'BAD_PATH'
  | 'PATH_AMBIGUOUS'

/** What the listeners of one port answer to `ex`, as it was sent; its authority carries no port here. */
export function referenceRoute(listeners: readonly ReferenceListener[], ex: Exchange): Answer {
  const listener = argMax(listeners.map((l) => hostRank(l.hostname, ex.authority)))
  if (listener === null) return 'LISTENER_NOT_FOUND'
  const normal = normalPath(ex.rawPath, PATH_DEFAULTS)
  const readings = normal === null ? null : readingsOf(normal.path)
  if (readings === null) return 'BAD_PATH'
  const answers = readings.map((reading) => routeAt(listeners, listener, ex, decodedPath(reading)))
  const own = answers[0]!
  const route = (answer: Answer) => (typeof answer === 'string' ? null : answer.route)
  const spec = typeof own === 'string' ? null : listeners[listener]!.routes[own.route]!.matches[own.match]!.path
  if (spec !== null && 'exact' in spec) return own
  const isMeant = spec !== null && meansSlashes('regex' in spec ? spec.regex : spec.prefix, readings[0]!)
  const isSame = (other: Answer) => route(other) === route(own) || (isMeant && route(other) === null)
  return answers.every(isSame) ? own : 'PATH_AMBIGUOUS'
}

function routeAt(listeners: readonly ReferenceListener[], listener: number, ex: Exchange, text: string): Answer {
  const found: { rank: number[]; route: number; match: number }[] = []
  listeners[listener]!.routes.forEach((route, r) => {
    const hostnames = route.hostnames.length === 0 ? ['*'] : route.hostnames
    const host = Math.max(...hostnames.map((name) => hostRank(name, ex.authority)))
    route.matches.forEach((match, m) => {
      const path = pathRank(match.path, text)
      if (host < 0 || path === null || !conditionsHold(match, ex)) return
      const conditions = [match.method === undefined ? 0 : 1, match.headers.length, match.query.length]
      found.push({ rank: [host, ...path, ...conditions, -r, -m], route: r, match: m })
    })
  })
  found.sort((a, b) => compare(b.rank, a.rank))
  return found[0] === undefined ? 'ROUTE_NOT_FOUND' : { listener, route: found[0].route, match: found[0].match }
}

/** -1: does not cover the host; "*" 0; a wildcard its length; an exact name more than any wildcard. */
function hostRank(hostname: string, host: string): number {
  if (hostname === '*') return 0
  if (!hostname.startsWith('*.')) return hostname === host ? 10_000 : -1
  return host.endsWith(hostname.slice(1)) && host.length >= hostname.length ? hostname.length : -1
}

/** [kind, length], larger is better; null: no match. */
function pathRank(spec: PathMatch, path: string): [number, number] | null {
  if ('exact' in spec) return path === decodedPath(spec.exact) ? [2, 0] : null
  if ('regex' in spec) return patternOf(spec.regex).matches(path) ? [0, 0] : null
  const prefix = decodedPath(spec.prefix.replace(/\/$/, ''))
  const matches = path.startsWith('/') && (path === prefix || path.startsWith(`${prefix}/`))
  return matches ? [1, prefix.length] : null
}

function conditionsHold(match: RouteMatch, ex: Exchange): boolean {
  if (match.method !== undefined && match.method !== ex.method) return false
  for (const { name, value } of match.headers) {
    const values: string[] = []
    ex.request.forEach((n, v) => {
      if (n.toLowerCase() === name) values.push(v)
    })
    if (values.length === 0 || !valueMatches(value, values.join(','))) return false
  }
  const pairs = queryPairs(ex.query)
  return match.query.every(({ name, value }) => pairs.some(([n, v]) => n === name && valueMatches(value, v)))
}

function valueMatches(spec: ValueMatch, value: string): boolean {
  return 'exact' in spec ? value === spec.exact : patternOf(spec.regex).matches(value)
}

const patterns = new Map<string, Pattern>()

/** Compiling dominates the time of a comparison, so each expression is compiled once. */
function patternOf(source: string): Pattern {
  const pattern = patterns.get(source) ?? compilePattern(source)
  patterns.set(source, pattern)
  return pattern
}

function queryPairs(query: string): [string, string][] {
  const parts = query.replace(/^\?/, '').split('&')
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=')
      if (equals < 0) return [decode(part), '']
      return [decode(part.slice(0, equals)), decode(part.slice(equals + 1))]
    })
}

/** application/x-www-form-urlencoded (WHATWG URL section 5.1): broken escapes stay, broken UTF-8 is replaced. */
function decode(text: string): string {
  const bytes = Buffer.from(text.replaceAll('+', ' '), 'utf8')
  const out: number[] = []
  for (let i = 0; i < bytes.length; i++) {
    const hex = bytes.toString('latin1', i + 1, i + 3)
    if (bytes[i] === 0x25 && /^[0-9A-Fa-f]{2}$/.test(hex)) {
      out.push(Number.parseInt(hex, 16))
      i += 2
    } else out.push(bytes[i]!)
  }
  // A byte order mark is a character like any other here (WHATWG decodes without BOM).
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(out))
}

function argMax(ranks: readonly number[]): number | null {
  let best: number | null = null
  ranks.forEach((rank, i) => {
    if (rank >= 0 && (best === null || rank > ranks[best]!)) best = i
  })
  return best
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!
  return 0
}
