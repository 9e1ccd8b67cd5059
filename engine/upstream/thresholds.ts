/**
 * The policy circuitBreaker: bounds on what is under way to one endpoint, over all workers of the process
 * (docs/design/035-health.md). Each worker writes what it has into a row of its own, and reads those of all.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { type EndListener, listenForEnd } from '#engine/contract/exchange-signal.ts'
import { RETRY_GATE, type RetryGate, type ThresholdLimits } from '#engine/contract/resilience.ts'
import type { SharedRow, SharedRows } from '#engine/kit/shared-rows.ts'

// Numbers of a row.
export const CONNECTIONS = 0
export const PENDING = 1
export const REQUESTS = 2
const RETRIES = 3
/** Whose numbers these are: deaths in its place before it came. */
const DEATHS = 4
type Kind = typeof CONNECTIONS | typeof PENDING | typeof REQUESTS | typeof RETRIES

/** As metrics and the log name them. */
export type ThresholdKind = 'connections' | 'pending_requests' | 'requests' | 'retries'
const KINDS: readonly ThresholdKind[] = ['connections', 'pending_requests', 'requests', 'retries']
const FIELDS = ['maxConnections', 'maxPendingRequests', 'maxRequests', 'maxRetries'] as const

/** Which of the workers of the process this is. */
export interface WorkerPlace {
  readonly index: number
  readonly count: number
  /** How many threads have died in the place of a worker; absent: none does. */
  readonly deaths?: (worker: number) => number
}

export interface ThresholdParts {
  /** Of the endpoint. */
  readonly name: string
  /** The same for the same endpoint in all workers, and of no other one: a row has one writer. */
  readonly key: string
  readonly limits: ThresholdLimits
  readonly rows: SharedRows
  readonly worker: WorkerPlace
  readonly overflowed: (kind: ThresholdKind) => void
}

export class Thresholds {
  readonly #parts: ThresholdParts
  readonly #most: readonly number[]
  /** Of each worker. */
  readonly #rows: readonly SharedRow[]
  /** Of this one: where its numbers stand too, in case its row goes to another name. */
  readonly #own = [0, 0, 0, 0]
  readonly #deaths: number

  constructor(parts: ThresholdParts) {
    const { key, limits, rows, worker } = parts
    this.#parts = parts
    this.#most = FIELDS.map((field) => limits[field] ?? Number.POSITIVE_INFINITY)
    this.#rows = Array.from({ length: worker.count }, (_, i) => rows.row(`threshold ${i} ${key}`))
    this.#deaths = worker.deaths?.(worker.index) ?? 0
    this.#publish()
  }

  get #row(): SharedRow {
    return this.#rows[this.#parts.worker.index]!
  }

  /** All of them: the row may be another one than before, and empty. */
  #publish(): void {
    const row = this.#row
    row.touch()
    for (let kind = 0; kind < this.#own.length; kind++) row.set(kind, this.#own[kind]!)
    row.set(DEATHS, this.#deaths)
  }

  change(kind: Kind, by: number): void {
    if (this.#most[kind] === Number.POSITIVE_INFINITY) return
    this.#own[kind]! += by
    this.#publish()
  }

  /** Of all workers. */
  #count(kind: Kind): number {
    const { index, deaths } = this.#parts.worker
    let count = this.#own[kind]!
    for (let i = 0; i < this.#rows.length; i++) {
      const row = this.#rows[i]!
      // What a thread that has died had under way is over, and its successor may never ask this endpoint.
      if (i !== index && (deaths?.(i) ?? 0) === row.get(DEATHS)) count += row.get(kind)
    }
    return count
  }

  /** Why `ex` may not be sent: the setting. Null: it may. `waits`: there is no connection for it yet. */
  refusal(waits: boolean): string | null {
    const requests = this.#most[REQUESTS]! === Number.POSITIVE_INFINITY ? 0 : this.#count(REQUESTS)
    if (requests >= this.#most[REQUESTS]!) return this.#overflow(REQUESTS)
    if (waits && this.#isFull(PENDING)) return this.#overflow(PENDING)
    return null
  }

  #isFull(kind: Kind): boolean {
    return this.#most[kind] !== Number.POSITIVE_INFINITY && this.#count(kind) >= this.#most[kind]!
  }

  #overflow(kind: Kind): string {
    this.#parts.overflowed(KINDS[kind]!)
    return `circuitBreaker.${FIELDS[kind]} (${this.#most[kind]}) of ${this.#parts.name}`
  }

  /** As many as this worker may have: what the others leave, and one always, as in Envoy. */
  connectionsMax(poolMax: number): number {
    const most = this.#most[CONNECTIONS]!
    if (most === Number.POSITIVE_INFINITY) return poolMax
    return Math.min(poolMax, Math.max(1, most - (this.#count(CONNECTIONS) - this.#own[CONNECTIONS]!)))
  }

  /** A connection was wanted, and there are too many. */
  connectionRefused(): void {
    if (this.#most[CONNECTIONS] !== Number.POSITIVE_INFINITY) this.#overflow(CONNECTIONS)
  }

  /** ex is sent: further attempts of it ask here first. */
  attach(ex: Exchange): void {
    if (this.#most[RETRIES] === Number.POSITIVE_INFINITY) return
    const gate = RETRY_GATE.get(ex)
    if (!(gate instanceof Gate && gate.thresholds === this)) RETRY_GATE.set(ex, new Gate(this, ex))
  }

  /** An exchange begins to be tried again. False: too many are. */
  takeRetry(): boolean {
    if (this.#isFull(RETRIES)) {
      this.#overflow(RETRIES)
      return false
    }
    this.change(RETRIES, 1)
    return true
  }

  giveRetry(): void {
    this.change(RETRIES, -1)
  }
}

/** One exchange counts once however often it is tried again, until it is over. */
class Gate implements RetryGate, EndListener {
  readonly thresholds: Thresholds
  readonly #ex: Exchange
  #isCounted = false

  constructor(thresholds: Thresholds, ex: Exchange) {
    this.thresholds = thresholds
    this.#ex = ex
  }

  mayRetry(): boolean {
    if (this.#isCounted) return true
    if (!this.thresholds.takeRetry()) return false
    this.#isCounted = true
    listenForEnd(this.#ex, this)
    return true
  }

  exchangeOver(): void {
    this.thresholds.giveRetry()
  }
}
