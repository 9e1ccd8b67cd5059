/**
 * Numbers of payment cards: the ranges of the networks with their lengths (ISO/IEC 7812-1 issuer identification
 * numbers, as the networks publish them), a check digit, and the ways in which people write groups.
 */
import { isOfThings, mayBegin, mayEnd } from './around.ts'
import { DIGITS_MAX, GAP, type Numbers } from './numbers.ts'

/** First digits from, to (of as many digits), lengths. In no order: ranges of local networks lie within others. */
type Range = readonly [from: number, to: number, ...lengths: number[]]

const NETWORKS: Readonly<Record<string, readonly Range[]>> = {
  visa: [[4, 4, 13, 16, 18, 19]],
  mastercard: [
    [51, 55, 16],
    [2221, 2720, 16]
  ],
  'american express': [
    [34, 34, 15],
    [37, 37, 15]
  ],
  'diners club': [
    [300, 305, 14, 16, 19],
    [3095, 3095, 14, 16, 19],
    [36, 36, 14, 15, 16, 17, 18, 19],
    [38, 39, 14, 16, 17, 18, 19]
  ],
  discover: [
    [6011, 6011, 16, 17, 18, 19],
    [644, 649, 16, 17, 18, 19],
    [65, 65, 16, 17, 18, 19]
  ],
  jcb: [
    [3528, 3589, 16, 17, 18, 19],
    [1800, 1800, 15],
    [2131, 2131, 15]
  ],
  unionpay: [
    [62, 62, 14, 15, 16, 17, 18, 19],
    [810, 817, 16, 17, 18, 19]
  ],
  maestro: [
    [50, 50, 12, 13, 14, 15, 16, 17, 18, 19],
    [56, 58, 12, 13, 14, 15, 16, 17, 18, 19],
    [6304, 6304, 12, 13, 14, 15, 16, 17, 18, 19],
    [639, 639, 12, 13, 14, 15, 16, 17, 18, 19],
    [67, 67, 12, 13, 14, 15, 16, 17, 18, 19]
  ],
  mir: [[2200, 2205, 16, 17, 18, 19]],
  // RuPay, Hipercard, InterPayment, InstaPayment, Elo, Ukrcard, Switch, Solo: what is not in a range above.
  rupay: [
    [60, 60, 16, 19],
    [82, 82, 16]
  ],
  '63': [[63, 63, 16, 17, 18, 19]],
  hipercard: [[3841, 3841, 16, 19]],
  troy: [[9792, 9792, 16]],
  humo: [[9860, 9860, 16]],
  uzcard: [[8600, 8600, 16]],
  napas: [[9704, 9704, 16, 19]],
  gpn: [[1946, 1946, 16]],
  uatp: [[1, 1, 15]]
}

/** Lengths as bits, by the first four digits. */
const LENGTHS = new Int32Array(10_000)
for (const [from, to, ...lengths] of Object.values(NETWORKS).flat()) {
  const width = 10 ** (4 - String(from).length)
  const bits = lengths.reduce((all, length) => all | (1 << length), 0)
  for (let head = from * width; head < (to + 1) * width; head++) LENGTHS[head]! |= bits
}

export const CARD_DIGITS_MIN = 12
/** 4-4-4-4, 4-6-5, 4-6-4, 4-4-4-4-3, 4-4-5, 6-13; and groups of one size. */
const FIRST_GROUP = 4
const FIRST_GROUP_BIN = 6

/** How cards are embossed. */
const PRINTED: ReadonlySet<string> = new Set(['4-4-4-4', '4-6-5', '4-6-4', '4-4-4-4-3'])

/** ISO/IEC 7812-1 annex B, of a text of digits. */
export function luhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48
    sum += i % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9
  }
  return sum % 10 === 0
}

/** The first four digits from group `i` on; there are as many. */
function headOf({ text, starts, ends }: Numbers, i: number): number {
  let head = 0
  let at = starts[i]!
  for (let j = i, taken = 0; taken < 4; taken++) {
    if (at === ends[j]) at = starts[++j]!
    head = head * 10 + text.charCodeAt(at++) - 48
  }
  return head
}

/** A number of which the first group is `i`: the group behind its last one; 0: there is none. */
export function cardAt(numbers: Numbers, i: number): number {
  if (numbers.ahead[i]! < CARD_DIGITS_MIN) return 0
  const lengths = LENGTHS[headOf(numbers, i)]!
  if (lengths === 0) return 0
  let end = i
  let count = 0
  let isBroken = false
  for (; end < numbers.count; end++) {
    const gap = end === i ? 0 : numbers.gaps[end]!
    if (end > i && (gap === 0 || (gap & (GAP.open | GAP.close)) !== 0)) break
    if ((gap & GAP.line) !== 0) {
      if (isBroken) break
      isBroken = true
    }
    if (count + numbers.size(end) > DIGITS_MAX) break
    count += numbers.size(end)
  }
  if (count < CARD_DIGITS_MIN) return 0
  let digits = numbers.row(i, end)
  // The longest first: the code of the card, or its date, may follow.
  for (; end > i && digits.length >= CARD_DIGITS_MIN; end--) {
    const isOne = (lengths & (1 << digits.length)) !== 0 && luhn(digits) && isGrouped(numbers, i, end)
    if (isOne && isBounded(numbers, i, end)) return end
    digits = digits.slice(0, -numbers.size(end - 1))
  }
  return 0
}

/** A line may end anywhere in it, so that what is on both sides of its end is one group, or two. */
function isGrouped(numbers: Numbers, i: number, end: number): boolean {
  // 5.827068330288884
  if (end === i + 2 && (numbers.gaps[i + 1]! & GAP.dot) !== 0) return false
  const sizes: number[] = []
  const joined: number[] = []
  let hasTab = false
  for (let j = i; j < end; j++) {
    const size = numbers.size(j)
    hasTab ||= j > i && (numbers.gaps[j]! & GAP.tab) !== 0
    sizes.push(size)
    if (j > i && numbers.gaps[j]! === GAP.line) joined.push(joined.pop()! + size)
    else joined.push(size)
  }
  // Numbers stand in the cells of most tables: only a card as it is printed is one over some of them.
  if (hasTab) return PRINTED.has(sizes.join('-')) && numbers.areCells(i, end)
  return areGroups(sizes) || (joined.length < sizes.length && areGroups(joined))
}

function areGroups(sizes: readonly number[]): boolean {
  if (sizes.length <= 2) return true
  const [first, ...rest] = sizes as [number, ...number[]]
  if (first === FIRST_GROUP && rest.every((size) => size >= 3 && size <= 6)) return true
  if (first === FIRST_GROUP_BIN && rest.every((size) => size >= 3)) return true
  const last = rest.pop()!
  return last <= first && rest.every((size) => size === first)
}

/** A number with a fraction; but at the beginning of a line it is the item of a list ("1.4111..."). */
const FRACTION = /[0-9]\.$/
const ITEM = /(?:^|\n)[ \t]*[1-9][0-9]{0,2}\.$/
/** EAN-13 passes for a card of 13 digits: only what is written before it tells. */
const ARTICLE_DIGITS_MAX = 13

function isBounded(numbers: Numbers, i: number, end: number): boolean {
  const before = numbers.before(numbers.starts[i]!)
  const isBare = end === i + 1
  if (isBare && FRACTION.test(before) && !ITEM.test(before)) return false
  if (isBare && numbers.size(i) <= ARTICLE_DIGITS_MAX && isOfThings(before)) return false
  return mayBegin(before, 'strong') && mayEnd(numbers.after(end - 1), 'strong')
}
