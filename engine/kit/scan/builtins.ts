/**
 * Personal data by its form. Each is found by an expression that is linear (repetitions are bounded, nothing is tried
 * twice for long), and then has to pass what its numbering scheme says. The expressions are valid both for RE2, whose
 * machine tells where one may have begun in a stream, and for JavaScript, which searches.
 */
import { type Find, searchOf } from '#engine/kit/pattern.ts'
import { Shape } from './live.ts'
import type { Rule } from './rules.ts'

export const BUILTIN_NAMES = ['Ssn', 'CreditCard', 'PhoneNumber', 'Email', 'CaSin'] as const
export type Builtin = (typeof BUILTIN_NAMES)[number]

/** Between digits: models like to write narrow spaces and hyphens that do not break. */
const SEPARATOR = '[ .\u00a0\u2007\u2009\u202f\u2010-\u2015-]'
const NO_DIGIT = /\D/g

/** Says how much of what the expression found is one; 0: nothing. */
type Check = (found: string, text: string, start: number) => number

function builtin(source: string, mask: string, check: Check): Rule {
  const expression = new RegExp(source, 'gu')
  const find: Find = (text, from) => {
    expression.lastIndex = from
    for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
      const length = check(match[0], text, match.index)
      if (length > 0) return [match.index, match.index + length]
      expression.lastIndex = match.index + 1
    }
    return null
  }
  return { find, shape: shapeOf(source), mask }
}

function shapeOf(source: string): () => Shape {
  let shape: Shape | null = null
  return () => (shape ??= new Shape(searchOf(source).machine))
}

// --- numbers ---

/** ISO/IEC 7812-1 annex B, of a text of digits. */
export function luhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48
    sum += i % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9
  }
  return sum % 10 === 0
}

/** The fraction of a number is no number of its own. */
function isFraction(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 1)
  const digit = text.charCodeAt(start - 2)
  return (before === 46 || before === 44) && digit >= 48 && digit <= 57
}

/** Three groups of digits with the same separator, or none, between them. */
function isEven(found: string, first: number, second: number): boolean {
  const a = found.length === 9 ? '' : found[first]
  return found.length === 9 || (found.length === 11 && a === found[first + second + 1])
}

/** Social Security Administration, "Social Security number randomization": what is never assigned. */
const ssn: Check = (found, text, start) => {
  const digits = found.replace(NO_DIGIT, '')
  const [area, group, serial] = [digits.slice(0, 3), digits.slice(3, 5), digits.slice(5)]
  const isAssigned = area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000'
  return isAssigned && isEven(found, 3, 2) && !isFraction(text, start) ? found.length : 0
}

/** Employment and Social Development Canada: nine digits, the last of them a check digit (Luhn). */
const sin: Check = (found, text, start) => {
  const digits = found.replace(NO_DIGIT, '')
  return luhn(digits) && digits !== '000000000' && isEven(found, 3, 3) && !isFraction(text, start) ? found.length : 0
}

/**
 * ISO/IEC 7812-1: 13 to 19 digits with a check digit; those of payment cards begin with 2 to 6. What is longer than one
 * may have begun as one: a card and its code.
 */
const card: Check = (found, text, start) => {
  if (isFraction(text, start)) return 0
  let digits = found.replace(NO_DIGIT, '')
  for (let end = found.length; digits.length >= 13; end--) {
    const code = found.charCodeAt(end - 1)
    if (code < 48 || code > 57) continue
    const after = end === found.length ? Number.NaN : found.charCodeAt(end)
    if (!(after >= 48 && after <= 57) && luhn(digits)) return end
    digits = digits.slice(0, -1)
  }
  return 0
}

/** ITU-T E.164: at most 15 digits; nobody has fewer than 8 with the code of the country, or 9 with the trunk's 0. */
const phone: Check = (found, text, start) => {
  const digits = found.replace(NO_DIGIT, '').length
  const isLong = found.startsWith('0') ? digits >= 9 : digits >= 8
  return isLong && digits <= 15 && !isFraction(text, start) ? found.length : 0
}

const INTERNATIONAL = `\\+[1-9](?:[ .()/\u00a0\u2007\u2009\u202f\u2010-\u2015-]{0,2}[0-9]){7,14}\\b`
/** North American Numbering Plan: area code and exchange begin with 2 to 9. */
const NORTH_AMERICAN = `(?:\\b1${SEPARATOR}?)?(?:\\([2-9][0-9]{2}\\) ?|\\b[2-9][0-9]{2}${SEPARATOR}?)[2-9][0-9]{2}${SEPARATOR}?[0-9]{4}\\b`
/** With the 0 that many countries dial within: 020 7946 0958, (030) 123456, 01 23 45 67 89. */
const TRUNK = `\\b0[0-9]{2,4}\\)?[ /\u00a0\u202f\u2010-\u2015-]{1,2}[0-9]{3,8}(?:${SEPARATOR}[0-9]{2,5}){0,2}\\b|\\b0[1-9](?:${SEPARATOR}[0-9]{2}){4}\\b`

// --- mail addresses ---

/** RFC 5321 section 4.5.3.1: 64 and 255 octets; unquoted, and with letters of all scripts (RFC 6531). */
const LOCAL = "[\\p{L}\\p{N}._%+'-]"
const DOMAIN = '(?:[\\p{L}\\p{N}-]{1,63}\\.){1,8}\\p{L}{2,24}'
const LOCAL_MAX = 64
const LOCAL_END = new RegExp(`${LOCAL}{1,${LOCAL_MAX}}$`, 'u')
const DOMAIN_HERE = new RegExp(DOMAIN, 'uy')

/** From one @ to the next: a search that begins at letters would try most of a text. */
const findEmail: Find = (text, from) => {
  for (let at = text.indexOf('@', from); at >= 0; at = text.indexOf('@', at + 1)) {
    DOMAIN_HERE.lastIndex = at + 1
    if (!DOMAIN_HERE.test(text)) continue
    const end = DOMAIN_HERE.lastIndex
    // A character may be two units.
    const local = LOCAL_END.exec(text.slice(Math.max(from, at - 2 * LOCAL_MAX), at))
    if (local !== null) return [at - local[0].length, end]
  }
  return null
}

export const BUILTINS: { readonly [name in Builtin]: Rule } = {
  Ssn: builtin(`\\b[0-9]{3}${SEPARATOR}?[0-9]{2}${SEPARATOR}?[0-9]{4}\\b`, '<SSN>', ssn),
  CreditCard: builtin(`\\b[2-6](?:${SEPARATOR}?[0-9]){12,18}\\b`, '<CREDIT_CARD>', card),
  PhoneNumber: builtin(`${INTERNATIONAL}|${NORTH_AMERICAN}|${TRUNK}`, '<PHONE_NUMBER>', phone),
  Email: { find: findEmail, shape: shapeOf(`${LOCAL}{1,${LOCAL_MAX}}@${DOMAIN}`), mask: '<EMAIL_ADDRESS>' },
  CaSin: builtin(`\\b[0-9]{3}${SEPARATOR}?[0-9]{3}${SEPARATOR}?[0-9]{3}\\b`, '<CA_SIN>', sin)
}
