/**
 * The keys of one issuer, fetched by one thread: refreshed before they are too old, kept while the
 * issuer is down, fetched again once when a token names a key that is not among them.
 */
import type { Background } from '#engine/contract/background.ts'
import type { Time } from '#engine/contract/time.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { KeySet } from './jwt-keys.ts'

/** After a failure: doubled with each further one, up to the age at which keys are refreshed or this. */
const RETRY_FIRST_MS = 500
const RETRY_MAX_MS = 60_000
/** Between two fetches that tokens with unknown keys may cause: every client can send those. */
const COOL_DOWN_MS = 10_000
/** A key that the issuer did not have: not asked for again in this time, unless the keys change. */
const UNKNOWN_MS = 60_000
const UNKNOWN_MAX = 1_000
/** Tokens that wait for one fetch: an issuer that is slow keeps no more of them in memory. */
const WAITING_MAX = 1_024
const REFRESH_MS_MIN = 1_000
/** 24 days: a longer timer of Node's strikes after a millisecond, and then again and again. */
const REFRESH_MS_MAX = 2 ** 31 - 1

export interface KeyServices extends Pick<Time, 'now' | 'after' | 'random'> {
  readonly log: (level: 'info' | 'warn', message: string) => void
}

/** Where keys are, as one configuration sees it. */
export interface KeyPlace {
  /** For logs: without the query, which may hold a secret. */
  readonly name: string
  /** Rejects with an Error that says in words why there are no keys. `signal` gives it up. */
  readonly fetch: (signal: AbortSignal) => Promise<KeySet>
}

/** One policy that verifies with the keys. */
interface Use {
  readonly maxAgeMs: number
  readonly place: KeyPlace
}

export interface KeySource {
  /** Null: there are none yet. */
  readonly current: KeySet | null
  /** Resolves when there are keys or an attempt to get them has failed; null when nothing would come of waiting. */
  ready(): Promise<void> | null
  /** As `ready`, for a token whose key is not among the current ones. `kid` is the token's. */
  refreshFor(kid: string | null): Promise<void> | null
}

/** Keys that are part of the configuration. */
export function fixedKeys(current: KeySet): KeySource {
  return { current, ready: () => null, refreshFor: () => null }
}

export class RemoteKeys implements KeySource {
  current: KeySet | null = null
  readonly #place: KeyPlace
  readonly #services: KeyServices
  readonly #onUse: (isUsed: boolean) => void
  /** Of the configurations in force, the newest last. */
  readonly #uses: Use[] = []
  #fetching: Promise<void> | null = null
  /** Of the fetch that is under way. */
  #giveUp = new AbortController()
  #isAwaited = false
  #waiting = 0
  #callOff: () => void = () => {}
  #failures = 0
  /** When the last fetch was over: keys age from then on, however often a configuration begins meanwhile. */
  #fetchedAt = 0
  #refetchedAt = Number.NEGATIVE_INFINITY
  /** Key ids that the issuer does not have -> until when that is believed. */
  #unknown = new Lru<string, number>(UNKNOWN_MAX)

  /** `onUse`: the first configuration in force needs the keys, or none does any more. */
  constructor(place: KeyPlace, services: KeyServices, onUse: (isUsed: boolean) => void) {
    this.#place = place
    this.#services = services
    this.#onUse = onUse
  }

  /** One use of the keys, which are at most `maxAgeMs` old as long as the issuer answers. */
  use(maxAgeMs: number, place = this.#place): Background {
    const own: Use = { maxAgeMs, place }
    return {
      begin: () => {
        if (this.#uses.push(own) === 1) this.#onUse(true)
        if (this.#fetching !== null) return
        if (this.current === null) void this.#fetch()
        else this.#schedule()
      },
      end: () => {
        this.#uses.splice(this.#uses.indexOf(own), 1)
        if (this.#uses.length > 0) return
        this.#callOff()
        this.#abandon()
        this.#onUse(false)
      }
    }
  }

  ready(): Promise<void> | null {
    if (this.#fetching !== null) return this.#wait(this.#fetching)
    // After a failure the next attempt has its time: requests do not hurry it.
    return this.current !== null || this.#failures > 0 ? null : this.#fetchFor()
  }

  refreshFor(kid: string | null): Promise<void> | null {
    if (this.#fetching !== null) return this.#wait(this.#fetching)
    const now = this.#services.now()
    if (now - this.#refetchedAt < COOL_DOWN_MS) return null
    if (kid !== null && (this.#unknown.get(kid) ?? 0) > now) return null
    this.#refetchedAt = now
    return this.#fetchFor().then(() => {
      const isKnown = this.current?.keys.some((key) => key.kid === kid) ?? false
      if (kid !== null && !isKnown) this.#unknown.set(kid, now + UNKNOWN_MS)
    })
  }

  #wait(fetching: Promise<void>): Promise<void> | null {
    this.#isAwaited = true
    return this.#waiting++ < WAITING_MAX ? fetching : null
  }

  /** For a request. */
  #fetchFor(): Promise<void> {
    const fetching = this.#fetch()
    this.#isAwaited = true
    return fetching
  }

  /** Requests that wait for keys are served by the configuration that they began with, so their fetch goes on. */
  #abandon(): void {
    if (this.#fetching === null || this.#isAwaited) return
    this.#fetching = null
    this.#giveUp.abort()
  }

  #fetch(): Promise<void> {
    this.#callOff()
    this.#waiting = 0
    this.#isAwaited = false
    // The way to a service ends with its configuration: the newest is in force for longest.
    const { fetch } = this.#uses.at(-1)?.place ?? this.#place
    const giveUp = new AbortController()
    this.#giveUp = giveUp
    this.#fetching = fetch(giveUp.signal).then(
      (keys) => (giveUp.signal.aborted ? undefined : this.#accept(keys)),
      (error: Error) => (giveUp.signal.aborted ? undefined : this.#fail(error))
    )
    return this.#fetching
  }

  #accept(keys: KeySet): void {
    this.#fetching = null
    this.#fetchedAt = this.#services.now()
    const { ignored, fingerprint } = keys
    const isNew = this.current?.fingerprint !== fingerprint
    if (isNew) this.#unknown = new Lru(UNKNOWN_MAX)
    if (this.#failures > 0) this.#services.log('info', `keys of ${this.#place.name} are fetched again`)
    if (isNew && ignored.length > 0) {
      this.#services.log('warn', `keys of ${this.#place.name} that are not used: ${ignored.slice(0, 4).join('; ')}`)
    }
    this.#failures = 0
    // An equal set stays the same object.
    if (isNew) this.current = keys
    this.#schedule()
  }

  #fail(error: Error): void {
    this.#fetching = null
    this.#fetchedAt = this.#services.now()
    // Said once, until it works again.
    if (this.#failures++ === 0) {
      const rest = this.current === null ? 'tokens of this issuer get 503' : 'the keys known so far stay in use'
      this.#services.log('warn', `cannot fetch the keys of ${this.#place.name}: ${error.message}; ${rest}`)
    }
    this.#schedule()
  }

  #schedule(): void {
    this.#callOff()
    if (this.#uses.length === 0) return
    const ages = this.#uses.map(({ maxAgeMs }) => maxAgeMs)
    const age = Math.max(REFRESH_MS_MIN, Math.min(REFRESH_MS_MAX, ...ages))
    const retry = Math.min(age, RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.#failures - 1, 20))
    // Between 75 and 95 %: threads and replicas that began together do not ask together.
    const ms = ((this.#failures > 0 ? retry : age) * (75 + Math.floor(this.#services.random() * 21))) / 100
    const gone = this.#services.now() - this.#fetchedAt
    this.#callOff = this.#services.after(Math.max(0, ms - gone), () => void this.#fetch())
  }
}
