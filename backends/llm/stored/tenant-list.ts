/**
 * A provider's list as one tenant gets it: what is not the tenant's is left out, and further pages of the provider are
 * asked for until the tenant's own is full. Nothing of others is told: no name, no count, no place.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { ObjectOwners } from '#engine/contract/object-owners.ts'
import type { StoredApi } from './apis.ts'
import { holderOf, objectOf } from './owners.ts'
import { isPageCursor, openCursor, type PageCursor, sealCursor } from './page-cursor.ts'
import type { Pager } from './pagers.ts'
import { sealBody } from './references.ts'
import { type Seal, sealId } from './seal.ts'
import { openId, type Store, type StoreAccess, sealFor } from './stores.ts'

/** Of the provider, for one of the tenant's. One client must not have a provider asked for ever. */
export const PAGES_MAX = 20

/** Asks the provider for another page by its query; null: it has not given one that can be read. */
export type AskPage = (query: string) => Promise<Json | null>

/**
 * Other ways to page, parts of answers (Google's field masks would leave out names), and scripts around them: an answer
 * is read here, and written anew.
 */
const LEFT_OUT = ['page', 'page_size', 'offset', 'cursor', 'fields', '$fields', 'alt', '$alt', 'callback', '$callback']

/** The list cannot be told apart. */
export class UnreadableList extends Error {}

export class TenantList {
  /** Of the query, what is no matter of pages. */
  readonly query: string
  /** Where it goes on; null: it begins, and any account will do. */
  readonly store: Store | null
  readonly #api: StoredApi
  readonly #pager: Pager
  readonly #size: number
  readonly #isBackward: boolean
  readonly #from: PageCursor | null

  /** Throws FormatError. */
  constructor(api: StoredApi, pager: Pager, query: string, access: StoreAccess) {
    this.#api = api
    this.#pager = pager
    const parameters = new URLSearchParams(query)
    const { after, before, size, sizeMax, sizeDefault } = pager
    const [next, previous] = [only(parameters, after), before === null ? null : only(parameters, before)]
    if (next !== null && previous !== null) throw new FormatError(before!, `cannot be said together with ${after}`)
    this.#size = sizeIn(only(parameters, size), size, sizeDefault, sizeMax)
    this.#isBackward = previous !== null
    const text = next ?? previous
    const at = text === null ? null : this.#open(text, previous === null ? after : before!, access)
    this.store = at?.store ?? null
    this.#from = at?.cursor ?? null
    for (const name of [after, before, size, ...LEFT_OUT]) if (name !== null) parameters.delete(name)
    this.query = parameters.size === 0 ? '' : `?${parameters}`
  }

  /** Of the first page that is asked for. `query`: the rest of it. */
  firstQuery(query: string): string {
    return this.#queryAt(query, this.#from?.at ?? '')
  }

  /** `first`: the first page; `query`: the rest of the query. Throws UnreadableList; rejects as `owners` does. */
  async read(
    first: Json,
    query: string,
    { seal, owners, ask }: { readonly seal: Seal; readonly owners: ObjectOwners; readonly ask: AskPage }
  ): Promise<JsonObject> {
    const scan = new Scan(this.#pager, this.#size, this.#isBackward, this.#from)
    const { kind } = this.#api
    const holder = holderOf(kind, seal)
    let page: Json | null = first
    for (let pages = 1; ; pages++) {
      const ids = scan.page(page)
      const known = await owners.owned(
        holder,
        ids.map((id) => objectOf(id, kind, seal))
      )
      scan.take(known.isOwn, known.total)
      if (scan.isOver || pages === PAGES_MAX) break
      page = await ask(this.#queryAt(query, scan.at))
      if (page === null) break
    }
    return scan.answer(
      (raw) => sealId(raw, kind, seal),
      (cursor) => sealCursor(cursor, kind, seal),
      (one) => sealBody(one, seal, kind)
    )
  }

  #queryAt(query: string, at: string): string {
    const { after, before, size, sizeMax } = this.#pager
    const parameters = new URLSearchParams(query)
    parameters.set(size, String(sizeMax))
    if (at !== '') parameters.set(this.#isBackward ? before! : after, at)
    return `?${parameters}`
  }

  /** Throws FormatError: it is none that this tenant has got. */
  #open(text: string, field: string, access: StoreAccess): { cursor: PageCursor; store: Store } {
    const { kind } = this.#api
    if (isPageCursor(text)) {
      for (const store of access.stores) {
        const cursor = openCursor(text, kind, sealFor(store, access))
        if (cursor !== null) return { cursor, store }
      }
    } else if (this.#pager.by === 'id') {
      const opened = openId(text, kind, access)
      if (opened !== null && opened.store !== null) return { cursor: { at: opened.raw, skip: 0 }, store: opened.store }
    }
    throw new FormatError(field, 'is none that this gateway has given out')
  }
}

/** Throws FormatError. Empty is as good as absent. */
function only(parameters: URLSearchParams, name: string): string | null {
  const values = parameters.getAll(name)
  if (values.length > 1) throw new FormatError(name, 'is there twice')
  return values[0] || null
}

/** Throws FormatError. */
function sizeIn(text: string | null, name: string, usual: number, max: number): number {
  if (text === null) return usual
  if (!/^\d{1,6}$/.test(text)) throw new FormatError(name, 'must be a whole number')
  return Math.max(1, Math.min(Number(text), max))
}

interface Item {
  readonly raw: string
  readonly object: JsonObject
  /** Where it is, of lists with tokens. */
  readonly place: PageCursor
}

/** What has been read of a list. */
class Scan {
  /** Nothing more is to be asked for. */
  isOver = false
  /** What the next page begins behind. */
  at: string
  readonly #pager: Pager
  readonly #size: number
  readonly #isBackward: boolean
  readonly #isFromStart: boolean
  #skip: number
  #first: JsonObject | null = null
  #page: Item[] = []
  /** Of the page that is read; '': the provider has no more. */
  #next = ''
  /** In the order of the list. One more than fits says that there are more. */
  #found: Item[] = []
  #isEnd = false

  constructor(pager: Pager, size: number, isBackward: boolean, from: PageCursor | null) {
    this.#pager = pager
    this.#size = size
    this.#isBackward = isBackward
    this.#isFromStart = from === null
    this.at = from?.at ?? ''
    this.#skip = from?.skip ?? 0
  }

  /** The ids of its objects. Throws UnreadableList. */
  page(body: Json): readonly string[] {
    if (!isObject(body)) throw new UnreadableList('it is no list')
    this.#first ??= body
    const { items, by, next } = this.#pager
    // Google leaves out what is empty.
    const all = body[items] ?? []
    if (!Array.isArray(all)) throw new UnreadableList('it is no list')
    this.#page = (all as readonly Json[]).flatMap((object, i) => {
      const raw = isObject(object) ? (object.id ?? object.name) : null
      return isString(raw) ? [{ raw, object: object as JsonObject, place: { at: this.at, skip: i } }] : []
    })
    this.#page = this.#page.filter(({ place }) => place.skip >= this.#skip)
    this.#skip = 0
    const place = body[next]
    this.#next = by === 'token' ? (isString(place) ? place : '') : this.#lastOf(body)
    return this.#page.map(({ raw }) => raw)
  }

  take(isOwn: readonly boolean[], total: number): void {
    const own = this.#page.filter((_, i) => isOwn[i] === true)
    this.#found = this.#isBackward ? [...own, ...this.#found] : [...this.#found, ...own]
    const isFull = this.#found.length > this.#size
    const hasAll = total === 0 || (this.#isFromStart && this.#found.length === total)
    // A provider that says the same place again would be asked for ever.
    this.#isEnd = !isFull && (hasAll || this.#next === '' || this.#next === this.at)
    this.isOver = isFull || this.#isEnd
    if (!this.isOver) this.at = this.#next
  }

  /** Anew: what else the provider says of its list is of everybody's. */
  answer(
    sealed: (raw: string) => string,
    cursorAt: (cursor: PageCursor) => string,
    shown: (object: JsonObject) => JsonObject
  ): JsonObject {
    const { items, next } = this.#pager
    const isFull = this.#found.length > this.#size
    const here = this.#isBackward ? this.#found.slice(-this.#size) : this.#found.slice(0, this.#size)
    const list = here.map(({ object }) => shown(object))
    const hasMore = !this.#isEnd
    if (this.#pager.by === 'token') {
      const place = isFull ? this.#found[this.#size]!.place : { at: this.at, skip: 0 }
      const more = hasMore ? cursorAt(place) : null
      if (next === 'next_page') return { [items]: list, has_more: hasMore, next_page: more }
      return { [items]: list, ...(more === null ? {} : { [next]: more }) }
    }
    // Read to the bound, the list goes on behind what others have made.
    const beyond = hasMore && !isFull ? cursorAt({ at: this.at, skip: 0 }) : null
    const ends = [here[0], here.at(-1)].map((item) => (item === undefined ? null : sealed(item.raw)))
    const [first, last] = this.#isBackward ? [beyond ?? ends[0]!, ends[1]!] : [ends[0]!, beyond ?? ends[1]!]
    const { object } = this.#first!
    const named = object === undefined ? {} : { object: 'list' }
    return { ...named, [items]: list, first_id: first ?? null, last_id: last ?? null, has_more: hasMore }
  }

  /** Throws UnreadableList: there are more, and it does not say where. */
  #lastOf(body: JsonObject): string {
    const { has_more: hasMore, total } = body
    const count = (body.data as readonly Json[] | undefined)?.length ?? 0
    const isCut = typeof total === 'number' && total > count
    if (typeof hasMore !== 'boolean' && (isCut || isObject(body.paging) || isString(body.next_page)))
      throw new UnreadableList('its lists have pages that this gateway does not know')
    if (hasMore !== true) return ''
    const item = this.#isBackward ? this.#page[0] : this.#page.at(-1)
    return item?.raw ?? ''
  }
}
