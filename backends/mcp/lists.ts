/** Lists: asked of every target to their last page, filtered item by item, and merged. */
import type { McpItem } from '#engine/contract/mcp-use.ts'
import { type Asking, ask } from './ask.ts'
import { itemsOf, type ListKind, visible } from './merge.ts'
import { isObject } from './read-rpc.ts'
import { type JsonObject, METHOD_NOT_FOUND, type RpcRequest, type RpcResponse } from './rpc.ts'
import type { LinkEvents, LinkFailure } from './target.ts'

/** Pages of one target: a server whose pages never end is hostile or broken. */
export const PAGES_MAX = 256
/** Items of one target, before rules. */
export const ITEMS_MAX = 20_000
/** Pages may be as long as a message may: of more than a few together, characters of JSON. */
const UNCOUNTED_PAGES = 8
const CHARS_MAX = 32 * 1024 * 1024

export interface Listed {
  readonly target: string
  /** Under the target's own names. */
  readonly items: readonly JsonObject[]
  /** Null: these are all. */
  readonly failure: LinkFailure | null
  /** The target answered with this error. */
  readonly error: { readonly code: number; readonly message: string } | null
}

export interface ListOrder {
  readonly method: string
  readonly kind: ListKind
  /** Of the client's request, for progress. */
  readonly meta: JsonObject | null
  readonly id: string | number
  readonly mayUse: (item: McpItem) => boolean
  readonly message: LinkEvents['message']
}

/** Pages through one target's list. Returns what gives it up. */
export function listAll(asking: Asking, order: ListOrder, done: (listed: Listed) => void): () => void {
  const { method, kind, meta, id, mayUse } = order
  const target = asking.target.name
  const items: JsonObject[] = []
  const cursors = new Set<string>()
  let seen = 0
  let chars = 0
  let stop: (() => void) | null = null
  const endsAt = performance.now() + asking.timeoutMs
  const end = (failure: LinkFailure | null, error: Listed['error'] = null) => done({ target, items, failure, error })

  const take = (response: RpcResponse): void => {
    if ('error' in response) {
      end(null, response.error)
      return
    }
    const page = itemsOf(response.result, kind)
    seen += page.length
    items.push(...visible(page, target, kind, mayUse))
    if (cursors.size >= UNCOUNTED_PAGES) chars += JSON.stringify(page).length
    const { nextCursor } = response.result
    if (typeof nextCursor !== 'string') end(null)
    else if (seen > ITEMS_MAX || cursors.size >= PAGES_MAX || chars > CHARS_MAX)
      end(endless('the list is longer than the limit'))
    else if (cursors.has(nextCursor)) end(endless('the pages of the list go round in circles'))
    else {
      cursors.add(nextCursor)
      next(nextCursor)
    }
  }
  const next = (cursor: string | null): void => {
    const left = endsAt - performance.now()
    if (asking.timeoutMs > 0 && left <= 0) {
      end({ kind: 'timeout', status: null, message: 'the list did not arrive in time' })
      return
    }
    const params = { ...(meta === null ? {} : { _meta: meta }), ...(cursor === null ? {} : { cursor }) }
    // Ids are not used twice in a session, and the client has given only one.
    const pageId = cursor === null ? id : `weir-page-${cursors.size}-${id}`
    const message: RpcRequest = { jsonrpc: '2.0', id: pageId, method, params }
    const page = asking.timeoutMs > 0 ? { ...asking, timeoutMs: Math.ceil(left) } : asking
    stop = ask(page, message, { message: order.message, answered: take, failed: (failure) => end(failure) })
  }
  next(null)
  return () => stop?.()
}

const endless = (message: string): LinkFailure => ({ kind: 'tooLarge', status: null, message })

/** A target that has nothing of the kind says that it does not know the method: an empty list. */
export const isWithout = ({ error }: Listed): boolean => error !== null && error.code === METHOD_NOT_FOUND

export const metaOf = (params: JsonObject | undefined): JsonObject | null =>
  params !== undefined && isObject(params._meta) ? params._meta : null
