/**
 * Which provider is asked next: the first group that has one that can be reached, and whose circuit breaker lets it
 * through; in it the better of two taken by latency and what is under way. One that has failed pauses: longer each
 * time, or for as long as it says.
 */
import { FAILOVER_DEFAULT } from '#backends/llm/config/failover.ts'
import type { Cooldown } from '#backends/llm/config/snapshot.ts'
import { CircuitBreaker } from '#engine/kit/circuit-breaker.ts'

/** Weight of the newest latency. */
const ALPHA = 0.3

/** A provider as the balancer sees it. */
export class ProviderSlot<T> {
  readonly provider: T
  readonly health: Health
  /** False while checks or its answers have all its addresses left out. */
  readonly isUp: () => boolean

  constructor(provider: T, health: Health = new Health(), isUp: () => boolean = () => true) {
    this.provider = provider
    this.health = health
    this.isUp = isUp
  }
}

/** How a provider is: it outlives the configuration that named it, or a reload would forget a Retry-After. */
export class Health {
  /** Attempts without an answer yet. */
  pending = 0
  /** Those of them that began after a failure are its probes. */
  readonly breaker = new CircuitBreaker(FAILOVER_DEFAULT.cooldown)
  /** As the configuration in force has it. */
  cooldown: Cooldown = FAILOVER_DEFAULT.cooldown
  /** Failures in a row, as long as they do not open the breaker. */
  #failures = 0
  #failedAt = Number.NEGATIVE_INFINITY
  #latencyMs = 0
  #firstTokenMs = 0

  /** Lower is better. */
  get load(): number {
    return (1 + this.pending) * Math.max(this.#latencyMs, 1)
  }

  /** Until answers begin, of late: streamed ones where there were any. 0: there was no answer. */
  get firstTokenMs(): number {
    return this.#firstTokenMs || this.#latencyMs
  }

  succeeded(latencyMs: number, startedAt: number): void {
    this.breaker.succeeded(startedAt)
    if (startedAt >= this.#failedAt) this.#failures = 0
    this.#latencyMs = mean(this.#latencyMs, latencyMs)
  }

  firstToken(afterMs: number): void {
    this.#firstTokenMs = mean(this.#firstTokenMs, afterMs)
  }

  /** `pauseMs`: the pause that the provider asks for, or null. `random`: 0 <= x < 1. `startedAt`: of the attempt. */
  failed(nowMs: number, pauseMs: number | null, random: number, startedAt = nowMs): void {
    const { failures, firstMs, maxMs, retryAfterMaxMs } = this.cooldown
    // Attempts that were under way together are one failure, as the breaker has it.
    if (startedAt >= this.#failedAt) this.#failures++
    this.#failedAt = nowMs
    if (this.breaker.isClosed && !pauseMs && this.#failures < failures) return
    const ownMs = () => Math.min(firstMs * 2 ** (this.breaker.failures - 1), maxMs)
    // Jitter, or all workers would come back at once. A Retry-After of zero counts as none.
    this.breaker.failed(nowMs, startedAt, () =>
      pauseMs ? Math.min(pauseMs, retryAfterMaxMs) * (1 + random / 10) : ownMs() * (0.5 + random / 2)
    )
  }
}

/** Exponentially weighted; 0: there was none before. */
const mean = (before: number, ms: number): number => (before === 0 ? ms : before + ALPHA * (ms - before))

/** One attempt at a provider, from its choice until its outcome: the first outcome counts. */
export class Attempt<T> {
  readonly slot: ProviderSlot<T>
  readonly #startedAt: number
  readonly #isProbe: boolean
  #isOver = false

  constructor(slot: ProviderSlot<T>, nowMs: number) {
    this.slot = slot
    this.#startedAt = nowMs
    this.#isProbe = !slot.health.breaker.isClosed
    slot.health.pending++
    if (this.#isProbe) slot.health.breaker.probes++
  }

  succeeded(nowMs: number): void {
    if (this.abandon()) this.slot.health.succeeded(nowMs - this.#startedAt, this.#startedAt)
  }

  /** The first piece of its answer came. */
  begun(nowMs: number): void {
    if (nowMs > this.#startedAt) this.slot.health.firstToken(nowMs - this.#startedAt)
  }

  failed(nowMs: number, pauseMs: number | null, random: number): void {
    if (this.abandon()) this.slot.health.failed(nowMs, pauseMs, random, this.#startedAt)
  }

  /** It had answered, and then broke off. */
  broke(nowMs: number, random: number): void {
    this.slot.health.failed(nowMs, null, random, this.#startedAt)
  }

  /** Its outcome will never be known: the client has left. False: it was known. */
  abandon(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.slot.health.pending--
    if (this.#isProbe) this.slot.health.breaker.probes--
    return true
  }
}

/**
 * The next to ask, or null when all are in `tried`. Where all are open, the one that is back first. `choose`: among
 * those of a group that may be asked.
 */
export function chooseSlot<T>(
  groups: readonly (readonly ProviderSlot<T>[])[],
  tried: readonly ProviderSlot<T>[],
  nowMs: number,
  random: () => number,
  choose: (slots: readonly ProviderSlot<T>[]) => ProviderSlot<T> = (slots) => betterOf(slots, random)
): ProviderSlot<T> | null {
  let soonest: ProviderSlot<T> | null = null
  for (const group of groups) {
    const left = group.filter((slot) => !tried.includes(slot))
    const closed = left.filter((slot) => slot.isUp() && slot.health.breaker.allows(nowMs))
    if (closed.length > 0) return choose(closed)
    for (const slot of left) {
      if (soonest === null || isSooner(slot, soonest)) soonest = slot
    }
  }
  return soonest
}

/** Of two that may not be asked. */
function isSooner<T>(a: ProviderSlot<T>, b: ProviderSlot<T>): boolean {
  const isUp = a.isUp()
  return isUp === b.isUp() ? a.health.breaker.openUntil < b.health.breaker.openUntil : isUp
}

export function betterOf<T>(slots: readonly ProviderSlot<T>[], random: () => number): ProviderSlot<T> {
  if (slots.length === 1) return slots[0]!
  const first = Math.floor(random() * slots.length)
  // Another than the first, all equally likely.
  const second = (first + 1 + Math.floor(random() * (slots.length - 1))) % slots.length
  const [a, b] = [slots[first]!, slots[second]!]
  return a.health.load <= b.health.load ? a : b
}

/** The three forms of an HTTP-date begin with the name of a day (RFC 9110 section 5.6.7). */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /

/**
 * Milliseconds that a Retry-After field asks for (RFC 9110 section 10.2.3), in seconds or as a date; null for none, and
 * for what is neither: Date.parse alone takes "-5" for a day of May.
 */
export function retryAfterMs(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(value)) return Number(value) * 1000
  const at = DATE.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(at - nowMs, 0)
}
