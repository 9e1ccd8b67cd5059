/**
 * Whose list it is: what may be shown to everybody, what to this session alone, and what is not kept at all
 * (docs/design/023-mcp-list-cache.md).
 */
import { createHash } from 'node:crypto'
import type { ListKind } from '#backends/mcp/lists/kinds.ts'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import {
  isObject,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_VERSION
} from '#backends/mcp/protocol/stateless.ts'
import { isOfOneRequest, TRACE } from '#backends/mcp/session/forwarded-headers.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Kept, ListCache, Listed, Shelf } from './cache.ts'
import { type Hints, hintsOf, type Page, settled } from './page.ts'

/** Said with every request, or of this one alone: none of them changes what there is. */
const META: ReadonlySet<string> = new Set([
  ...[META_VERSION, META_CLIENT_INFO, META_CLIENT_CAPABILITIES, META_LOG_LEVEL],
  ...['progressToken', ...TRACE]
])
/** Longer places in a list are not kept. */
const CURSOR_LENGTH_MAX = 256
/** Pages of one target that are believed while a session listens. */
const BOUND_MAX = 64

export interface Asked {
  readonly cache: ListCache
  readonly shelf: Shelf
  readonly session: Session
  readonly headers: HeaderBlock
  readonly method: string
  readonly kind: ListKind
  readonly params: JsonObject | undefined
  /** Every page from the first to the last is one list; else the page of `params.cursor` is. */
  readonly isWhole: boolean
}

/** Null: the list of this request is never kept. */
export function placeOf(asked: Asked): Place | null {
  const { kind, params = {}, session, headers, isWhole, method } = asked
  if (kind.capability === 'tasks') return null
  const { _meta: meta, cursor = '', ...others } = params
  if (typeof cursor !== 'string' || cursor.length > CURSOR_LENGTH_MAX || Object.keys(others).length > 0) return null
  if (isObject(meta)) for (const name of Object.keys(meta)) if (!META.has(name)) return null
  const told = toldOf(headers)
  // A session for one request has nothing of its own that anybody comes back for.
  const isOwn = session.id !== null || session.version === STATELESS
  const list = `${method} ${isWhole ? '*' : '.'}${cursor}`
  const shared = told === '' ? `${list} ${session.view}` : null
  return new Place(asked, kind.capability, shared, isOwn ? `${list} ${session.key} ${told}` : null)
}

/** Fields that the target is told of the caller, as a digest; "": none. */
function toldOf(headers: HeaderBlock): string {
  let told = ''
  headers.forEach((name, value) => {
    const field = name.toLowerCase()
    if (!isOfOneRequest(field)) told += `${field}: ${value}\n`
  })
  return told === '' ? '' : createHash('sha256').update(told).digest('base64url')
}

export class Place {
  readonly #asked: Asked
  readonly #what: Listed
  readonly #shared: string | null
  readonly #own: string | null
  readonly #round: number
  /** The session's stream from the target was open before the question. */
  readonly #isHeard: boolean

  constructor(asked: Asked, what: Listed, shared: string | null, own: string | null) {
    const { cache, shelf, session } = asked
    this.#asked = asked
    this.#what = what
    this.#shared = shared
    this.#own = own
    this.#round = cache.round(shelf, what)
    this.#isHeard = session.hears(shelf.target)
  }

  /** Whether an answer may be worth keeping, as far as can be told before it. */
  get isPromising(): boolean {
    const { session, shelf } = this.#asked
    return session.version === STATELESS || session.isBridged(shelf.target) || this.#isBound
  }

  get #isBound(): boolean {
    const { session, shelf } = this.#asked
    return this.#own !== null && this.#isHeard && session.hears(shelf.target) && session.tells(shelf.target, this.#what)
  }

  get(): Kept | null {
    const { cache, shelf, session } = this.#asked
    const shared = this.#shared === null ? null : cache.get(shelf, this.#what, this.#shared)
    if (shared !== null || this.#own === null) return shared
    const own = cache.get(shelf, this.#what, this.#own)
    return own !== null && own.until === Number.POSITIVE_INFINITY && !session.hears(shelf.target) ? null : own
  }

  /** `freshness`: of all pages together. */
  set(given: readonly Page[], freshness: Freshness): void {
    const { cache, shelf, session } = this.#asked
    if (!freshness.isComplete) return
    if (freshness.hasHints) {
      const { until, isPublic } = freshness
      if (until <= cache.now) return
      const key = isPublic && this.#shared !== null ? this.#shared : this.#own
      if (key !== null) cache.set(shelf, this.#what, key, this.#round, { pages: given.map(settled), until, isPublic })
    } else if (this.#isBound && session.bind(shelf, this.#own!, BOUND_MAX)) {
      const until = Number.POSITIVE_INFINITY
      const pages = given.map(settled)
      cache.set(shelf, this.#what, this.#own!, this.#round, { pages, until, isPublic: false })
    }
  }
}

/** What the hints of several pages come to: the shortest time counts, and one that is private makes all so. */
export class Freshness {
  until = Number.POSITIVE_INFINITY
  isPublic = true
  hasHints = false
  isComplete = true
  readonly #isStateless: boolean
  /** Hints that a bridge has taken out of the answer that comes next. */
  #aside: Hints | null = null

  constructor(session: Session) {
    this.#isStateless = session.version === STATELESS
  }

  hinted(ttlMs: JsonObject[string] | undefined, cacheScope: JsonObject[string] | undefined): void {
    this.#aside = hintsOf(ttlMs, cacheScope) ?? NO_HINTS
  }

  /** `now`, `ttlMaxMs`: milliseconds. Revisions without hints have none, whatever they are called there. */
  add(page: Page, now: number, ttlMaxMs: number): void {
    const hints = this.#isStateless ? (page.hints ?? NO_HINTS) : this.#aside
    this.#aside = null
    if (!page.isComplete) this.isComplete = false
    if (hints === null) return
    this.hasHints = true
    this.until = Math.min(this.until, now + Math.min(hints.ttlMs, ttlMaxMs))
    if (!hints.isPublic) this.isPublic = false
  }
}

const NO_HINTS: Hints = { ttlMs: 0, isPublic: false }
