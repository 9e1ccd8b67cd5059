/** Numbers of persons that have nine digits: of the United States (3-2-4), and of Canada (3-3-3). */
import { mayBegin, mayEnd } from './around.ts'
import { luhn } from './cards.ts'
import { GAP, type Numbers } from './numbers.ts'

export const NINE_DIGITS = 9
/** The first part of an address of four. */
const ADDRESS = /[0-9]\.$/
/** A calling code, or the sign before one; at the beginning of a line the sign may be that of a patch. */
const ABROAD = /[ \t(:]\+(?:[0-9]{1,3}\)?[ .-]?)?$/

/** Social Security Administration, "Social Security number randomization": what is never assigned. */
function isSsn(digits: string): boolean {
  const [area, group, serial] = [digits.slice(0, 3), digits.slice(3, 5), digits.slice(5)]
  return area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000'
}

/** Employment and Social Development Canada: the last digit is a check digit. */
const isSin = (digits: string): boolean => luhn(digits) && digits !== '000000000'

/** Three columns of three digits are most often three numbers, three of 3, 2 and 4 digits that stand alone are not. */
export const ssnAt = (numbers: Numbers, i: number): number => tabbed(numbers, i, nineAt(numbers, i, 3, 5, isSsn), true)
export const sinAt = (numbers: Numbers, i: number): number => tabbed(numbers, i, nineAt(numbers, i, 3, 6, isSin), false)

/** `end`, where no tab is within, or it `may` be. */
function tabbed(numbers: Numbers, i: number, end: number, may: boolean): number {
  for (let j = i + 1; j < end; j++)
    if ((numbers.gaps[j]! & GAP.tab) !== 0) return may && numbers.areCells(i, end) ? end : 0
  return end
}

/** A number of which the first group is `i`: the group behind its last one; 0: there is none. */
function nineAt(numbers: Numbers, i: number, first: number, second: number, is: (digits: string) => boolean): number {
  let count = numbers.size(i)
  if (count > NINE_DIGITS || (count < NINE_DIGITS && numbers.gaps[i + 1] === 0)) return 0
  let end = i + 1
  const marks: Marks = { first: 0, second: 0, isBroken: false }
  for (; end < numbers.count && count < NINE_DIGITS; end++) {
    if (!mark(marks, numbers.gaps[end]!, count, first, second)) return 0
    count += numbers.size(end)
  }
  if (count !== NINE_DIGITS || !isEven(marks) || !is(numbers.row(i, end))) return 0
  const isBare = marks.first === 0
  const before = numbers.before(numbers.starts[i]!)
  if (ABROAD.test(before) || (markOf(marks.first) === GAP.dot && ADDRESS.test(before))) return 0
  const strength = isBare ? 'weak' : 'strong'
  // A fraction, or the next part of an address.
  if (numbers.hasFraction(end - 1) && (isBare || markOf(marks.first) === GAP.dot)) return 0
  return mayBegin(before, strength) && mayEnd(numbers.after(end - 1), strength) ? end : 0
}

interface Marks {
  /** Bits of the gaps between the three parts. */
  first: number
  second: number
  /** A line has ended in it. */
  isBroken: boolean
}

/** Takes a gap behind `at` digits. False: no such number has one there. */
function mark(marks: Marks, gap: number, at: number, first: number, second: number): boolean {
  if (gap === 0 || (gap & (GAP.open | GAP.close)) !== 0) return false
  if ((gap & GAP.line) !== 0) {
    if (marks.isBroken) return false
    marks.isBroken = true
  }
  if (at === first) marks.first = gap
  else if (at === second) marks.second = gap
  // Anywhere else only a line may end.
  else return gap === GAP.line
  return true
}

/** Both gaps have the same mark, or none; the end of a line may stand for one of them. */
function isEven({ first, second, isBroken }: Marks): boolean {
  if (first === 0 && second === 0) return !isBroken
  const [a, b] = [markOf(first), markOf(second)]
  return a === b || (a === GAP.line && second !== 0) || (b === GAP.line && first !== 0)
}

/** Of "- ": the hyphen; of a line's end with a hyphen before it, too. */
function markOf(gap: number): number {
  const mark = gap & ~(GAP.space | GAP.line)
  return mark === 0 ? gap & GAP.line || gap : mark
}
