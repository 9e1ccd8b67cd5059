/**
 * Telephone numbers, recognised by a calling code; in national form, by first digits and sizes of groups; otherwise by
 * a word before the number.
 */
import { mayBegin, mayEnd, type Strength } from './around.ts'
import { isInternational } from './calling-codes.ts'
import { BEFORE_UNITS, GAP, type Numbers } from './numbers.ts'

/** E.164, and the 00 or 011 before it. */
const DIGITS_MAX = 18
export const PHONE_DIGITS_MIN = 6
const ZERO = 48
const NINE = 57
const LINE_END = 10

interface Plan {
  /** Sizes of groups. */
  readonly sizes: string
  readonly digits: RegExp
  /** Before its last group. */
  readonly needsHyphen?: boolean
  /** In other plans that is an address (43.169.69.90). */
  readonly mayBeDotted?: boolean
}

const NANP = /^[2-9][0-9]{2}[2-9]/
const NANP_1 = /^1[2-9][0-9]{2}[2-9]/
const OFFICE = /^[2-9]/

/**
 * Without the trunk prefix 0 (TRUNK below). Source: the numbering plan published by the country's regulator; sizes of
 * groups as they are usually written.
 */
const PLANS: readonly Plan[] = [
  // North American Numbering Plan: area code and exchange begin with 2 to 9.
  { sizes: '3-3-4 3-7 10', digits: NANP, mayBeDotted: true },
  { sizes: '1-3-3-4 1-3-7 1-10 4-3-4 4-7 11', digits: NANP_1, mayBeDotted: true },
  // China: mobile.
  { sizes: '11 3-4-4 3-8', digits: /^1[3-9]/ },
  // Russia, Kazakhstan: 8 for long distance; and with an area code, as in Turkey and Ukraine.
  { sizes: '1-3-3-2-2 1-3-3-4 1-3-7 1-10', digits: /^8[3-9]/ },
  { sizes: '11', digits: /^8[3-9]/ },
  { sizes: '3-3-2-2', digits: /^[2-9]/ },
  // Spain, Portugal, Poland, Czechia: nine digits.
  { sizes: '3-2-2-2', digits: /^[6-9]/ },
  { sizes: '2-3-2-2 2-3-3-2', digits: OFFICE },
  { sizes: '3-3-3', digits: /^[5-9]/, needsHyphen: true },
  // Norway: mobile.
  { sizes: '3-2-3', digits: /^[49]/ },
  // India: mobile.
  { sizes: '5-5', digits: /^[6-9]/ },
  // Brazil: mobile, and fixed.
  { sizes: '2-5-4', digits: /^[1-9][1-9]9/ },
  { sizes: '2-4-4', digits: /^[1-9][0-9][2-9]/, needsHyphen: true },
  // Italy: mobile.
  { sizes: '3-7 3-3-4 3-6 10', digits: /^3[2-9]/ },
  // Australia: free of charge, and local rate.
  { sizes: '4-3-3', digits: /^1[38]00/ }
]

/** By sizes, four bits for each: what is in no plan has to be seen at once. */
const BY_SIZES = new Map<number, Plan[]>()
for (const plan of PLANS) {
  for (const sizes of plan.sizes.split(' ')) BY_SIZES.set(keyOf(sizes), [...(BY_SIZES.get(keyOf(sizes)) ?? []), plan])
}

function keyOf(sizes: string): number {
  return sizes.split('-').reduce((key, size) => key * 16 + Number(size), 0)
}

/** Groups of a plan, and their digits, at most. */
const PLAN_GROUPS_MAX = 5
const PLAN_DIGITS_MAX = 11

/** A word before it, in the same line. */
const LABEL =
  /(?<![\p{L}])(?:tel|telephone|tele?fono?|t[eé]l[eé]phone|t[eé]l|telefone|telem[oó]vel|telefoon|telefonnummer|rufnummer|handy|phone|phones|phonenumber|ph|mobile?s?|mob|m[oó]vil|celular|portable|cell|cellphone|landline|hotline|fax|call|calls|called|dial|ring|text|whatsapp|sms|viber|signal|тел|телефон|моб|τηλ|τηλέφωνο)(?![\p{L}])[^0-9\n]{0,16}$/iu
/** In scripts without spaces between words. */
const LABEL_HAN = /(?:电话|電話|手机|手機|携帯|携带|传真|傳真|전화|휴대폰|핸드폰|โทร)[^0-9\n]{0,8}$/u
/** A date, not an unknown number. */
const DATES = /^(?:4-2-2|2-2-4)(?:-|$)/
/** E.164. */
const LABELLED_MAX = 15

/** A number of which the first group is `i`: the group behind its last one; 0: there is none. */
export function phoneAt(numbers: Numbers, i: number): number {
  if (!mayBeAt(numbers, i)) return 0
  const row = rowFrom(numbers, i)
  let { digits } = row
  const before = numbers.before(numbers.starts[i]!)
  const lead = leadOf(numbers, i)
  const ahead = before.slice(0, before.length - lead)
  const isLabelled = hasLabel(ahead)
  // The longest first.
  for (let count = row.sizes.length; count > 0 && digits.length >= PHONE_DIGITS_MIN; count--) {
    const end = i + count
    const [apart, joined] = [row.sizes[count - 1]!, row.joined[count - 1]!]
    for (const sizes of apart === joined ? [apart] : [apart, joined]) {
      const form = { numbers, i, end, digits, sizes, ahead, isLabelled }
      const strength = before.slice(ahead.length).includes('+') ? abroad(form, 0) : strengthOf(form)
      if (strength !== null && mayBegin(ahead, strength) && mayFollow(numbers, end - 1, strength)) return end
    }
    digits = digits.slice(0, -numbers.size(end - 1))
  }
  return 0
}

/** Most runs of digits are no phone numbers: refusing them has to be cheap. */
function mayBeAt(numbers: Numbers, i: number): boolean {
  if (numbers.ahead[i]! < PHONE_DIGITS_MIN || numbers.size(i) > DIGITS_MAX) return false
  return isMarked(numbers, i) || mayBePlanned(numbers, i) || hasLetterAhead(numbers.text, numbers.starts[i]!)
}

/** "+", "00", "(030)", "030": a lone 0 begins none, and brackets are an area's where more than a digit follows. */
function isMarked(numbers: Numbers, i: number): boolean {
  const start = numbers.starts[i]!
  const isZero = numbers.size(i) > 1 && isPrefix(numbers, i)
  const lead = leadOf(numbers, i)
  if (lead === 0) return isZero
  if (numbers.text[start - 1] === '+' || numbers.text[start - 2] === '+') return true
  return isZero || (i + 1 < numbers.count && numbers.size(i + 1) > 1)
}

function mayBePlanned({ starts, ends, gaps, count }: Numbers, i: number): boolean {
  let key = 0
  let joined = 0
  let digits = 0
  for (let j = i; j < count && j < i + PLAN_GROUPS_MAX + 1 && digits <= PLAN_DIGITS_MAX; j++) {
    if (j > i && (gaps[j] === 0 || (gaps[j]! & GAP.tab) !== 0)) return false
    const size = ends[j]! - starts[j]!
    digits += size
    key = key * 16 + size
    // A number greater than 15 in four bits is a plan that is none: `digits` says so.
    joined = j > i && gaps[j] === GAP.line ? joined + size : joined * 16 + size
    if (digits <= PLAN_DIGITS_MAX && (BY_SIZES.has(key) || BY_SIZES.has(joined))) return true
  }
  return false
}

/** A 0 and more than zeros behind it: no calling code begins with one. */
function isPrefix({ text, starts, count }: Numbers, i: number): boolean {
  const start = starts[i]!
  if (text.charCodeAt(start) !== ZERO) return false
  if (text.charCodeAt(start + 1) !== ZERO) return true
  const third = text.charCodeAt(start + 2)
  if (third >= ZERO && third <= NINE) return third !== ZERO
  return i + 1 < count && text.charCodeAt(starts[i + 1]!) !== ZERO
}

/** In the same line, and behind every other number: a label needs one. */
function hasLetterAhead(text: string, start: number): boolean {
  for (let at = start - 1; at >= 0 && at >= start - BEFORE_UNITS; at--) {
    const code = text.charCodeAt(at)
    if (code === LINE_END || (code >= ZERO && code <= NINE)) return false
    if (code > 64) return true
  }
  return false
}

interface Row {
  digits: string
  /** Of as many groups as the index says, and one: "3-3-4". */
  readonly sizes: string[]
  /** The same, where the end of a line is read as nothing. */
  readonly joined: string[]
}

/** The groups that may be one number, from `i` on. */
function rowFrom(numbers: Numbers, i: number): Row {
  const row: Row = { digits: '', sizes: [], joined: [] }
  const joined: number[] = []
  let isBroken = false
  for (let end = i; end < numbers.count; end++) {
    const gap = end === i ? 0 : numbers.gaps[end]!
    const size = numbers.size(end)
    const isBreak = (gap & GAP.line) !== 0
    const isOther = end > i && (gap === 0 || (gap & (GAP.low | GAP.tab)) !== 0)
    if (isOther || (isBreak && isBroken) || row.digits.length + size > DIGITS_MAX) break
    isBroken ||= isBreak
    row.digits += numbers.digits(end)
    row.sizes.push(end === i ? String(size) : `${row.sizes.at(-1)!}-${size}`)
    joined.push(gap === GAP.line ? joined.pop()! + size : size)
    // Without any other gap it would be the end of a row of numbers.
    row.joined.push(isBroken && joined.length > 1 ? joined.join('-') : row.sizes.at(-1)!)
  }
  return row
}

function hasLabel(ahead: string): boolean {
  let from = ahead.length
  while (from > 0 && !IS_BREAK.test(ahead[from - 1]!)) from--
  const words = ahead.slice(from)
  return LETTER.test(words) && (LABEL.test(words) || LABEL_HAN.test(words))
}

const IS_BREAK = /[0-9\n]/
const LETTER = /\p{L}/u

/** How many characters ahead of group `i` belong to it: "+", "(030)", "(+44)", "+(44)". */
export function leadOf({ text, starts, ends }: Numbers, i: number): number {
  const start = starts[i]!
  const isClosed = text[ends[i]!] === ')'
  const [first, second] = [text[start - 1], text[start - 2]]
  if (first === '+') return isClosed && second === '(' ? 2 : 1
  return first === '(' && isClosed ? (second === '+' ? 2 : 1) : 0
}

/** An extension: "x12". */
const EXTENSION = /^(?:x|ext)$/i

function mayFollow(numbers: Numbers, last: number, strength: Strength): boolean {
  const after = numbers.after(last)
  if (strength === 'weak' && numbers.hasFraction(last)) return false
  return EXTENSION.test(after) || mayEnd(after, strength)
}

/** Three digits ahead, in the same row: it is a part of what is grouped otherwise (IBAN). */
const CONTINUED = /[0-9]{3}[ -]$/

/** Groups `i` to `end`, as a number. */
interface Form {
  readonly numbers: Numbers
  readonly i: number
  readonly end: number
  readonly digits: string
  readonly sizes: string
  readonly ahead: string
  readonly isLabelled: boolean
}

/** Null: it is no number. */
function strengthOf(form: Form): Strength | null {
  const { digits, sizes, ahead, isLabelled } = form
  const first = digits.slice(0, Number(sizes.split('-', 1)[0]))
  const own = isLabelled || sizes.includes('-') ? 'strong' : 'weak'
  const isContinued = CONTINUED.test(ahead)
  if (first.startsWith('00') && !isContinued) return abroad(form, 2) === null ? null : own
  if (first === '011' && sizes !== '3' && !isContinued && abroad(form, 3) !== null) return own
  const isDomestic = first.startsWith('0') ? !isContinued && isTrunk(form, first) : isPlanned(form)
  if (isDomestic) return own
  return isLabelled && digits.length <= LABELLED_MAX && !DATES.test(sizes) ? 'weak' : null
}

/** `prefix`: digits ahead of the calling code. "(0)", which is dialled within, does not count. */
function abroad({ numbers, i, end }: Form, prefix: number): Strength | null {
  let digits = ''
  for (let j = i; j < end; j++) {
    const isTrunk = j > i && isBracketed(numbers, j) && numbers.digits(j) === '0'
    if (!isTrunk) digits += numbers.digits(j)
  }
  return isInternational(digits.slice(prefix)) ? 'strong' : null
}

function isBracketed({ text, starts, ends }: Numbers, j: number): boolean {
  return text[starts[j]! - 1] === '(' && text[ends[j]!] === ')'
}

/** 0 within the country: 020 7946 0958, (030) 123456, 01 23 45 67 89, 0171 1234567, 07700900123. */
function isTrunk({ numbers, i, end, digits, sizes }: Form, first: string): boolean {
  const { length } = digits
  if (length < 9 || length > 12 || !/^0[1-9]/.test(digits)) return false
  if (first.length === length) return length === 10 || length === 11
  const gaps = new Set(numbers.gaps.slice(i + 1, end))
  // Pairs with other marks between them are a date and a time.
  if (sizes.startsWith('2-2-')) return sizes === '2-2-2-2-2' && gaps.size === 1
  const isDotted = [...gaps].some((gap) => (gap & GAP.dot) !== 0)
  if (isDotted && (gaps.size > 1 || sizes.startsWith('3-3-3'))) return false
  // As Social Security numbers are written, and in no country telephone numbers.
  if (sizes === '3-2-4' && gaps.size === 1 && gaps.has(GAP.dash)) return false
  const rest = sizes.split('-').slice(1).map(Number)
  return first.length >= 2 && first.length <= 5 && rest.length <= 5 && rest.every((size) => size >= 2 && size <= 8)
}

function isPlanned({ numbers, i, end, digits, sizes }: Form): boolean {
  const hasHyphen = (numbers.gaps[end - 1]! & GAP.dash) !== 0
  const isDotted = numbers.gaps.slice(i + 1, end).some((gap) => (gap & GAP.dot) !== 0)
  const mayBe = (plan: Plan): boolean =>
    (hasHyphen || plan.needsHyphen !== true) && (!isDotted || plan.mayBeDotted === true)
  const plans = BY_SIZES.get(keyOf(sizes)) ?? []
  if (plans.some((plan) => mayBe(plan) && plan.digits.test(digits))) return true
  return isBracketed(numbers, i) && isBehindArea(digits, sizes)
}

/** An area code in brackets, which is no year. */
function isBehindArea(digits: string, sizes: string): boolean {
  const [area, next] = sizes.split('-').map(Number) as [number, number | undefined]
  const isYear = area === 4 && /^(?:19|20)/.test(digits)
  return digits.length >= 8 && digits.length <= 12 && area <= 5 && next !== undefined && next >= 2 && !isYear
}
