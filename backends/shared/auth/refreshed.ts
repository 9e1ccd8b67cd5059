/** Something that has to be fetched, and fetched again before it ends: a token, temporary credentials. */

export interface Fetched<T> {
  readonly value: T
  /** Milliseconds since 1970; Infinity: it does not end. */
  readonly expiresAt: number
}

export interface RefreshOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Told of each failure: why, in words without secrets. */
  readonly failed: (why: string) => void
}

/** How long before its end a value is replaced; it is used until the new one is there. */
const EARLY_MS = 300_000
/** Of short lives this part of them. */
const EARLY_PART = 0.25
/** A value is not used in its last seconds: the request has to arrive, and clocks differ. */
const LAST_MS = 10_000
/** What does not end may have been replaced where it comes from (a file). */
const REREAD_MS = 300_000
const PAUSE_FIRST_MS = 500
const PAUSE_MAX_MS = 30_000
/** A value that was refused is not suspected again for so long: most refusals have other reasons. */
const SUSPECT_MS = 30_000

/** Fetches when it is asked, one at a time; a failure holds for a moment, which grows with each further one. */
export class RefreshedValue<T> {
  readonly #fetch: (signal: AbortSignal) => Promise<Fetched<T>>
  readonly #world: RefreshOptions
  #current: { readonly value: T; readonly refreshAt: number; readonly endsAt: number; readonly since: number } | null =
    null
  #pending: Promise<T> | null = null
  /** Of what is pending. */
  #giveUp = new AbortController()
  #isAwaited = false
  #failures = 0
  #pausedUntil = 0
  #problem: Error = new Error('nothing was fetched')

  /** `fetch` ends with its signal, where it can. */
  constructor(fetch: (signal: AbortSignal) => Promise<Fetched<T>>, world: RefreshOptions) {
    this.#fetch = fetch
    this.#world = world
  }

  /** The value, at once when it is there. Rejects with the Error of `fetch`. */
  get(): T | Promise<T> {
    const now = this.#world.now()
    const current = this.#current
    if (current !== null && now < current.endsAt) {
      if (now >= current.refreshAt && this.#pending === null && now >= this.#pausedUntil) void this.#begin(false)
      return current.value
    }
    if (this.#pending !== null) {
      this.#isAwaited = true
      return this.#pending
    }
    if (now < this.#pausedUntil) return Promise.reject(this.#problem)
    return this.#begin(true)!
  }

  /** The value was refused: it may have been withdrawn. */
  refused(): void {
    if (this.#current !== null && this.#world.now() - this.#current.since >= SUSPECT_MS) this.#current = null
  }

  /** No configuration in force uses it (Fetcher.abandon). */
  abandon(): void {
    if (this.#pending === null || this.#isAwaited) return
    this.#pending = null
    this.#giveUp.abort()
  }

  /** With `isAwaited` the promise is the caller's; else nobody needs to know how it ends. */
  #begin(isAwaited: boolean): Promise<T> | null {
    const giveUp = new AbortController()
    const pending = this.#fetch(giveUp.signal).then(
      (fetched) => (giveUp.signal.aborted ? fetched.value : this.#take(fetched)),
      (error: unknown) => {
        if (giveUp.signal.aborted) throw error
        return this.#fail(error)
      }
    )
    this.#pending = pending
    this.#giveUp = giveUp
    this.#isAwaited = isAwaited
    if (isAwaited) return pending
    // The failure is noted, and told, in #fail; that of a fetch that was given up is none.
    pending.catch(() => null)
    return null
  }

  #take({ value, expiresAt }: Fetched<T>): T {
    const now = this.#world.now()
    const life = expiresAt - now
    this.#pending = null
    this.#failures = 0
    this.#pausedUntil = 0
    const refreshAt = life === Infinity ? now + REREAD_MS : expiresAt - Math.min(EARLY_MS, life * EARLY_PART)
    const endsAt = expiresAt - Math.min(LAST_MS, life * EARLY_PART)
    this.#current = { value, refreshAt, endsAt, since: now }
    return value
  }

  #fail(error: unknown): never {
    const pause = Math.min(PAUSE_FIRST_MS * 2 ** this.#failures, PAUSE_MAX_MS)
    this.#failures = Math.min(this.#failures + 1, 16)
    this.#pending = null
    this.#pausedUntil = this.#world.now() + pause
    this.#problem = error instanceof Error ? error : new Error('it failed')
    this.#world.failed(this.#problem.message)
    throw this.#problem
  }
}
