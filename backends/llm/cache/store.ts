/** Answers of one worker thread, and requests that wait for one. */
import type { FormatName, Usage } from '#backends/llm/conversation.ts'

/** An answer as a client got it, all of it. */
export interface Kept {
  readonly format: FormatName
  readonly isStream: boolean
  /** Of a stream: it tells usage. */
  readonly hasUsage: boolean
  readonly bytes: Buffer
  /** What it has cost in tokens; null: nobody said. */
  readonly usage: Usage | null
  readonly provider: string | undefined
  readonly requestModel: string | undefined
  readonly responseModel: string | undefined
  /** Milliseconds of the monotonic clock. */
  readonly at: number
  /** Cosine of the question that it answers and the one that was asked; absent: they are equal. */
  readonly similarity?: number
}

/** Requests that wait for one answer; those that come then ask by themselves. */
const WAITERS_MAX = 1_000
/** Of an entry beside its answer: key, numbers, places in maps. */
const ENTRY_BYTES = 512

/** A question that has been put to a provider: equal ones wait for its answer. */
export class Flight {
  readonly #waiters: ((kept: Kept | null) => void)[] = []
  #isOver = false

  /** False: there are too many. */
  join(wake: (kept: Kept | null) => void): boolean {
    if (this.#isOver || this.#waiters.length >= WAITERS_MAX) return false
    this.#waiters.push(wake)
    return true
  }

  /** Null: there is no answer that others may have. Again: nothing. */
  end(kept: Kept | null): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const wake of this.#waiters) wake(kept)
  }
}

export class Store {
  readonly flights = new Map<string, Flight>()
  readonly #bytesMax: number
  /** In order of use, the one that will be forgotten next first. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Undefined: none, or none that is younger than `ttlMs`. */
  get(key: string, nowMs: number, ttlMs: number): Kept | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    this.#delete(key, kept)
    if (nowMs - kept.at >= ttlMs) return undefined
    this.#add(key, kept)
    return kept
  }

  set(key: string, kept: Kept): void {
    const before = this.#kept.get(key)
    if (before !== undefined) this.#delete(key, before)
    this.#add(key, kept)
    for (const [oldest, other] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) return
      this.#delete(oldest, other)
    }
  }

  #add(key: string, kept: Kept): void {
    this.#kept.set(key, kept)
    this.#bytes += kept.bytes.length + ENTRY_BYTES
  }

  #delete(key: string, kept: Kept): void {
    this.#kept.delete(key)
    this.#bytes -= kept.bytes.length + ENTRY_BYTES
  }
}
