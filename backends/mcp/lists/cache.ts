/**
 * Cached lists of all MCP backends of a thread (docs/design/023-mcp-list-cache.md): valid for the TTL of the
 * server, or, where it announces changes, while a session of this worker has its stream open.
 */
import { performance } from 'node:perf_hooks'
import { type Page, sizeOf } from './page.ts'

/** Bytes of all lists; of one list; lists. */
export const BYTES_MAX = 16 * 1024 * 1024
export const LIST_BYTES_MAX = 4 * 1024 * 1024
export const LISTS_MAX = 4_096
/** Longer TTLs are cut to this; milliseconds. */
export const TTL_MAX_MS = 3_600_000

/** Lists whose changes notifications/<this>/list_changed announces. */
export type ListTopic = 'tools' | 'prompts' | 'resources'

/** The lists of one target in one configuration. */
export interface CachePartition {
  /** Of the backend. */
  readonly backend: string
  readonly target: string
  /** Of everything that decides what the lists contain and how clients see them. */
  readonly digest: string
}

export interface CachedList {
  readonly pages: readonly Page[]
  /** By the clock; Infinity: until it is dropped. */
  readonly until: number
  readonly isPublic: boolean
}

interface Entry extends CachedList {
  readonly partition: CachePartition
  /** When it was requested: changes since then are unknown. */
  readonly generation: number
  readonly what: ListTopic
  readonly bytes: number
}

export class ListCache {
  readonly #clock: () => number
  /** By least recent use: a Map iterates in order of insertion. */
  readonly #entries = new Map<string, Entry>()
  /** Announced changes, by target and topic. */
  readonly #generations = new Map<string, number>()
  #bytes = 0

  /** `clock`: milliseconds, of no particular epoch. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  get now(): number {
    return this.#clock()
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  get(partition: CachePartition, what: ListTopic, key: string): CachedList | null {
    const full = fullKey(partition, key)
    const entry = this.#entries.get(full)
    if (entry === undefined) return null
    if (entry.until <= this.#clock() || entry.generation !== this.generation(partition, what)) {
      this.#remove(full, entry)
      return null
    }
    this.#entries.delete(full)
    this.#entries.set(full, entry)
    return entry
  }

  /** `generation`: from before the list was requested; if it has moved on, the list may be stale. */
  set(partition: CachePartition, what: ListTopic, key: string, generation: number, kept: CachedList): void {
    let bytes = 512 + 2 * key.length
    for (const page of kept.pages) bytes += sizeOf(page)
    this.drop(partition, key)
    if (bytes > LIST_BYTES_MAX || generation !== this.generation(partition, what) || kept.until <= this.#clock()) return
    this.#entries.set(fullKey(partition, key), { ...kept, partition, generation, what, bytes })
    this.#bytes += bytes
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= BYTES_MAX && this.#entries.size <= LISTS_MAX) break
      this.#remove(oldest, entry)
    }
  }

  drop(partition: CachePartition, key: string): void {
    const full = fullKey(partition, key)
    const entry = this.#entries.get(full)
    if (entry !== undefined) this.#remove(full, entry)
  }

  #remove(full: string, { bytes }: Entry): void {
    this.#entries.delete(full)
    this.#bytes -= bytes
  }

  generation({ backend, target }: CachePartition, what: ListTopic): number {
    return this.#generations.get(generationKey(backend, target, what)) ?? 0
  }

  /** The target has announced a change: all its lists of the topic are stale. */
  invalidate(backend: string, target: string, what: ListTopic): void {
    const key = generationKey(backend, target, what)
    this.#generations.set(key, (this.#generations.get(key) ?? 0) + 1)
  }

  /** A configuration is in force: of its backend nothing is kept but what is on these partitions. */
  retainOnly(backend: string, partitions: readonly CachePartition[]): void {
    const digests = new Set(partitions.map(({ digest }) => digest))
    for (const [full, entry] of this.#entries)
      if (entry.partition.backend === backend && !digests.has(entry.partition.digest)) this.#remove(full, entry)
  }
}

const fullKey = ({ digest }: CachePartition, key: string): string => `${digest} ${key}`
const generationKey = (backend: string, target: string, what: ListTopic): string => `${what} ${target} ${backend}`
