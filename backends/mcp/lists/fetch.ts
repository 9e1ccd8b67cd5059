/** Lists of targets: asked to their last page, or remembered. */
import { type Asking, ask } from '#backends/mcp/calls/target-request.ts'
import type { ListKind } from '#backends/mcp/lists/kinds.ts'
import type { Names } from '#backends/mcp/names/names.ts'
import { lacks } from '#backends/mcp/protocol/capabilities.ts'
import {
  type JsonObject,
  METHOD_NOT_FOUND,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/read-message.ts'
import type { LinkEvents, LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import { TTL_MAX_MS } from './cache.ts'
import { Freshness, type Place, placeOf } from './cache-slot.ts'
import { type Page, pageOf, pageOfResult } from './page.ts'
import { fixedPages } from './static-list.ts'

/** Pages of one target: a server whose pages never end is hostile or broken. */
export const PAGES_MAX = 256
/** Items of one target, before rules. */
export const ITEMS_MAX = 20_000
/** Pages may be as long as a message may: of more than a few together, bytes of JSON. */
const UNCOUNTED_PAGES = 8
const BYTES_MAX = 32 * 1024 * 1024

export interface ListedBy {
  readonly target: string
  readonly pages: readonly Page[]
  /** They have been remembered. */
  readonly isKnown: boolean
  /** Null: these are all. */
  readonly failure: LinkFailure | null
  /** The target answered with this error. */
  readonly error: { readonly code: number; readonly message: string } | null
}

export interface ListOrder {
  readonly method: string
  readonly kind: ListKind
  readonly names: Names
  /** Of the client's request, for progress. */
  readonly meta: JsonObject | null
  readonly id: string | number
  readonly message: LinkEvents['message']
  /** What is remembered is only wanted if it has this name; null: in any case. */
  readonly wanted: string | null
}

/** Pages through one target's list, unless it is known. Returns what gives it up. */
export function listAll(asking: Asking, order: ListOrder, done: (listed: ListedBy) => void): () => void {
  const { method, kind, meta, wanted } = order
  const { news, session, headers, target } = asking
  if (isWanting(asking, method)) {
    done({ target: target.name, pages: [], isKnown: true, failure: null, error: WITHOUT })
    return nothing
  }
  const giveUp = listFixed(target, order, done)
  if (giveUp !== null) return giveUp
  const shelf = news.shelf(target.name)
  const params: JsonObject = meta === null ? {} : { _meta: meta }
  const place = placeOf({ cache: news.cache, shelf, session, headers, method, kind, params, isWhole: true })
  const known = place?.get()?.pages
  if (known !== undefined && (wanted === null || known.some(({ names }) => names.includes(wanted)))) {
    done({ target: target.name, pages: known, isKnown: true, failure: null, error: null })
    return nothing
  }
  const paging = new Paging(asking, order, place, done)
  paging.next(null)
  return () => paging.giveUp()
}

/** Null: the target has to be asked. */
function listFixed(target: Target, order: ListOrder, done: (listed: ListedBy) => void): (() => void) | null {
  const { method, kind, names } = order
  if (target.fixed?.has(method) !== true) return null
  let next: NodeJS.Immediate | null = null
  const step = (): void => {
    const pages = fixedPages(target, method, kind, names)
    // One page in a turn: a thousand tools are written while others are served.
    if (pages === null) next = setImmediate(step)
    else done({ target: target.name, pages: pages ?? [], isKnown: true, failure: null, error: null })
  }
  step()
  return () => {
    if (next !== null) clearImmediate(next)
  }
}

const nothing = (): void => undefined

const WITHOUT = { code: METHOD_NOT_FOUND, message: 'Method not found' }

/** The target has declared to this session what it has, and this is not there. */
const isWanting = ({ session, target }: Asking, method: string): boolean => lacks(session.declared(target.name), method)

class Paging implements LinkEvents {
  readonly #asking: Asking
  readonly #order: ListOrder
  readonly #place: Place | null
  readonly #done: (listed: ListedBy) => void
  readonly #pages: Page[] = []
  readonly #cursors = new Set<string>()
  readonly #freshness: Freshness
  readonly #endsAt: number
  #id: string | number
  #seen = 0
  #bytes = 0
  #stop: (() => void) | null = null

  constructor(asking: Asking, order: ListOrder, place: Place | null, done: (listed: ListedBy) => void) {
    this.#asking = asking
    this.#order = order
    this.#place = place
    this.#done = done
    this.#id = order.id
    this.#freshness = new Freshness(asking.session)
    this.#endsAt = performance.now() + asking.timeoutMs
  }

  giveUp(): void {
    this.#stop?.()
  }

  next(cursor: string | null): void {
    const { meta, id, method } = this.#order
    const { timeoutMs } = this.#asking
    const left = this.#endsAt - performance.now()
    if (timeoutMs > 0 && left <= 0) {
      this.failed({ kind: 'timeout', status: null, message: 'the list did not arrive in time' })
      return
    }
    const params = { ...(meta === null ? {} : { _meta: meta }), ...(cursor === null ? {} : { cursor }) }
    // Ids are not used twice in a session, and the client has given only one.
    this.#id = cursor === null ? id : `weir-page-${this.#cursors.size}-${id}`
    const message: RpcRequest = { jsonrpc: '2.0', id: this.#id, method, params }
    const page = timeoutMs > 0 ? { ...this.#asking, timeoutMs: Math.ceil(left) } : this.#asking
    this.#stop = ask(page, message, this)
  }

  // --- what a link tells ---

  message(given: Parameters<LinkEvents['message']>[0], eventId?: string | null): void {
    this.#order.message(given, eventId)
  }

  hinted(ttlMs: JsonObject[string] | undefined, cacheScope: JsonObject[string] | undefined): void {
    this.#freshness.hinted(ttlMs, cacheScope)
  }

  answered(response: RpcResponse): void {
    const { kind, names } = this.#order
    if ('error' in response) this.#end(null, response.error)
    else this.#take(pageOfResult(response.result, this.#asking.target.name, kind, names))
  }

  answeredBytes(json: Buffer): void {
    const { kind, names } = this.#order
    const page = pageOf(json, this.#id, this.#asking.target.name, kind, names)
    if (page === null) this.failed(UNREADABLE)
    else if ('error' in page) this.#end(null, page.error)
    else this.#take(page)
  }

  failed(failure: LinkFailure): void {
    this.#end(failure)
  }

  #take(page: Page): void {
    const { cache } = this.#asking.news
    this.#seen += page.names.length
    this.#pages.push(page)
    this.#freshness.add(page, cache.now, TTL_MAX_MS)
    if (this.#cursors.size >= UNCOUNTED_PAGES) this.#bytes += page.json.length
    const { nextCursor } = page
    if (nextCursor === null) {
      this.#place?.set(this.#pages, this.#freshness)
      this.#end(null)
    } else if (this.#seen > ITEMS_MAX || this.#cursors.size >= PAGES_MAX || this.#bytes > BYTES_MAX)
      this.failed(endless('the list is longer than the limit'))
    else if (this.#cursors.has(nextCursor)) this.failed(endless('the pages of the list go round in circles'))
    else {
      this.#cursors.add(nextCursor)
      this.next(nextCursor)
    }
  }

  #end(failure: LinkFailure | null, error: ListedBy['error'] = null): void {
    const { target } = this.#asking
    // It may only have become known with this question that it was one too many.
    const isEmpty = (failure !== null || error !== null) && isWanting(this.#asking, this.#order.method)
    if (isEmpty) this.#done({ target: target.name, pages: [], isKnown: false, failure: null, error: WITHOUT })
    else this.#done({ target: target.name, pages: this.#pages, isKnown: false, failure, error })
  }
}

const endless = (message: string): LinkFailure => ({ kind: 'tooLarge', status: null, message })

/** In the words of http/post-response.ts. */
export const UNREADABLE: LinkFailure = {
  kind: 'broken',
  status: null,
  message: 'answered with what is no response to the request'
}

/** A target that has nothing of the kind says that it does not know the method: an empty list. */
export const isWithout = ({ error }: ListedBy): boolean => error !== null && error.code === METHOD_NOT_FOUND

export const metaOf = (params: JsonObject | undefined): JsonObject | null =>
  params !== undefined && isObject(params._meta) ? params._meta : null
