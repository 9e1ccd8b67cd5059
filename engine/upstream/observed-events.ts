/** What attempts to an address come to, on its way to the lifecycle. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { ATTEMPT_WATCH, type AttemptWatch } from '#engine/contract/resilience.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'

/** An address whose answers count. */
export interface Observed {
  answered(ex: Exchange, tookMs: number): void
  /** An exchange has failed there without an answer. */
  failed(): void
}

/** What one attempt has come to. */
class Watched implements AttemptWatch {
  readonly #health: Observed
  readonly #startedAt: number
  #isAnswered = false

  constructor(health: Observed, now: number) {
    this.#health = health
    this.#startedAt = now
  }

  answered(ex: Exchange, now: number): void {
    this.#isAnswered = true
    this.#health.answered(ex, now - this.#startedAt)
  }

  timedOut(): void {
    if (!this.#isAnswered) this.#health.failed()
  }
}

/** Events of connections to an address whose answers count, on their way to the lifecycle. */
export class ObservedEvents implements ServerEvents {
  readonly #health: Observed
  readonly #events: ServerEvents

  constructor(health: Observed, events: ServerEvents) {
    this.#health = health
    this.#events = events
  }

  onServerReady(ex: Exchange): void {
    ATTEMPT_WATCH.set(ex, new Watched(this.#health, performance.now()))
    this.#events.onServerReady(ex)
  }

  onResponse(ex: Exchange): void {
    // Set by onServerReady above, of the same attempt.
    ;(ATTEMPT_WATCH.get(ex) as Watched | null)?.answered(ex, performance.now())
    this.#events.onResponse(ex)
  }

  onInterim(ex: Exchange, status: number, headers: HeaderBlock): void {
    this.#events.onInterim(ex, status, headers)
  }

  onResponseBody(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    return this.#events.onResponseBody(ex, chunk, start, end, slot)
  }

  onResponseEnd(ex: Exchange, trailers: string): void {
    this.#events.onResponseEnd(ex, trailers)
  }

  onServerWritable(ex: Exchange): void {
    this.#events.onServerWritable(ex)
  }

  onServerFault(...[ex, code]: Parameters<ServerEvents['onServerFault']>): void {
    this.#events.onServerFault(ex, code)
  }
}
