/**
 * Money without floats. One call's cost is a whole number of picos (1e-12 of the currency's unit) in a JS number: up to
 * PICOS_MAX, about 9,007 units. Sums over calls are whole numbers of nanos (1e-9) in a bigint.
 *
 * Why picos: the cheapest tokens cost 0.0001 of a dollar per million, which is 100 picodollars for each.
 */

/** A whole number of 1e-12 of the currency's unit, 0 to PICOS_MAX. */
export type Picos = number

/** Digits behind the point that picos have. */
export const PICO_PLACES = 12
/** Digits behind the point that nanos have. */
export const NANO_PLACES = 9
export const PICOS_PER_NANO = 1000
/** What a larger amount is taken for: nothing that a provider says makes a cost wrap around or lose digits. */
export const PICOS_MAX = Number.MAX_SAFE_INTEGER

/** Digits ahead of the point. */
const INTEGER_DIGITS_MAX = 12
const DECIMAL = /^(\d{1,40})(?:\.(\d{1,40}))?(?:e([+-]?\d{1,2}))?$/i

/**
 * A decimal text ('12.50'; 2.5e-7, as numbers are printed) as a whole number of 10 ** -places, of which there are 1 or
 * more. Null: it is no such text, is negative, has more digits behind the point than `places`, or more than 12 ahead.
 */
export function parseMoney(text: string, places: number): bigint | null {
  const match = DECIMAL.exec(text)
  if (match === null) return null
  const [, integer = '', fraction = '', exponent = '0'] = match
  const digits = BigInt(integer + fraction)
  const shift = places - fraction.length + Number(exponent)
  const amount = shift < 0 ? exactQuotient(digits, 10n ** BigInt(-shift)) : digits * 10n ** BigInt(shift)
  return amount === null || amount >= 10n ** BigInt(INTEGER_DIGITS_MAX + places) ? null : amount
}

/** Null: something would be left over. */
function exactQuotient(amount: bigint, divisor: bigint): bigint | null {
  return amount % divisor === 0n ? amount / divisor : null
}

/**
 * As parseMoney, for what a configuration or a provider's JSON has as a text or as a number. A number stands for the
 * shortest decimal that reads back as it, which is what was written.
 */
export function moneyOf(value: unknown, places: number): bigint | null {
  return typeof value === 'string' || typeof value === 'number' ? parseMoney(String(value), places) : null
}

/**
 * A number of another program (0.30000000000000004) as a whole number of 10 ** -places, the next larger one. Null: it
 * is negative, or none. At most PICOS_MAX.
 */
export function roundedUp(value: number, places: number): number | null {
  const match = DECIMAL.exec(String(value))
  if (match === null) return null
  const [, integer = '', fraction = '', exponent = '0'] = match
  const digits = BigInt(integer + fraction)
  const shift = places - fraction.length + Number(exponent)
  const divisor = shift < 0 ? 10n ** BigInt(-shift) : 1n
  const amount = shift < 0 ? (digits + divisor - 1n) / divisor : digits * 10n ** BigInt(shift)
  return amount > BigInt(PICOS_MAX) ? PICOS_MAX : Number(amount)
}

/** `amount`, a whole number of 10 ** -places, as decimal text without zeros at its end: '0.0000125', '12.5', '0'. */
export function decimalText(amount: number | bigint, places: number): string {
  const digits = String(amount < 0 ? -amount : amount).padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  const sign = amount < 0 ? '-' : ''
  return `${sign}${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`
}

/**
 * Picos of `count` units at `price` picos each, both whole and not negative: from 0 to PICOS_MAX. Providers say counts,
 * and clients: endless many of what is free cost nothing, and less than none gives nothing back.
 */
export function timesPrice(count: number, price: Picos): Picos {
  // A product of whole numbers below 2^53 is exact where the result is below it too.
  const product = count * price
  return product > 0 ? Math.min(product, PICOS_MAX) : 0
}

/** Sum of two amounts of picos. PICOS_MAX at most. */
export function plusPicos(a: Picos, b: Picos): Picos {
  return Math.min(a + b, PICOS_MAX)
}

/** Picos as nanos, rounded up: a book owes no less than what was spent. */
export function nanosOfPicos(picos: Picos): number {
  // Not Math.ceil(picos / 1000): that quotient may be rounded to a whole number that is too small.
  const rest = picos % PICOS_PER_NANO
  return (picos - rest) / PICOS_PER_NANO + (rest > 0 ? 1 : 0)
}
