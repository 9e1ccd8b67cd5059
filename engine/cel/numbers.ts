/**
 * int, uint and double, and their arithmetic. An int is a JS number while it is a safe integer and a
 * bigint beyond; a double is a JS number unless that would be mistaken for an int. Sums of small ints
 * therefore cost one addition and one check, not two bigints.
 */
import { CelError, DIVIDE_BY_ZERO, OVERFLOW } from './errors.ts'
import type { Value } from './values.ts'

/** A double whose value is a safe integer (or -0). */
export class Double {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

export type Int = number | bigint

const INT_MAX = 2n ** 63n - 1n
const INT_MIN = -(2n ** 63n)
const UINT_MAX = 2n ** 64n - 1n

export function isInt64(value: bigint): boolean {
  return value <= INT_MAX && value >= INT_MIN
}

export function isUint64(value: bigint): boolean {
  return value >= 0n && value <= UINT_MAX
}

/** The int in its one form, or OVERFLOW. */
export function intOf(value: bigint): Int | CelError {
  const small = Number(value)
  if (Number.isSafeInteger(small)) return small
  return isInt64(value) ? value : OVERFLOW
}

export function uintOf(value: bigint): Uint | CelError {
  return isUint64(value) ? new Uint(value) : OVERFLOW
}

/** The double in its one form. */
export function doubleOf(value: number): number | Double {
  return Number.isSafeInteger(value) ? new Double(value) : value
}

export function isInt(value: Value): value is Int {
  return (typeof value === 'number' && Number.isSafeInteger(value)) || typeof value === 'bigint'
}

export function isDouble(value: Value): value is number | Double {
  return (typeof value === 'number' && !Number.isSafeInteger(value)) || value instanceof Double
}

/** The number of a double. */
export function numberOf(value: number | Double): number {
  return typeof value === 'number' ? value : value.value
}

/** Any number as what JS compares exactly (number with bigint included), or undefined. */
export function comparable(value: Value): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (value instanceof Double || value instanceof Uint) return value.value
  return undefined
}

export type ArithmeticOp = '+' | '-' | '*' | '/' | '%'

/** Two numbers of one type; null when they are not. */
export function arithmetic(op: ArithmeticOp, a: Value, b: Value): Value | null {
  if (isInt(a) && isInt(b)) {
    return typeof a === 'number' && typeof b === 'number' ? smallInt(op, a, b) : bigInt(op, BigInt(a), BigInt(b))
  }
  if (a instanceof Uint && b instanceof Uint) {
    const exact = exactly(op, a.value, b.value)
    return exact instanceof CelError ? exact : uintOf(exact)
  }
  if (isDouble(a) && isDouble(b)) return inDoubles(op, numberOf(a), numberOf(b))
  return null
}

function smallInt(op: ArithmeticOp, a: number, b: number): Int | CelError {
  let result: number
  if (op === '+') result = a + b
  else if (op === '-') result = a - b
  else if (op === '*') result = a * b
  else if (b === 0) return DIVIDE_BY_ZERO
  else result = op === '/' ? Math.trunc(a / b) : a % b
  // Safe quotients of safe integers are exact after truncation only below 2^53: both sides are. -0 is not an int.
  return Number.isSafeInteger(result) ? result + 0 : bigInt(op, BigInt(a), BigInt(b))
}

function bigInt(op: ArithmeticOp, a: bigint, b: bigint): Int | CelError {
  const exact = exactly(op, a, b)
  return exact instanceof CelError ? exact : intOf(exact)
}

function exactly(op: ArithmeticOp, a: bigint, b: bigint): bigint | CelError {
  switch (op) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return b === 0n ? DIVIDE_BY_ZERO : a / b
    case '%':
      if (b === 0n) return DIVIDE_BY_ZERO
      // As Go and C++ see it, the division that belongs to this remainder overflows.
      return a === INT_MIN && b === -1n ? OVERFLOW : a % b
  }
}

function inDoubles(op: ArithmeticOp, a: number, b: number): Value | null {
  switch (op) {
    case '+':
      return doubleOf(a + b)
    case '-':
      return doubleOf(a - b)
    case '*':
      return doubleOf(a * b)
    case '/':
      return doubleOf(a / b)
    case '%':
      return null
  }
}

/** -value for int and double. */
export function negate(value: Value): Value {
  if (typeof value === 'number') return -value + 0
  if (typeof value === 'bigint') return intOf(-value)
  if (value instanceof Double) return doubleOf(-value.value)
  return new CelError('noSuchOverload', 'no such overload: - takes int or double')
}

/** A double as an integer, truncated; null outside of what doubles can tell apart from the limits of 64 bits. */
export function truncated(value: number, unsigned: boolean): bigint | null {
  if (!Number.isFinite(value)) return null
  const whole = Math.trunc(value)
  const isIn = unsigned ? whole >= 0 && whole < 2 ** 64 : whole > -(2 ** 63) && whole < 2 ** 63
  return isIn ? BigInt(whole) : null
}
