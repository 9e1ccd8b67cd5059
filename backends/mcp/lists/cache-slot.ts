/**
 * Where a list goes in the cache: shared by all callers, private to a session, or nowhere
 * (docs/design/023-mcp-list-cache.md).
 */
import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_VERSION
} from '#backends/mcp/protocol/stateless.ts'
import { isPerRequest, TRACE } from '#backends/mcp/session/forwarded-headers.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { CachedList, CachePartition, ListCache, ListTopic } from './cache.ts'
import type { ListKind } from './kinds.ts'
import { type CacheHints, detached, hintsOf, type Page } from './page.ts'

/** Members of `_meta` that do not change the list. */
const META: ReadonlySet<string> = new Set([
  ...[META_VERSION, META_CLIENT_INFO, META_CLIENT_CAPABILITIES, META_LOG_LEVEL],
  ...['progressToken', ...TRACE]
])
/** Pages with a longer cursor are not cached. */
const CURSOR_LENGTH_MAX = 256
/** Cached pages of one target that are valid while a session's stream is open. */
const WATCHED_MAX = 64

export interface ListLookup {
  /** Of the client. */
  readonly ex: Exchange
  readonly cache: ListCache
  readonly partition: CachePartition
  readonly session: Session
  readonly headers: HeaderBlock
  readonly method: string
  readonly kind: ListKind
  readonly params: JsonObject | undefined
  /** All pages together; else the one of `params.cursor`. */
  readonly isWhole: boolean
}

/** Null: the list is never cached. */
export function cacheSlotOf(lookup: ListLookup): CacheSlot | null {
  const { ex, kind, params = {}, session, headers, isWhole, method } = lookup
  if (kind.capability === 'tasks') return null
  const { _meta: meta, cursor = '', ...others } = params
  if (typeof cursor !== 'string' || cursor.length > CURSOR_LENGTH_MAX || Object.keys(others).length > 0) return null
  if (isObject(meta)) for (const name of Object.keys(meta)) if (!META.has(name)) return null
  const digest = headersDigest(headers, ex.identity?.credentials ?? null)
  // Nothing comes back for what a session of one request has cached.
  const isOwn = session.id !== null || session.version === STATELESS
  const list = `${method} ${isWhole ? '*' : '.'}${cursor}`
  const shared = digest === '' ? `${list} ${session.clientKey}` : null
  return new CacheSlot(lookup, kind.capability, shared, isOwn ? `${list} ${session.key} ${digest}` : null)
}

/**
 * A digest of the caller's headers that the target gets; "": none. `credentials`: Identity.credentials, of which some
 * may be shown to the target, whatever their names.
 */
function headersDigest(headers: HeaderBlock, credentials: readonly string[] | null): string {
  let fields = ''
  headers.forEach((name, value) => {
    const field = name.toLowerCase()
    if (!isPerRequest(field) || credentials?.includes(value) === true) fields += `${field}: ${value}\n`
  })
  return fields === '' ? '' : createHash('sha256').update(fields).digest('base64url')
}

export class CacheSlot {
  readonly #lookup: ListLookup
  readonly #what: ListTopic
  readonly #shared: string | null
  readonly #own: string | null
  readonly #generation: number
  /** The session's stream from the target was open before the request. */
  readonly #hadStream: boolean

  constructor(lookup: ListLookup, what: ListTopic, shared: string | null, own: string | null) {
    const { cache, partition, session } = lookup
    this.#lookup = lookup
    this.#what = what
    this.#shared = shared
    this.#own = own
    this.#generation = cache.generation(partition, what)
    this.#hadStream = session.hasStream(partition.target)
  }

  /** Whether the response may be cached, as far as known before it. */
  get mayBeCached(): boolean {
    const { session, partition } = this.#lookup
    return session.version === STATELESS || session.isBridged(partition.target) || this.#isWatched
  }

  get #isWatched(): boolean {
    const { session, partition } = this.#lookup
    return (
      this.#own !== null &&
      this.#hadStream &&
      session.hasStream(partition.target) &&
      session.announcesChanges(partition.target, this.#what)
    )
  }

  get(): CachedList | null {
    const { cache, partition, session } = this.#lookup
    const shared = this.#shared === null ? null : cache.get(partition, this.#what, this.#shared)
    if (shared !== null || this.#own === null) return shared
    const own = cache.get(partition, this.#what, this.#own)
    return own !== null && own.until === Number.POSITIVE_INFINITY && !session.hasStream(partition.target) ? null : own
  }

  /** `freshness`: of all pages together. */
  set(fetched: readonly Page[], freshness: Freshness): void {
    const { cache, partition, session } = this.#lookup
    if (!freshness.isComplete) return
    if (freshness.hasHints) {
      const { until, isPublic } = freshness
      if (until <= cache.now) return
      const key = isPublic && this.#shared !== null ? this.#shared : this.#own
      if (key !== null)
        cache.set(partition, this.#what, key, this.#generation, { pages: fetched.map(detached), until, isPublic })
    } else if (this.#isWatched && session.watchList(partition, this.#own!, WATCHED_MAX)) {
      const until = Number.POSITIVE_INFINITY
      const pages = fetched.map(detached)
      cache.set(partition, this.#what, this.#own!, this.#generation, { pages, until, isPublic: false })
    }
  }
}

/** The cache hints of several pages together: the shortest TTL, and private if any is. */
export class Freshness {
  until = Number.POSITIVE_INFINITY
  isPublic = true
  hasHints = false
  isComplete = true
  readonly #isStateless: boolean
  /** Hints that the bridge has removed from the response that follows. */
  #removed: CacheHints | null = null

  constructor(session: Session) {
    this.#isStateless = session.version === STATELESS
  }

  cacheHints(ttlMs: JsonObject[string] | undefined, cacheScope: JsonObject[string] | undefined): void {
    this.#removed = hintsOf(ttlMs, cacheScope) ?? NO_HINTS
  }

  /** `now`, `ttlMaxMs`: milliseconds. In revisions without hints, members of those names are none. */
  add(page: Page, now: number, ttlMaxMs: number): void {
    const hints = this.#isStateless ? (page.hints ?? NO_HINTS) : this.#removed
    this.#removed = null
    if (!page.isComplete) this.isComplete = false
    if (hints === null) return
    this.hasHints = true
    this.until = Math.min(this.until, now + Math.min(hints.ttlMs, ttlMaxMs))
    if (!hints.isPublic) this.isPublic = false
  }
}

const NO_HINTS: CacheHints = { ttlMs: 0, isPublic: false }
