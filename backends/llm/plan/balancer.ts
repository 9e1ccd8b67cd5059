/**
 * Which provider is asked next: the first group that has one which is not resting; in it the better of two taken
 * by latency and what is under way. One that has failed rests: longer each time, or for as long as it says. When it
 * comes back it gets one request at a time, until one succeeds.
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
  readonly health: Health

  constructor(provider: T, health: Health = new Health()) {
    this.provider = provider
    this.health = health
  }
}

/** How a provider is: it outlives the configuration that named it, or a reload would forget a Retry-After. */
export class Health {
  /** Attempts without an answer yet. */
  pending = 0
  /** Those of them that began after a failure. */
  probes = 0
  #latencyMs = 0
  #failures = 0
  #restsUntil = 0
  #failedAt = Number.NEGATIVE_INFINITY

  get restsUntil(): number {
    return this.#restsUntil
  }

  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /** Lower is better. */
  get load(): number {
    return (1 + this.pending) * Math.max(this.#latencyMs, 1)
  }

  /** False while it rests, and while somebody tries whether it is back. */
  isOpen(nowMs: number): boolean {
    return this.#failures === 0 || (this.#restsUntil <= nowMs && this.probes === 0)
  }

  /** What was under way when another attempt failed says nothing of how it is now: it does not end the rest. */
  succeeded(latencyMs: number, startedAt: number): void {
    if (startedAt >= this.#failedAt) {
      this.#failures = 0
      this.#restsUntil = 0
    }
    this.#latencyMs = this.#latencyMs === 0 ? latencyMs : this.#latencyMs + ALPHA * (latencyMs - this.#latencyMs)
  }

  /**
   * `askedMs`: how long the provider wants to be left alone, or null. `random`: 0 <= x < 1. `startedAt`: the attempt's.
   * Those that were under way when another failed are the same failure: a hundred at once are not a hundred in a row.
   */
  failed(nowMs: number, askedMs: number | null, random: number, startedAt = nowMs): void {
    const isNew = this.#failures === 0 || startedAt > this.#failedAt
    if (isNew) {
      this.#failures++
      this.#failedAt = nowMs
    }
    const own = Math.min(REST_FIRST_MS * 2 ** Math.min(this.#failures - 1, 10), REST_MAX_MS)
    // Jitter, or all workers would come back at once. Who asks for nothing has not said anything.
    const rest = askedMs ? Math.min(askedMs, RETRY_AFTER_MAX_MS) * (1 + random / 10) : own * (0.5 + random / 2)
    // What one answer says is not shortened by another one that says nothing.
    this.#restsUntil = isNew ? nowMs + rest : Math.max(this.#restsUntil, nowMs + rest)
  }
}

/** One attempt at a provider, from when it is chosen until it is known how it went: told once, later words are void. */
export class Turn<T> {
  readonly seat: Seat<T>
  readonly #startedAt: number
  readonly #isProbe: boolean
  #isOver = false

  constructor(seat: Seat<T>, nowMs: number) {
    this.seat = seat
    this.#startedAt = nowMs
    this.#isProbe = seat.health.hasFailed
    seat.health.pending++
    if (this.#isProbe) seat.health.probes++
  }

  succeeded(nowMs: number): void {
    if (this.left()) this.seat.health.succeeded(nowMs - this.#startedAt, this.#startedAt)
  }

  failed(nowMs: number, askedMs: number | null, random: number): void {
    if (this.left()) this.seat.health.failed(nowMs, askedMs, random, this.#startedAt)
  }

  /** It had answered, and then broke off. */
  broke(nowMs: number, random: number): void {
    this.seat.health.failed(nowMs, null, random, this.#startedAt)
  }

  /** Nobody will know how it would have gone: the client has left. False: it was known. */
  left(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.seat.health.pending--
    if (this.#isProbe) this.seat.health.probes--
    return true
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
    const left = group.filter((seat) => !tried.includes(seat))
    const open = left.filter((seat) => seat.health.isOpen(nowMs))
    if (open.length > 0) return betterOf(open, random)
    for (const seat of left) if (soonest === null || seat.health.restsUntil < soonest.health.restsUntil) soonest = seat
  }
  return soonest
}

function betterOf<T>(seats: readonly Seat<T>[], random: () => number): Seat<T> {
  if (seats.length === 1) return seats[0]!
  const first = Math.floor(random() * seats.length)
  // Another than the first, all equally likely.
  const second = (first + 1 + Math.floor(random() * (seats.length - 1))) % seats.length
  const [a, b] = [seats[first]!, seats[second]!]
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
