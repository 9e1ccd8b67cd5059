/**
 * The numbers in a text: groups of digits and their separators. One pass finds them all; cards.ts, identities.ts and
 * phones.ts judge them group by group, over at most 19 digits, so that the whole is linear.
 */
import { type Folded, fold, hasDigit } from './fold.ts'

/** What may stand between two groups of one number, as bits; 0: they are two numbers. */
export const GAP = { space: 1, dot: 2, dash: 4, slash: 8, low: 16, open: 32, close: 64, line: 128, tab: 256 } as const
/** Characters between two groups at most: ") - ", or a line end with an indent. */
export const GAP_UNITS_MAX = 4
/** ISO/IEC 7812-1: no number looked for here has more. */
export const DIGITS_MAX = 19
/** UTF-16 units ahead of a number that are looked at: a label. */
export const BEFORE_UNITS = 48
/** Letters behind a number that are looked at. */
export const AFTER_LETTERS = 6

const BITS = new Uint16Array(128)
for (const [mark, bit] of Object.entries({
  ' ': 1,
  '.': 2,
  '-': 4,
  '/': 8,
  _: 16,
  '(': 32,
  ')': 64,
  '\n': 128,
  '\r': 128,
  '\t': 256
})) {
  BITS[mark.charCodeAt(0)] = bit
}

/** 0: it stands in no number. */
export function gapBit(code: number): number {
  return code < 128 ? BITS[code]! : 0
}

/** Behind a dot: a sentence has ended. */
const BLANKS = GAP.space | GAP.tab

const ZERO = 48
const NINE = 57
const DIGIT = /[0-9]/g
/** Numbers further apart are found by an expression, which passes over prose in half the time. */
const NEAR_UNITS = 16

/** Of ASCII. Of NaN, behind the end of a text: none. */
const isDigit = (code: number): boolean => code >= ZERO && code <= NINE

/** Null: there is no digit in it. */
export const numbersIn = (text: string): Numbers | null => (hasDigit(text) ? new Numbers(text) : null)

export class Numbers {
  readonly #source: string
  readonly #folded: Folded
  /** As it reads (fold.ts). */
  readonly text: string
  /** In `text`, of each group. */
  readonly starts: number[] = []
  readonly ends: number[] = []
  /** GAP bits of what is between a group and the one before it. */
  readonly gaps: number[] = []
  /** How many digits stand in a row from a group on, without anything between them that is in no number. */
  readonly ahead: number[] = []

  constructor(source: string) {
    this.#source = source
    this.#folded = fold(source)
    this.text = this.#folded.text
    this.#group()
    for (let i = this.starts.length - 1; i >= 0; i--) {
      const isJoined = i + 1 < this.starts.length && this.gaps[i + 1] !== 0
      this.ahead[i] = this.size(i) + (isJoined ? this.ahead[i + 1]! : 0)
    }
  }

  /** Near a number unit by unit: in text of many numbers that takes half the time of an expression. */
  #group(): void {
    const { text } = this
    let end = -1
    for (let at = this.#nextDigit(0); at < text.length; at = this.#nextDigit(at)) {
      this.gaps.push(end < 0 ? 0 : this.#gap(end, at))
      this.starts.push(at)
      while (isDigit(text.charCodeAt(at))) at++
      this.ends.push(at)
      this.ahead.push(0)
      end = at
    }
  }

  #nextDigit(from: number): number {
    const near = Math.min(this.text.length, from + NEAR_UNITS)
    for (let at = from; at < near; at++) if (isDigit(this.text.charCodeAt(at))) return at
    DIGIT.lastIndex = near
    return DIGIT.test(this.text) ? DIGIT.lastIndex - 1 : this.text.length
  }

  get count(): number {
    return this.starts.length
  }

  /** Digits of group `i`. */
  size(i: number): number {
    return this.ends[i]! - this.starts[i]!
  }

  digits(i: number): string {
    return this.text.slice(this.starts[i]!, this.ends[i]!)
  }

  /** Digits of groups `i` to `end`. */
  row(i: number, end: number): string {
    let digits = ''
    for (let j = i; j < end; j++) digits += this.digits(j)
    return digits
  }

  /** The first group that begins at `position` of the source, or later. */
  from(position: number): number {
    let low = 0
    let high = this.starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.placeOf(this.starts[middle]!) < position) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Where the unit of `text` is in the source. */
  placeOf(unit: number): number {
    return this.#folded.at === null ? unit : this.#folded.at[unit]!
  }

  /** Behind the unit before `end` of `text`, in the source: what is not seen behind it is left out. */
  placeBehind(end: number): number {
    const last = this.placeOf(end - 1)
    return last + (this.#source.codePointAt(last)! > 0xffff ? 2 : 1)
  }

  /** What stands ahead of the unit of `text`, as it reads. The same, however much of the source is there (streams). */
  before(unit: number): string {
    const place = this.placeOf(unit)
    return fold(this.#source.slice(Math.max(0, place - BEFORE_UNITS), place)).text
  }

  /** Each group is in a cell of a table, and the cell on neither side is a number too: that were a row of them. */
  areCells(i: number, end: number): boolean {
    for (let j = i + 1; j < end; j++) if ((this.gaps[j]! & ~GAP.space) !== GAP.tab) return false
    const isTabbed = (j: number): boolean => ((this.gaps[j] ?? 0) & GAP.tab) !== 0
    return !isTabbed(i) && !isTabbed(end)
  }

  /** The letters behind group `i`, without a gap; or that it is a low line. */
  after(i: number): string {
    const end = this.ends[i]!
    return AFTER.exec(this.text.slice(end, end + AFTER_LETTERS))![0]
  }

  /** A digit follows group `i` behind a dot: it was a number with a fraction. */
  hasFraction(i: number): boolean {
    const end = this.ends[i]!
    return this.text[end] === '.' && this.starts[i + 1] === end + 1
  }

  #gap(from: number, to: number): number {
    if (to - from > GAP_UNITS_MAX) return 0
    let gap = 0
    let last = 0
    for (let at = from; at < to; at++) {
      const bit = gapBit(this.text.charCodeAt(at))
      // Twice the same is a range or a rule; the end of a sentence, of "1." in a list.
      if (bit === 0 || (bit & ~(GAP.space | GAP.line) & gap) !== 0 || (last === GAP.dot && (bit & BLANKS) !== 0))
        return 0
      gap |= bit
      last = bit
    }
    return gap
  }
}

const AFTER = /^(?:_|[A-Za-z]*)/
