/** One match of one route, compiled: what a request must show besides its path. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CompiledMatch, Route } from '#engine/contract/route.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { decodedPath } from '#engine/http/path.ts'
import { compilePattern } from '#engine/kit/pattern.ts'

export type PathSpec = { readonly exact: string } | { readonly prefix: string } | { readonly regex: string }
export type ValueSpec = { readonly exact: string } | { readonly regex: string }
export interface NamedValueSpec {
  readonly name: string
  readonly value: ValueSpec
}

/** The part of a configuration that matching reads; the Snapshot's matches have this shape. */
export interface MatchSpec {
  readonly path: PathSpec
  readonly method?: string
  readonly headers: readonly NamedValueSpec[]
  readonly query: readonly NamedValueSpec[]
}

type Test = (value: string) => boolean
type Read = (ex: Exchange) => string | undefined

export interface Candidate {
  readonly route: Route
  /** Index into route.matches. */
  readonly matchIndex: number
  /** Null: any. */
  readonly method: string | null
  readonly headers: readonly { readonly read: Read; readonly test: Test }[] | null
  readonly query: readonly { readonly name: string; readonly test: Test }[] | null
}

// --- build time ---

/** What rewrites know about a match. A final slash of a prefix means nothing (Gateway API, PathPrefix). */
export function compileMatch(spec: MatchSpec): CompiledMatch {
  const { path } = spec
  if ('exact' in path) return { kind: 'exact', path: decodedPath(path.exact) }
  if ('regex' in path) return { kind: 'regex', path: path.regex }
  return { kind: 'prefix', path: decodedPath(path.prefix.endsWith('/') ? path.prefix.slice(0, -1) : path.prefix) }
}

/** Throws an Error for an expression that does not compile. */
export function compileCandidate(spec: MatchSpec, route: Route, matchIndex: number): Candidate {
  const headers = spec.headers.map(({ name, value }) => ({ read: headerReader(name), test: compileTest(value) }))
  const query = spec.query.map(({ name, value }) => ({ name, test: compileTest(value) }))
  return {
    route,
    matchIndex,
    method: spec.method ?? null,
    headers: headers.length === 0 ? null : headers,
    query: query.length === 0 ? null : query
  }
}

/** Sorts what has the same path: a method before none, then more headers, then more parameters (Gateway API). */
export function byPrecedence(a: Candidate, b: Candidate): number {
  return (
    Number(b.method !== null) - Number(a.method !== null) ||
    (b.headers?.length ?? 0) - (a.headers?.length ?? 0) ||
    (b.query?.length ?? 0) - (a.query?.length ?? 0)
  )
}

function compileTest(value: ValueSpec): Test {
  if ('exact' in value) {
    const { exact } = value
    return (text) => text === exact
  }
  const pattern = compilePattern(value.regex)
  return (text) => pattern.matches(text)
}

/** `host` and the pseudo fields of HTTP/2 read what the request line and Host mean in every version. */
export function headerReader(name: string): Read {
  switch (name) {
    case ':authority':
    case 'host':
      return (ex) => ex.authority
    case ':method':
      return (ex) => ex.method
    case ':path':
      return (ex) => ex.path + ex.query
    case ':scheme':
      return (ex) => schemeOf(ex.client)
    default:
      return (ex) => combinedHeader(ex.request, name)
  }
}

// --- request time ---

/** Query parameters of the current request, parsed when the first candidate asks. */
export class QueryMemo {
  #query = ''
  #params = new URLSearchParams()

  /** Whether any value of the parameter passes: each repetition counts ("+" is a space, escapes are decoded). */
  some(query: string, name: string, test: Test): boolean {
    if (query !== this.#query) {
      this.#query = query
      this.#params = new URLSearchParams(query)
    }
    for (const value of this.#params.getAll(name)) if (test(value)) return true
    return false
  }
}

export function accepts(candidate: Candidate, ex: Exchange, memo: QueryMemo): boolean {
  const { method, headers, query } = candidate
  if (method !== null && method !== ex.method) return false
  if (headers !== null) {
    for (let i = 0; i < headers.length; i++) {
      const value = headers[i]!.read(ex)
      if (value === undefined || !headers[i]!.test(value)) return false
    }
  }
  if (query !== null) {
    for (let i = 0; i < query.length; i++) {
      if (!memo.some(ex.query, query[i]!.name, query[i]!.test)) return false
    }
  }
  return true
}

/** All values of a field joined with "," (RFC 9110 section 5.2), or undefined; one value costs no joining. */
function combinedHeader(block: HeaderBlock, name: string): string | undefined {
  const first = block.find(name, 0)
  let all = first < 0 ? undefined : block.value(first)
  if (first >= 0) {
    for (let i = block.find(name, first + 1); i >= 0; i = block.find(name, i + 1)) all += `,${block.value(i)}`
  }
  const { added } = block
  if (added !== null) {
    for (let i = 0; i < added.length; i += 2) {
      if (added[i]!.toLowerCase() === name) all = all === undefined ? added[i + 1]! : `${all},${added[i + 1]!}`
    }
  }
  return all
}
