/** Equality over all types, and the order of those that have one. */

import { CelError } from './errors.ts'
import { entryOf, isList, isMap, keyOf, keysOf } from './maps.ts'
import { comparable, Double, Uint } from './numbers.ts'
import { Duration, type List, noOverload, Opaque, Optional, Timestamp, TypeValue, type Value } from './values.ts'
import { VISIT_BITS, visit } from './walk.ts'

/** Whether two values, neither an error, are the same. Values of different types are not, except numbers. */
export function equal(a: Value, b: Value): boolean {
  if (typeof a === 'string') return typeof b === 'string' && sameText(a, b)
  if (a === b) return !Number.isNaN(a)
  if (typeof a === 'number' || typeof a === 'bigint' || a instanceof Double || a instanceof Uint) {
    const other = comparable(b)
    return other !== undefined && compareNumbers(comparable(a)!, other) === 0
  }
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return false
  return equalObjects(a, b)
}

/** Long ones of one length are compared to the end, if a stranger wants it so. */
function sameText(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  if (a.length >> VISIT_BITS > 0) visit(a.length >> VISIT_BITS)
  return a === b
}

/** As equal, inside a walk. */
function same(a: Value, b: Value): boolean {
  visit()
  const isObject = typeof a === 'object' && a !== null && typeof b === 'object' && b !== null
  if (!isObject || comparable(a) !== undefined) return equal(a, b)
  return a === b || equalObjects(a, b)
}

function equalObjects(a: Value, b: Value): boolean {
  if (isList(a)) return isList(b) && equalLists(a, b)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b)
  if (a instanceof Opaque) return b instanceof Opaque && a.type === b.type && a.equals(b)
  return isMap(a) && isMap(b) && equalMaps(a, b)
}

function equalLists(a: List, b: List): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!same(a[i]!, b[i]!)) return false
  return true
}

function equalOptionals(a: Optional, b: Optional): boolean {
  if (a.held === null || b.held === null) return a.held === b.held
  return same(a.held.value, b.held.value)
}

function equalMaps(a: Value, b: Value): boolean {
  const keys = keysOf(a)!
  if (keys.length !== keysOf(b)!.length) return false
  for (const key of keys) {
    const stored = keyOf(key)!
    const other = entryOf(b, stored)
    if (other === undefined || !same(entryOf(a, stored)!, other)) return false
  }
  return true
}

/** a == b as an expression sees it: errors pass. */
export function equals(a: Value, b: Value): Value {
  if (a instanceof CelError) return a
  if (b instanceof CelError) return b
  return equal(a, b)
}

/** Negative, zero or positive; NaN for NaN; undefined when the two have no order. */
export function order(a: Value, b: Value): number | undefined {
  const x = comparable(a)
  if (x !== undefined) {
    const y = comparable(b)
    return y === undefined ? undefined : compareNumbers(x, y)
  }
  if (typeof a === 'string') return typeof b === 'string' ? compareText(a, b) : undefined
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : undefined
  if (a instanceof Timestamp) return b instanceof Timestamp ? compareNanos(a.nanos, b.nanos) : undefined
  if (a instanceof Duration) return b instanceof Duration ? compareNanos(a.nanos, b.nanos) : undefined
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : undefined
  return undefined
}

/** a < b and its kin. */
export function ordered(op: '<' | '<=' | '>' | '>=', a: Value, b: Value): Value {
  if (a instanceof CelError) return a
  if (b instanceof CelError) return b
  const sign = order(a, b)
  if (sign === undefined) return noOverload(op, a, b)
  switch (op) {
    case '<':
      return sign < 0
    case '<=':
      return sign <= 0
    case '>':
      return sign > 0
    case '>=':
      return sign >= 0
  }
}

/** A large integer is compared with a double as a double, as the specification's tests want it. */
function compareNumbers(x: number | bigint, y: number | bigint): number {
  if (typeof x !== typeof y) return compareNumbers(Number(x), Number(y))
  return x < y ? -1 : x > y ? 1 : x === y ? 0 : Number.NaN
}

function compareNanos(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** By code points. JavaScript compares UTF-16 units, which puts U+10000 and up before U+E000. */
function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  if (length >> VISIT_BITS > 0) visit(length >> VISIT_BITS)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    const xIsHigh = x >= 0xd800 && x <= 0xdfff
    const yIsHigh = y >= 0xd800 && y <= 0xdfff
    return xIsHigh === yIsHigh ? x - y : xIsHigh ? 1 : -1
  }
  return a.length - b.length
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  visit(Math.min(a.length, b.length) >> VISIT_BITS)
  return Buffer.compare(a, b)
}
