/**
 * Which provider is asked next: the first group that has one which is not resting; in it the better of two taken
 * by latency and what is under way. One that has failed rests: longer each time, or for as long as it says.
 */

const REST_FIRST_MS = 1_000
const REST_MAX_MS = 60_000
/** Of what a provider asks for in Retry-After: a mistaken header must not shut it out for a day. */
const RETRY_AFTER_MAX_MS = 300_000
/** Weight of the newest latency. */
const ALPHA = 0.3

/** A provider as the balancer sees it. */
export class Seat<T> {
  readonly provider: T
  pending = 0
  #latencyMs = 0
  #failures = 0
  #restsUntil = 0

  constructor(provider: T) {
    this.provider = provider
  }

  get restsUntil(): number {
    return this.#restsUntil
  }

  /** Lower is better. */
  get load(): number {
    return (1 + this.pending) * Math.max(this.#latencyMs, 1)
  }

  succeeded(latencyMs: number): void {
    this.#failures = 0
    this.#restsUntil = 0
    this.#latencyMs = this.#latencyMs === 0 ? latencyMs : this.#latencyMs + ALPHA * (latencyMs - this.#latencyMs)
  }

  /** `askedMs`: how long the provider wants to be left alone, or null. `random`: 0 <= x < 1. */
  failed(nowMs: number, askedMs: number | null, random: number): void {
    const own = Math.min(REST_FIRST_MS * 2 ** Math.min(this.#failures, 10), REST_MAX_MS)
    this.#failures++
    // Jitter, or all workers would come back at once.
    const rest = askedMs === null ? own * (0.5 + random / 2) : Math.min(askedMs, RETRY_AFTER_MAX_MS) * (1 + random / 10)
    this.#restsUntil = nowMs + rest
  }
}

/** The next to ask, or null when all are in `tried`. Where all rest, the one that rests shortest. */
export function choose<T>(
  groups: readonly (readonly Seat<T>[])[],
  tried: readonly Seat<T>[],
  nowMs: number,
  random: () => number
): Seat<T> | null {
  let soonest: Seat<T> | null = null
  for (const group of groups) {
    const open = group.filter((seat) => !tried.includes(seat))
    const awake = open.filter((seat) => seat.restsUntil <= nowMs)
    if (awake.length > 0) return betterOf(awake, random)
    for (const seat of open) if (soonest === null || seat.restsUntil < soonest.restsUntil) soonest = seat
  }
  return soonest
}

function betterOf<T>(seats: readonly Seat<T>[], random: () => number): Seat<T> {
  if (seats.length === 1) return seats[0]!
  const first = Math.floor(random() * seats.length)
  // Another than the first, all equally likely.
  const second = (first + 1 + Math.floor(random() * (seats.length - 1))) % seats.length
  const [a, b] = [seats[first]!, seats[second]!]
  return a.load <= b.load ? a : b
}

/** Milliseconds that a Retry-After field asks for (RFC 9110 section 10.2.3), in seconds or as a date; null for none. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  if (/^\d{1,9}(?:\.\d+)?$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(at - nowMs, 0)
}
