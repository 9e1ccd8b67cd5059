/** Tokens whose signature has been verified: bounded, the least recently used are evicted first. */
import type { Claims } from '#engine/contract/identity.ts'

const TOKENS_MAX = 10_000
/** Characters of the tokens that are remembered, so a measure of their claims: 10,000 of 800, or 500 of 16,384. */
const CHARS_MAX = 8 * 1024 * 1024

export interface VerifiedToken {
  readonly claims: Claims
  /** Milliseconds since 1970: from here on it is expired. */
  readonly deadline: number
  /** Index of the provider whose key it was verified with, and the fingerprint of its keys then. */
  readonly provider: number
  readonly fingerprint: string
  /** Characters of the token. */
  readonly chars: number
}

/** An entry, and whether it was used since the last time that it was the oldest one. */
interface Slot {
  readonly entry: VerifiedToken
  isUsed: boolean
}

export class VerifiedTokens {
  /**
   * A Map iterates in order of insertion. The oldest is forgotten, unless it was used: then it becomes the
   * youngest once more ("second chance"). Moving it with every use would cost a request 0.4 us.
   */
  readonly #slots = new Map<string, Slot>()
  #chars = 0

  get size(): number {
    return this.#slots.size
  }

  get(key: string): VerifiedToken | undefined {
    const slot = this.#slots.get(key)
    if (slot === undefined) return undefined
    slot.isUsed = true
    return slot.entry
  }

  set(key: string, entry: VerifiedToken): void {
    this.delete(key)
    this.#chars += entry.chars
    // One place is for the new one.
    for (const [oldest, slot] of this.#slots) {
      if (this.#slots.size < TOKENS_MAX && this.#chars <= CHARS_MAX) break
      this.delete(oldest)
      if (!slot.isUsed) continue
      slot.isUsed = false
      this.#slots.set(oldest, slot)
      this.#chars += slot.entry.chars
    }
    this.#slots.set(key, { entry, isUsed: false })
  }

  delete(key: string): void {
    const slot = this.#slots.get(key)
    if (slot === undefined) return
    this.#slots.delete(key)
    this.#chars -= slot.entry.chars
  }
}
