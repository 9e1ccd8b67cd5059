/** Paths to candidates, for the routes of one host: exact, then the longest prefix, then expressions. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { decodedPath } from '#engine/http/path.ts'
import { compilePattern, type Pattern } from '#engine/kit/pattern.ts'
import { accepts, byPrecedence, type Candidate, type PathSpec, type QueryMemo } from './candidate.ts'

/** Most hosts of thousands have one route: what such a host has none of costs nothing. */
const NO_CANDIDATES: readonly Candidate[] = []
const NO_PATTERNS: readonly PatternEntry[] = []

interface PatternEntry {
  readonly pattern: Pattern
  readonly candidate: Candidate
}

/** One segment of the prefixes; candidates are those of the prefix that ends here. */
class PrefixNode {
  readonly parent: PrefixNode | null
  candidates = NO_CANDIDATES
  /** Keyed by the next segment. Null in leaves: the walk ends without cutting a segment out. */
  children: Map<string, PrefixNode> | null = null

  constructor(parent: PrefixNode | null) {
    this.parent = parent
  }
}

export class PathTable {
  #exact: Map<string, readonly Candidate[]> | null = null
  readonly #root = new PrefixNode(null)
  #patterns = NO_PATTERNS

  // --- build time ---

  /** Throws an Error for a path that cannot match anything or an expression that does not compile. */
  add(path: PathSpec, candidate: Candidate): void {
    if ('regex' in path) {
      const entry = { pattern: compilePattern(path.regex), candidate }
      this.#patterns = inserted(this.#patterns, entry, (one) => one.candidate)
      return
    }
    const text = decodedPath('exact' in path ? path.exact : path.prefix)
    if (!text.startsWith('/')) throw new Error(`the path "${text}" must begin with "/"`)
    if ('exact' in path) {
      this.#exact ??= new Map()
      this.#exact.set(text, inserted(this.#exact.get(text) ?? NO_CANDIDATES, candidate, itself))
    } else {
      const node = this.#node(text)
      node.candidates = inserted(node.candidates, candidate, itself)
    }
  }

  #node(prefix: string): PrefixNode {
    const segments = prefix.split('/').slice(1)
    if (segments.at(-1) === '') segments.pop()
    let node = this.#root
    for (const segment of segments) {
      node.children ??= new Map()
      const next = node.children.get(segment) ?? new PrefixNode(node)
      node.children.set(segment, next)
      node = next
    }
    return node
  }

  // --- request time ---

  /** The candidate of highest precedence that accepts the request, whose decoded path is `path`, or null. */
  find(path: string, ex: Exchange, memo: QueryMemo): Candidate | null {
    const exact = this.#exact?.get(path)
    const found = exact === undefined ? null : firstAccepted(exact, ex, memo)
    if (found !== null) return found
    // "*" (OPTIONS for the server as a whole) lies below no prefix.
    if (path.charCodeAt(0) === 47) {
      for (let node: PrefixNode | null = this.#deepest(path); node !== null; node = node.parent) {
        const byPrefix = firstAccepted(node.candidates, ex, memo)
        if (byPrefix !== null) return byPrefix
      }
    }
    for (let i = 0; i < this.#patterns.length; i++) {
      const { pattern, candidate } = this.#patterns[i]!
      if (accepts(candidate, ex, memo) && pattern.matches(path)) return candidate
    }
    return null
  }

  /** Walks down segment by segment: linear in the path, however many routes and slashes there are. */
  #deepest(path: string): PrefixNode {
    let node = this.#root
    let start = 1
    while (node.children !== null) {
      const slash = path.indexOf('/', start)
      const next = node.children.get(path.substring(start, slash < 0 ? path.length : slash))
      if (next === undefined) return node
      node = next
      if (slash < 0) return node
      start = slash + 1
    }
    return node
  }
}

const itself = (candidate: Candidate): Candidate => candidate

/** In order of precedence; between equals the order of the configuration decides. The list has no room for more. */
function inserted<T>(list: readonly T[], entry: T, candidateOf: (entry: T) => Candidate): readonly T[] {
  let at = list.length
  while (at > 0 && byPrecedence(candidateOf(list[at - 1]!), candidateOf(entry)) > 0) at--
  return list.toSpliced(at, 0, entry)
}

function firstAccepted(candidates: readonly Candidate[], ex: Exchange, memo: QueryMemo): Candidate | null {
  for (let i = 0; i < candidates.length; i++) if (accepts(candidates[i]!, ex, memo)) return candidates[i]!
  return null
}
