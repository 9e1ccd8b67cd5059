/** What servers tell of their lists, and where the lists of one backend are kept. */
import { createHash } from 'node:crypto'
import { markOf } from '#backends/mcp/bridge/target-state.ts'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import { LISTS } from '#backends/mcp/lists/kinds.ts'
import type { RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { Bus } from '#backends/mcp/workers/bus.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { ListCache, type Listed, type Shelf } from './cache.ts'

const CHANGED: ReadonlyMap<string, Listed> = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/prompts/list_changed', 'prompts'],
  ['notifications/resources/list_changed', 'resources']
])

/** Of one configuration of one backend. */
export class News {
  readonly cache: ListCache
  readonly #bus: Bus
  readonly #backend: string
  readonly #shelves: ReadonlyMap<string, Shelf>

  constructor(backend: McpBackend, { name, upstream }: Pick<BackendContext, 'name' | 'upstream'>, bus: Bus) {
    this.#bus = bus
    this.#backend = name
    this.cache = cacheOf(upstream, bus)
    this.#shelves = new Map(backend.targets.map(({ name: target }, at) => [target, shelfOf(backend, name, at)]))
    this.cache.keepOnly(name, [...this.#shelves.values()])
  }

  shelf(target: string): Shelf {
    return this.#shelves.get(target)!
  }

  /** A target has said something: whoever says that a list has changed is believed at once, in all workers. */
  heard(target: string, message: RpcMessage): void {
    const what = 'method' in message ? CHANGED.get(message.method) : undefined
    if (what === undefined) return
    this.cache.changed(this.#backend, target, what)
    this.#bus.tell({ kind: 'listChanged', backend: this.#backend, target, what })
  }

  /**
   * A call is over. What it has changed is told on another connection, perhaps later than its answer: what is believed
   * because of such news is asked for again.
   */
  called(session: Session, target: string, method: string): void {
    if (session.hasBound(target) && method !== 'ping' && !LISTS.has(method)) this.unheard(session, target)
  }

  /** Nobody hears of changes any more. */
  unheard(session: Session, target: string): void {
    for (const { shelf, key } of session.unbind(target)) this.cache.drop(shelf, key)
  }
}

/** Of what decides what a target's list is, and how it is shown. */
function shelfOf({ targets, prefixMode, forwardHeaders, messageBytesMax }: McpBackend, backend: string, at: number) {
  const target = targets[at]!
  const all = JSON.stringify([backend, markOf(target), prefixMode, targets.length > 1, forwardHeaders, messageBytesMax])
  const mark = createHash('sha256').update(all).digest('base64url')
  return { backend, target: target.name, mark }
}

/** What a thread knows outlives a configuration. */
const caches = new WeakMap<object, ListCache>()

function cacheOf(thread: object, bus: Bus): ListCache {
  const known = caches.get(thread)
  if (known !== undefined) return known
  const cache = new ListCache()
  caches.set(thread, cache)
  follow(cache, bus)
  return cache
}

/** Other workers tell what their servers say. */
export function follow(cache: ListCache, bus: Bus): void {
  bus.listen((word) => {
    if (word.kind === 'listChanged') cache.changed(word.backend, word.target, word.what)
  })
}
