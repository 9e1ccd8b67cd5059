/** math.*: the math extension. */

import { order } from '#engine/cel/compare.ts'
import { CelError, OVERFLOW } from '#engine/cel/errors.ts'
import { BOOL, type Declared, DOUBLE, DYN, fn, INT, LIST, UINT } from '#engine/cel/functions.ts'
import { comparable, doubleOf, type Int, intOf, numberOf, Uint } from '#engine/cel/numbers.ts'
import { type List, noOverload, type Value } from '#engine/cel/values.ts'

const UINT_MASK = 2n ** 64n - 1n
const NEGATIVE_OFFSET = new CelError('range', 'negative offset')

/** The least (`sign` 1) or greatest (-1) of numbers of any types. */
function extreme(name: string, sign: number, values: List): Value {
  let best: Value | undefined
  for (const value of values) {
    if (comparable(value) === undefined) return noOverload(name, value)
    if (best === undefined || order(value, best)! * sign < 0) best = value
  }
  return best ?? noOverload(name)
}

function extremes(name: string, sign: number): Declared[] {
  const ofList = (list: List) => extreme(name, sign, list)
  return [
    fn(name, [LIST], DYN, ofList),
    fn(name, [DYN], DYN, (...values: Value[]) => extreme(name, sign, values), { variadic: true, isConstant: true })
  ]
}

function bits(name: string, work: (a: bigint, b: bigint) => bigint): Declared[] {
  return [
    fn(name, [INT, INT], INT, (a, b) => intOf(work(BigInt(a), BigInt(b)))),
    fn(name, [UINT, UINT], UINT, (a, b) => new Uint(work(a.value, b.value)))
  ]
}

/** Bits beyond 64 are lost; from 64 places on, all of them. */
function shift(name: string, work: (bits: bigint, places: bigint) => bigint): Declared[] {
  const shifted = (value: bigint, places: Int): bigint | CelError => {
    if (places < 0) return NEGATIVE_OFFSET
    return places > 63 ? 0n : work(value & UINT_MASK, BigInt(places)) & UINT_MASK
  }
  return [
    fn(name, [INT, INT], INT, (value, places) => {
      const result = shifted(BigInt(value), places)
      return result instanceof CelError ? result : intOf(BigInt.asIntN(64, result))
    }),
    fn(name, [UINT, INT], UINT, (value, places) => {
      const result = shifted(value.value, places)
      return result instanceof CelError ? result : new Uint(result)
    })
  ]
}

function rounding(name: string, work: (value: number) => number): Declared {
  return fn(name, [DOUBLE], DOUBLE, (value) => doubleOf(work(numberOf(value))))
}

/** Halves go away from zero. */
function round(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value))
}

function abs(value: Int): Value {
  if (typeof value === 'number') return Math.abs(value)
  const size = intOf(value < 0n ? -value : value)
  return size instanceof CelError ? OVERFLOW : size
}

function squareRoot(value: number): Value {
  return doubleOf(Math.sqrt(value))
}

export const MATH: readonly Declared[] = [
  ...extremes('math.least', 1),
  ...extremes('math.greatest', -1),
  ...extremes('min', 1),
  ...extremes('max', -1),
  rounding('math.ceil', Math.ceil),
  rounding('math.floor', Math.floor),
  rounding('math.round', round),
  rounding('math.trunc', Math.trunc),
  fn('math.abs', [INT], INT, abs),
  fn('math.abs', [UINT], UINT, (value) => value),
  fn('math.abs', [DOUBLE], DOUBLE, (value) => doubleOf(Math.abs(numberOf(value)))),
  fn('math.sign', [INT], INT, (value) => (value > 0 ? 1 : value < 0 ? -1 : 0)),
  fn('math.sign', [UINT], UINT, (value) => new Uint(value.value > 0n ? 1n : 0n)),
  fn('math.sign', [DOUBLE], DOUBLE, (value) => doubleOf(Math.sign(numberOf(value)))),
  fn('math.isNaN', [DOUBLE], BOOL, (value) => Number.isNaN(numberOf(value))),
  fn('math.isInf', [DOUBLE], BOOL, (value) => Math.abs(numberOf(value)) === Number.POSITIVE_INFINITY),
  fn('math.isFinite', [DOUBLE], BOOL, (value) => Number.isFinite(numberOf(value))),
  fn('math.sqrt', [DOUBLE], DOUBLE, (value) => squareRoot(numberOf(value))),
  fn('math.sqrt', [INT], DOUBLE, (value) => squareRoot(Number(value))),
  fn('math.sqrt', [UINT], DOUBLE, (value) => squareRoot(Number(value.value))),
  ...bits('math.bitAnd', (a, b) => a & b),
  ...bits('math.bitOr', (a, b) => a | b),
  ...bits('math.bitXor', (a, b) => a ^ b),
  fn('math.bitNot', [INT], INT, (value) => intOf(~BigInt(value))),
  fn('math.bitNot', [UINT], UINT, (value) => new Uint(value.value ^ UINT_MASK)),
  ...shift('math.bitShiftLeft', (value, places) => value << places),
  ...shift('math.bitShiftRight', (value, places) => value >> places)
]
