/**
 * What was found for tokens of the last seconds, looked up without hashing them: a client that sends many requests
 * sends one token. SHA-256 of a token costs 1.2 us, and 3 us where other code has had the processor meanwhile; this
 * costs 0.2. Tokens are kept as text for it, but never longer than KEEP_MS: request heads in the buffers live as long.
 */
import type { Time } from '#engine/contract/time.ts'

/** Where there are more than that, the others have to be hashed. */
const TOKENS_MAX = 4_096
/** Characters of all tokens. */
const CHARS_MAX = 4 * 1024 * 1024
/** Milliseconds. */
const KEEP_MS = 10_000
/** Of the end of a token, which is its signature and so as good as random: the hash of the map reads no more. */
const TAIL_CHARS = 32

interface Recent<T> {
  readonly token: string
  readonly found: T
}

export class RecentTokens<T> {
  readonly #byTail = new Map<string, Recent<T>>()
  readonly #forgetAll = () => this.forget()
  readonly #after: Time['after']
  #callOff: (() => void) | null = null
  #chars = 0

  constructor(after: Time['after']) {
    this.#after = after
  }

  get(token: string): T | undefined {
    const recent = this.#byTail.get(token.substring(token.length - TAIL_CHARS))
    return recent !== undefined && recent.token === token ? recent.found : undefined
  }

  /** `token`: latin1. */
  set(token: string, found: T): void {
    if (this.#byTail.size >= TOKENS_MAX || this.#chars + token.length > CHARS_MAX) return
    this.#callOff ??= this.#after(KEEP_MS, this.#forgetAll)
    // A copy: the token is a piece of a whole request head, which would stay with it.
    const copy = Buffer.from(token, 'latin1').latin1Slice()
    this.#chars += copy.length
    this.#byTail.set(copy.substring(copy.length - TAIL_CHARS), { token: copy, found })
  }

  forget(): void {
    this.#callOff?.()
    this.#callOff = null
    this.#chars = 0
    this.#byTail.clear()
  }
}
