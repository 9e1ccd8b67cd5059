/** Changes of lists that servers announce, and the cache partitions of one backend's targets. */
import { createHash } from 'node:crypto'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import type { RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import { configDigest } from '#backends/mcp/targets/config-digest.ts'
import type { Bus } from '#backends/mcp/workers/bus.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { type CachePartition, ListCache, type ListTopic } from './cache.ts'
import { LISTS } from './kinds.ts'

const CHANGED: ReadonlyMap<string, ListTopic> = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/prompts/list_changed', 'prompts'],
  ['notifications/resources/list_changed', 'resources']
])

export class ListChanges {
  readonly cache: ListCache
  readonly #bus: Bus
  readonly #backend: string
  readonly #partitions: ReadonlyMap<string, CachePartition>

  constructor(backend: McpBackend, { name, upstream }: Pick<BackendContext, 'name' | 'upstream'>, bus: Bus) {
    this.#bus = bus
    this.#backend = name
    this.cache = cacheOf(upstream, bus)
    this.#partitions = new Map(backend.targets.map(({ name: target }, at) => [target, newPartition(backend, name, at)]))
    this.cache.retainOnly(name, [...this.#partitions.values()])
  }

  partitionOf(target: string): CachePartition {
    return this.#partitions.get(target)!
  }

  /** For every message of a target: an announced change invalidates the list in all workers. */
  onMessage(target: string, message: RpcMessage): void {
    const what = 'method' in message ? CHANGED.get(message.method) : undefined
    if (what === undefined) return
    this.cache.invalidate(this.#backend, target, what)
    this.#bus.publish({ kind: 'listChanged', backend: this.#backend, target, what })
  }

  /**
   * The call may have changed lists, and the announcement comes on another connection, perhaps later than the response:
   * lists that rely on announcements are fetched again.
   */
  onCallEnd(session: Session, target: string, method: string): void {
    if (session.hasWatchedLists(target) && method !== 'ping' && !LISTS.has(method)) this.dropWatched(session, target)
  }

  /** No stream announces their changes any more. */
  dropWatched(session: Session, target: string): void {
    for (const { partition, key } of session.takeWatchedLists(target)) this.cache.drop(partition, key)
  }
}

/** Its digest covers everything that decides what a target's lists contain, and how clients see them. */
function newPartition(
  { targets, prefixMode, forwardHeaders, messageBytesMax }: McpBackend,
  backend: string,
  at: number
): CachePartition {
  const target = targets[at]!
  const settings = [prefixMode, targets.length > 1, forwardHeaders, messageBytesMax]
  const all = JSON.stringify([backend, configDigest(target), ...settings])
  return { backend, target: target.name, digest: createHash('sha256').update(all).digest('base64url') }
}

/** By thread: the cache outlives configurations. */
const caches = new WeakMap<object, ListCache>()

function cacheOf(thread: object, bus: Bus): ListCache {
  const known = caches.get(thread)
  if (known !== undefined) return known
  const cache = new ListCache()
  caches.set(thread, cache)
  follow(cache, bus)
  return cache
}

/** Invalidates what other workers hear has changed. */
export function follow(cache: ListCache, bus: Bus): void {
  bus.subscribe((message) => {
    if (message.kind === 'listChanged') cache.invalidate(message.backend, message.target, message.what)
  })
}
