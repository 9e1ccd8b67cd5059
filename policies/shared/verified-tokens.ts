/** Tokens whose signature has been verified: bounded, the one used longest ago is forgotten first. */
import type { Identity } from '#engine/contract/exchange.ts'

const TOKENS_MAX = 10_000
/** Characters of the tokens that are remembered, so a measure of their claims: 10,000 of 800, or 500 of 16,384. */
const CHARS_MAX = 8 * 1024 * 1024

export interface VerifiedToken {
  readonly claims: Identity
  /** Milliseconds since 1970: from here on it is expired. */
  readonly deadline: number
  /** Index of the provider whose key it was verified with, and the fingerprint of its keys then. */
  readonly provider: number
  readonly fingerprint: string
  /** Characters of the token. */
  readonly chars: number
}

export class VerifiedTokens {
  /** A Map iterates in order of insertion: the first key is the one used longest ago. */
  readonly #entries = new Map<string, VerifiedToken>()
  #chars = 0

  get size(): number {
    return this.#entries.size
  }

  get(key: string): VerifiedToken | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  set(key: string, entry: VerifiedToken): void {
    this.delete(key)
    this.#entries.set(key, entry)
    this.#chars += entry.chars
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= TOKENS_MAX && this.#chars <= CHARS_MAX) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#chars -= entry.chars
  }
}
