/** Token buckets of the whole process, as policies use them. Implemented by engine/workers/buckets.ts. */
import type { Exchange } from './exchange.ts'
import { Slot } from './slot.ts'

/** One rate limit. Its bucket holds `amount` + `burst` tokens at first, and gets `amount` more every `unitMs`. */
export interface LimitSpec {
  /** Equal ids with equal numbers share their buckets, in all threads and over reloads. */
  readonly id: string
  readonly amount: number
  readonly burst: number
  /** A period in milliseconds; the first begins when a bucket is first used. */
  readonly unitMs: number
  /** Each caller has its own bucket. Otherwise all share one. */
  readonly isKeyed: boolean
}

/** A limit in one thread. What the last `take` found out stays in its fields until the next one: no garbage. */
export interface Limit {
  /** Most tokens that a bucket holds: amount + burst. */
  readonly capacity: number
  /** After take: the bucket it was, for giveBack. */
  readonly bucket: number
  /**
   * After take: milliseconds until the next tokens come, or, if it was refused, until there are enough. At least 0.
   */
  readonly waitMs: number
  /**
   * Takes `amount` tokens (0 or more) if the bucket of `caller` has at least `need`: the number that is left, or -1
   * for a refusal. `caller` null: not known, or the limit has no callers; all of those share one bucket.
   */
  take(caller: string | null, need: number, amount: number): number
  /** Undoes a take of `amount` from `bucket`. */
  giveBack(bucket: number, amount: number): void
  /** Takes `amount` whether it is there or not: the bucket may owe tokens, and refuses until it has them again. */
  charge(caller: string | null, amount: number): void
}

export interface Buckets {
  limit(spec: LimitSpec): Limit
}

/** A limit that counts what an exchange costs, which is known when it is over (docs/specification.md#rate-limits). */
export interface Meter {
  readonly limit: Pick<Limit, 'charge'>
  readonly caller: string | null
}

/** Limits that wait to be charged with what the exchange costs. */
const METERS = new Slot<readonly Meter[]>()

export function addMeters(ex: Exchange, meters: readonly Meter[]): void {
  const known = METERS.get(ex)
  METERS.set(ex, known === null ? meters : [...known, ...meters])
}

/** Charges `tokens` to every limit that counts the tokens of this exchange: each once, when they are known. */
export function charge(ex: Exchange, tokens: number): void {
  const meters = METERS.get(ex)
  if (meters === null) return
  for (let i = 0; i < meters.length; i++) meters[i]!.limit.charge(meters[i]!.caller, tokens)
}

/** For configurations that are checked and never run. */
export const NO_BUCKETS: Buckets = {
  limit: ({ amount, burst }) => ({
    capacity: amount + burst,
    bucket: -1,
    waitMs: 0,
    take: () => -1,
    giveBack: () => undefined,
    charge: () => undefined
  })
}
