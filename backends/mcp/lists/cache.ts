/**
 * Lists that are believed for a while, for all MCP backends of a thread (docs/design/023-mcp-list-cache.md): as long as
 * the server has said, or, where it tells of changes, as long as somebody here listens to it.
 */
import { performance } from 'node:perf_hooks'
import { type Page, sizeOf } from './page.ts'

/** Bytes of all lists; of one list; lists. */
export const BYTES_MAX = 16 * 1024 * 1024
export const LIST_BYTES_MAX = 4 * 1024 * 1024
export const LISTS_MAX = 4_096
/** A server that says "for ever" is asked again within the hour all the same; milliseconds. */
export const TTL_MAX_MS = 3_600_000

/** What is told of together by notifications/<this>/list_changed. */
export type Listed = 'tools' | 'prompts' | 'resources'

/** Where lists of one target are kept, of one configuration of it. */
export interface Shelf {
  /** Of the backend. */
  readonly backend: string
  readonly target: string
  /** A digest of all that decides what the list is and how it is shown. */
  readonly mark: string
}

export interface Kept {
  readonly pages: readonly Page[]
  /** By the clock; Infinity: as long as it is kept. */
  readonly until: number
  readonly isPublic: boolean
}

interface Entry extends Kept {
  readonly shelf: Shelf
  /** Of the shelf when it was asked for: what has changed since is not known. */
  readonly round: number
  readonly what: Listed
  readonly bytes: number
}

export class ListCache {
  readonly #clock: () => number
  /** By least recent use: a Map iterates in order of insertion. */
  readonly #entries = new Map<string, Entry>()
  /** Changes that have been told of, by target and what is listed. */
  readonly #rounds = new Map<string, number>()
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

  get(shelf: Shelf, what: Listed, key: string): Kept | null {
    const full = fullKey(shelf, key)
    const entry = this.#entries.get(full)
    if (entry === undefined) return null
    if (entry.until <= this.#clock() || entry.round !== this.round(shelf, what)) {
      this.#remove(full, entry)
      return null
    }
    this.#entries.delete(full)
    this.#entries.set(full, entry)
    return entry
  }

  /** `round`: from before the list was asked for; where it has moved on, the list may be old already. */
  set(shelf: Shelf, what: Listed, key: string, round: number, kept: Kept): void {
    let bytes = 512 + 2 * key.length
    for (const page of kept.pages) bytes += sizeOf(page)
    this.drop(shelf, key)
    if (bytes > LIST_BYTES_MAX || round !== this.round(shelf, what) || kept.until <= this.#clock()) return
    this.#entries.set(fullKey(shelf, key), { ...kept, shelf, round, what, bytes })
    this.#bytes += bytes
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= BYTES_MAX && this.#entries.size <= LISTS_MAX) break
      this.#remove(oldest, entry)
    }
  }

  drop(shelf: Shelf, key: string): void {
    const full = fullKey(shelf, key)
    const entry = this.#entries.get(full)
    if (entry !== undefined) this.#remove(full, entry)
  }

  #remove(full: string, { bytes }: Entry): void {
    this.#entries.delete(full)
    this.#bytes -= bytes
  }

  round({ backend, target }: Shelf, what: Listed): number {
    return this.#rounds.get(roundKey(backend, target, what)) ?? 0
  }

  /** The target has told that its list is another: nobody's of it is believed any more. */
  changed(backend: string, target: string, what: Listed): void {
    const key = roundKey(backend, target, what)
    this.#rounds.set(key, (this.#rounds.get(key) ?? 0) + 1)
  }

  /** A configuration is in force: of its backend nothing is kept but what is on these shelves. */
  keepOnly(backend: string, shelves: readonly Shelf[]): void {
    const marks = new Set(shelves.map(({ mark }) => mark))
    for (const [full, entry] of this.#entries)
      if (entry.shelf.backend === backend && !marks.has(entry.shelf.mark)) this.#remove(full, entry)
  }
}

const fullKey = ({ mark }: Shelf, key: string): string => `${mark} ${key}`
const roundKey = (backend: string, target: string, what: Listed): string => `${what} ${target} ${backend}`
