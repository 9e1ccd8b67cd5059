/** optional.*: values that may be absent. optMap and optFlatMap are macros. */
import { CelError } from '#engine/cel/errors.ts'
import { BOOL, type Declared, DYN, fn, LIST, method, OPTIONAL } from '#engine/cel/functions.ts'
import { isList, isMap, sizeOfMap } from '#engine/cel/maps.ts'
import { comparable } from '#engine/cel/numbers.ts'
import { Duration, NONE, Optional, some, Timestamp, type Value } from '#engine/cel/values.ts'

const NO_VALUE = new CelError('noSuchKey', 'optional.none() has no value')

/** The zero of its type: 0, '', empty, null, false, the epoch. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === '') return true
  const number = comparable(value)
  if (number !== undefined) return Number(number) === 0
  if (value instanceof Uint8Array || isList(value)) return value.length === 0
  if (value instanceof Timestamp || value instanceof Duration) return value.nanos === 0n
  if (value instanceof Optional) return value.held === null
  return isMap(value) && sizeOfMap(value) === 0
}

export const OPTIONALS: readonly Declared[] = [
  fn('optional.of', [DYN], OPTIONAL, some, { isConstant: true }),
  fn('optional.none', [], OPTIONAL, () => NONE),
  fn('optional.ofNonZeroValue', [DYN], OPTIONAL, (value) => (isZero(value) ? NONE : some(value))),
  fn('optional.unwrap', [LIST], LIST, (list) =>
    list.flatMap((item) => (item instanceof Optional ? (item.held === null ? [] : [item.held.value]) : [item]))
  ),
  method('unwrapOpt', [LIST], LIST, (list) =>
    list.flatMap((item) => (item instanceof Optional ? (item.held === null ? [] : [item.held.value]) : [item]))
  ),
  method('hasValue', [OPTIONAL], BOOL, (optional) => optional.held !== null),
  method('value', [OPTIONAL], DYN, (optional) => (optional.held === null ? NO_VALUE : optional.held.value)),
  method('or', [OPTIONAL, OPTIONAL], OPTIONAL, (a, b) => (a.held === null ? b : a)),
  method('orValue', [OPTIONAL, DYN], DYN, (a, other) => (a.held === null ? other : a.held.value), { isConstant: true })
]
