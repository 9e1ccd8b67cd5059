/**
 * Personal data by its form. What has digits is found group by group (numbers.ts), in all scripts, and judged by the
 * numbering scheme it belongs to; mail addresses are found around the sign that all of them have.
 */
import { CARD_DIGITS_MIN, cardAt } from './cards.ts'
import { EmailLive, findEmail } from './emails.ts'
import { NINE_DIGITS, sinAt, ssnAt } from './identities.ts'
import type { Rule, Search } from './live.ts'
import { NumberLive } from './number-live.ts'
import type { Numbers } from './numbers.ts'
import { leadOf, PHONE_DIGITS_MIN, phoneAt } from './phones.ts'

export const BUILTIN_NAMES = ['Ssn', 'CreditCard', 'PhoneNumber', 'Email', 'CaSin'] as const
export type Builtin = (typeof BUILTIN_NAMES)[number]

/** The group behind the last one of a number that begins with group `i`; 0: none begins there. */
type Judge = (numbers: Numbers, i: number) => number

/** `digitsMin`: of the shortest number. Most groups of digits are in no row of as many: that is seen at once. */
function numberRule(mask: string, digitsMin: number, judge: Judge, lead: Judge = () => 0): Rule {
  const find: Search = ({ numbers }, from) => {
    if (numbers === null) return null
    for (let i = numbers.from(from); i < numbers.count; i++) {
      if (numbers.ahead[i]! < digitsMin) continue
      const end = judge(numbers, i)
      if (end === 0) continue
      const start = numbers.placeOf(numbers.starts[i]! - lead(numbers, i))
      return [Math.max(from, start), numbers.placeBehind(numbers.ends[end - 1]!)]
    }
    return null
  }
  return { find, live: () => new NumberLive(), mask, isInteger: true }
}

export const BUILTINS: { readonly [name in Builtin]: Rule } = {
  Ssn: numberRule('<SSN>', NINE_DIGITS, ssnAt),
  CreditCard: numberRule('<CREDIT_CARD>', CARD_DIGITS_MIN, cardAt),
  PhoneNumber: numberRule('<PHONE_NUMBER>', PHONE_DIGITS_MIN, phoneAt, leadOf),
  Email: { find: findEmail, live: () => new EmailLive(), mask: '<EMAIL_ADDRESS>', isInteger: false },
  CaSin: numberRule('<CA_SIN>', NINE_DIGITS, sinAt)
}
