/**
 * Where a number may have begun in text that is still arriving: at each group of digits, for up to 19 digits without a
 * character that no number has. A superset of what Numbers joins; positions are the caller's.
 */
import { foldRune } from './fold.ts'
import type { Liveness } from './live.ts'
import { AFTER_LETTERS, DIGITS_MAX, GAP_UNITS_MAX, gapBit } from './numbers.ts'

/** Fewer are nothing that is looked for. */
const DIGITS_MIN = 6
const PLUS = 43
const OPEN = 40

const isDigit = (code: number): boolean => code >= 48 && code <= 57
const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

interface Begun {
  readonly start: number
  /** Digits ahead of it, of the same row of groups. */
  readonly digits: number
}

export class NumberLive implements Liveness {
  /** Groups from which a number may go on, in order. */
  #begun: Begun[] = []
  #digits = 0
  /** Characters since the last digit. */
  #gap = 0
  /** Letters behind the last digit. */
  #letters = 0
  #isInDigits = false
  /** Where a sign that a number begins with stands, with nothing behind it yet; -1: there is none. */
  #lead = -1
  accepted = -1
  #latest = -1

  read(rune: number, position: number): void {
    const code = foldRune(rune)
    if (code === -1) return
    if (isDigit(code)) {
      this.#digit(position)
      return
    }
    this.#isInDigits = false
    if (this.#begun.length > 0) this.#behind(code)
    if (code !== PLUS && code !== OPEN) this.#lead = -1
    else if (this.#lead < 0) this.#lead = position
  }

  #digit(position: number): void {
    if (this.#letters > 0) this.#close()
    this.#gap = 0
    if (!this.#isInDigits) {
      this.#begun.push({ start: this.#lead < 0 ? position : this.#lead, digits: this.#digits })
      this.#isInDigits = true
      this.#lead = -1
    }
    this.#digits++
    while (this.#begun.length > 0 && this.#digits - this.#begun[0]!.digits > DIGITS_MAX) this.#begun.shift()
    for (const { start, digits } of this.#begun) {
      if (this.#digits - digits < DIGITS_MIN) break
      if (this.accepted < 0 || start < this.accepted) this.accepted = start
      if (start > this.#latest) this.#latest = start
    }
  }

  #behind(code: number): void {
    const isAwaited = this.#digits - this.#begun[0]!.digits >= DIGITS_MIN && this.#letters < AFTER_LETTERS
    if (this.#gap === 0 && isAwaited && isLetter(code)) this.#letters++
    else if (this.#letters > 0 || gapBit(code) === 0 || ++this.#gap > GAP_UNITS_MAX) this.#close()
  }

  #close(): void {
    this.#begun.length = 0
    this.#digits = 0
    this.#gap = 0
    this.#letters = 0
  }

  earliest(fed: number): number {
    const lead = this.#lead < 0 ? fed : this.#lead
    return this.#begun.length === 0 ? lead : Math.min(lead, this.#begun[0]!.start)
  }

  take(position: number, next: number): void {
    this.accepted = this.#latest >= position ? position : next
  }

  reset(): void {
    this.#close()
    this.#isInDigits = false
    this.#lead = -1
  }
}
