/** What is known of one address of a destination: whether it can be reached, and what it speaks. */
import type { AddressReport, AddressState } from '#engine/contract/endpoint.ts'
import { type BreakerSettings, CircuitBreaker } from '#engine/kit/circuit-breaker.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { UpstreamShared } from './shared.ts'

/** How long an address is ejected after a failed connect. */
export const EJECTION: BreakerSettings = { firstMs: 500, maxMs: 30_000 }
/** A server that speaks HTTP/1.1 only is believed to do so for so long; then it may have become another one. */
const DECLINED_MS = 300_000

export class Health {
  /** Every connection that is being made is a probe of it. Null: none was ever made. */
  #breaker: CircuitBreaker | null = null
  #declinedUntil = 0

  get #dialled(): CircuitBreaker {
    this.#breaker ??= new CircuitBreaker(EJECTION)
    return this.#breaker
  }

  /** Connecting failed lately: others are preferred until the ejection is over, and then until one has tried. */
  get ejected(): boolean {
    const breaker = this.#breaker
    return breaker !== null && !breaker.isClosed && !breaker.allows(performance.now())
  }

  /** What it has answered, or what checks of it have found, speaks against it. */
  get isUnhealthy(): boolean {
    return false
  }

  get state(): AddressState {
    return this.ejected ? 'unreachable' : 'healthy'
  }

  /** For people: why it gets no requests, and for how long. */
  report(): Pick<AddressReport, 'state' | 'reason' | 'forMs'> {
    if (!this.ejected) return { state: 'healthy', reason: '', forMs: 0 }
    const forMs = Math.max(0, Math.ceil(this.ejectedUntil - performance.now()))
    return { state: 'unreachable', reason: 'a connection has failed', forMs }
  }

  /** Milliseconds of performance.now() at which the ejection ends. */
  get ejectedUntil(): number {
    return this.#breaker?.openUntil ?? 0
  }

  /** What connections to the address have in common: `shared`, or with ears of its own. */
  sharedOf(shared: UpstreamShared): UpstreamShared {
    return shared
  }

  /** An exchange has failed there without an answer. */
  failed(): void {}

  /** The server speaks HTTP/1.1: its TLS has chosen that, or it has not understood the preface. */
  get declined(): boolean {
    return this.#declinedUntil > turnStartedAt
  }

  decline(): void {
    this.#declinedUntil = turnStartedAt + DECLINED_MS
  }

  dialling(): void {
    this.#dialled.probes++
  }

  /** Behind dialling(): nobody waits for that connection any more, which says nothing of the address. */
  abandoned(): void {
    this.#dialled.probes--
  }

  /** The address works. Behind dialling(). */
  reached(): void {
    this.#dialled.probes--
    this.#dialled.succeeded()
  }

  /** Behind dialling(). */
  connectFailed(): void {
    this.#dialled.probes--
    this.#dialled.failed(performance.now())
  }
}
