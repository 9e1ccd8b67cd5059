/** The whole list of a target: from the cache, or fetched to its last page. */

import { sendRequest, type TargetRequest } from '#backends/mcp/calls/target-request.ts'
import type { Names } from '#backends/mcp/names/names.ts'
import { lacksCapability } from '#backends/mcp/protocol/capabilities.ts'
import {
  isObject,
  type JsonObject,
  METHOD_NOT_FOUND,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { failure, type LinkEvents, type LinkFailure, type Target } from '#backends/mcp/targets/target.ts'
import { TTL_MAX_MS } from './cache.ts'
import { type CacheSlot, cacheSlotOf, Freshness } from './cache-slot.ts'
import type { ListKind } from './kinds.ts'
import { type Page, pageOf, pageOfResult } from './page.ts'
import { staticPages } from './static-list.ts'
/** Pages of one target. */
export const PAGES_MAX = 256
/** Items of one target, before rules. */
export const ITEMS_MAX = 20_000
/** A page may be as long as a message. From the ninth page on, bytes of JSON are counted. */
const UNCOUNTED_PAGES = 8
const BYTES_MAX = 32 * 1024 * 1024

export interface TargetList {
  readonly target: string
  readonly pages: readonly Page[]
  /** They come from the cache. */
  readonly isCached: boolean
  /** Why there are not all pages; null: there are. */
  readonly failure: LinkFailure | null
  /** The target answered with this error. */
  readonly error: { readonly code: number; readonly message: string } | null
}

export interface ListQuery {
  readonly method: string
  readonly kind: ListKind
  /** Of the client's request, for progress. */
  readonly meta: JsonObject | null
  readonly id: string | number
  readonly message: LinkEvents['message']
  /** A cached list is only used if it has this name; null: always. */
  readonly neededName: string | null
}

/** Returns what gives it up. */
export function fetchList(request: TargetRequest, query: ListQuery, done: (listed: TargetList) => void): () => void {
  const { method, kind, meta, neededName } = query
  const { ex, services, session, headers, target } = request
  const { listChanges, names } = services
  if (lacksList(request, method)) {
    done({ target: target.name, pages: [], isCached: true, failure: null, error: UNSUPPORTED })
    return nothing
  }
  const giveUp = staticList(target, query, names, done)
  if (giveUp !== null) return giveUp
  const partition = listChanges.partitionOf(target.name)
  const params: JsonObject = meta === null ? {} : { _meta: meta }
  const { cache } = listChanges
  const slot = cacheSlotOf({ ex, cache, partition, session, headers, method, kind, params, isWhole: true })
  const known = slot?.get()?.pages
  if (known !== undefined && (neededName === null || known.some((page) => page.names.includes(neededName)))) {
    done({ target: target.name, pages: known, isCached: true, failure: null, error: null })
    return nothing
  }
  const pager = new Pager(request, query, slot, done)
  pager.next(null)
  return () => pager.giveUp()
}

/** Null: the target has no such list that never changes. */
function staticList(
  target: Target,
  { method, kind }: ListQuery,
  names: Names,
  done: (listed: TargetList) => void
): (() => void) | null {
  if (target.staticLists?.has(method) !== true) return null
  let next: NodeJS.Immediate | null = null
  const step = (): void => {
    const pages = staticPages(target, method, kind, names)
    // One page in a turn of the event loop: others are served while a thousand tools are rendered.
    if (pages === null) next = setImmediate(step)
    else done({ target: target.name, pages: pages ?? [], isCached: true, failure: null, error: null })
  }
  step()
  return () => {
    if (next !== null) clearImmediate(next)
  }
}

const nothing = (): void => undefined

const UNSUPPORTED = { code: METHOD_NOT_FOUND, message: 'Method not found' }

/** The target has declared its capabilities to this session, and lacks what the method needs. */
const lacksList = ({ session, target }: TargetRequest, method: string): boolean =>
  lacksCapability(session.capabilitiesOf(target.name), method)

class Pager implements LinkEvents {
  readonly #request: TargetRequest
  readonly #query: ListQuery
  readonly #slot: CacheSlot | null
  readonly #done: (listed: TargetList) => void
  readonly #pages: Page[] = []
  readonly #cursors = new Set<string>()
  readonly #freshness: Freshness
  readonly #endsAt: number
  #id: string | number
  #seen = 0
  #bytes = 0
  #stop: (() => void) | null = null

  constructor(request: TargetRequest, query: ListQuery, slot: CacheSlot | null, done: (listed: TargetList) => void) {
    this.#request = request
    this.#query = query
    this.#slot = slot
    this.#done = done
    this.#id = query.id
    this.#freshness = new Freshness(request.session)
    this.#endsAt = performance.now() + request.timeoutMs
  }

  giveUp(): void {
    this.#stop?.()
  }

  next(cursor: string | null): void {
    const { meta, id, method } = this.#query
    const { timeoutMs } = this.#request
    const left = this.#endsAt - performance.now()
    if (timeoutMs > 0 && left <= 0) {
      this.failed(failure('timeout', 'the list did not arrive in time'))
      return
    }
    const params = { ...(meta === null ? {} : { _meta: meta }), ...(cursor === null ? {} : { cursor }) }
    // A session never uses an id twice, and the client has given only one.
    this.#id = cursor === null ? id : `weir-page-${this.#cursors.size}-${id}`
    const message: RpcRequest = { jsonrpc: '2.0', id: this.#id, method, params }
    const page = timeoutMs > 0 ? { ...this.#request, timeoutMs: Math.ceil(left) } : this.#request
    this.#stop = sendRequest(page, message, this)
  }

  message(serverMessage: Parameters<LinkEvents['message']>[0], eventId?: string | null): void {
    this.#query.message(serverMessage, eventId)
  }

  cacheHints(ttlMs: JsonObject[string] | undefined, cacheScope: JsonObject[string] | undefined): void {
    this.#freshness.cacheHints(ttlMs, cacheScope)
  }

  answered(response: RpcResponse): void {
    const { kind } = this.#query
    const { services, target } = this.#request
    if ('error' in response) this.#end(null, response.error)
    else this.#take(pageOfResult(response.result, target.name, kind, services.names))
  }

  answeredBytes(json: Buffer): void {
    const { services, target } = this.#request
    const page = pageOf(json, this.#id, target.name, this.#query.kind, services.names)
    if (page === null) this.failed(UNREADABLE)
    else if ('error' in page) this.#end(null, page.error)
    else this.#take(page)
  }

  failed(why: LinkFailure): void {
    this.#end(why)
  }

  #take(page: Page): void {
    const { cache } = this.#request.services.listChanges
    this.#seen += page.names.length
    this.#pages.push(page)
    this.#freshness.add(page, cache.now, TTL_MAX_MS)
    if (this.#cursors.size >= UNCOUNTED_PAGES) this.#bytes += page.json.length
    const { nextCursor } = page
    if (nextCursor === null) {
      this.#slot?.set(this.#pages, this.#freshness)
      this.#end(null)
    } else if (this.#seen > ITEMS_MAX || this.#cursors.size >= PAGES_MAX || this.#bytes > BYTES_MAX)
      this.failed(failure('tooLarge', 'the list is longer than the limit'))
    else if (this.#cursors.has(nextCursor))
      this.failed(failure('tooLarge', 'the pages of the list go round in circles'))
    else {
      this.#cursors.add(nextCursor)
      this.next(nextCursor)
    }
  }

  #end(why: LinkFailure | null, error: TargetList['error'] = null): void {
    const { name: target } = this.#request.target
    // Its capabilities may have become known only with this request.
    const isUnsupportedNow = (why !== null || error !== null) && lacksList(this.#request, this.#query.method)
    if (isUnsupportedNow) this.#done({ target, pages: [], isCached: false, failure: null, error: UNSUPPORTED })
    else this.#done({ target, pages: this.#pages, isCached: false, failure: why, error })
  }
}

export const UNREADABLE = failure('broken', 'answered with what is no response to the request')

/** The target does not know the method: its list is empty. */
export const isUnsupported = ({ error }: TargetList): boolean => error !== null && error.code === METHOD_NOT_FOUND

export const metaOf = (params: JsonObject | undefined): JsonObject | null =>
  params !== undefined && isObject(params._meta) ? params._meta : null
