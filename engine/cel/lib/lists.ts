/** Lists: the lists extension. */
import { order } from '#engine/cel/compare.ts'
import { CelError } from '#engine/cel/errors.ts'
import { type Declared, fn, INT, LIST, method, OPTIONAL } from '#engine/cel/functions.ts'
import { isList } from '#engine/cel/maps.ts'
import type { Int } from '#engine/cel/numbers.ts'
import { ValueSet } from '#engine/cel/value-set.ts'
import { type List, NONE, noOverload, some, type Value } from '#engine/cel/values.ts'
import { visit } from '#engine/cel/walk.ts'

/** Elements that lists.range makes at most. */
const RANGE_MAX = 100_000

function slice(list: List, from: Int, to: Int): Value {
  if (from < 0 || to < from || to > list.length) {
    return new CelError('range', `cannot slice(${from}, ${to}), list is length ${list.length}`)
  }
  return list.slice(Number(from), Number(to))
}

function flatten(list: List, depth: Int): Value {
  if (depth < 0) return new CelError('range', 'level must be non-negative')
  const out: Value[] = []
  const flat = (part: List, left: Int): void => {
    for (const item of part) {
      visit()
      if (isList(item) && left > 0) flat(item, Number(left) - 1)
      else out.push(item)
    }
  }
  flat(list, depth)
  return out
}

function distinct(list: List): Value {
  const known = new ValueSet()
  return list.filter((item) => known.add(item))
}

/** The elements in the order of `keys`, which must all be of one ordered type. */
export function sortBy(list: List, keys: List): Value {
  for (const key of keys) {
    const sign = order(keys[0]!, key)
    if (sign === undefined) return noOverload('sort', list)
  }
  const places = Array.from(keys.keys()).sort((a, b) => order(keys[a]!, keys[b]!)!)
  return places.map((place) => list[place]!)
}

function range(count: Int): Value {
  if (count < 0 || count > RANGE_MAX) return new CelError('range', `lists.range() takes 0 to ${RANGE_MAX}`)
  return Array.from({ length: Number(count) }, (_, i) => i)
}

export const LISTS: readonly Declared[] = [
  method('slice', [LIST, INT, INT], LIST, slice),
  method('flatten', [LIST], LIST, (list) => flatten(list, 1)),
  method('flatten', [LIST, INT], LIST, flatten),
  method('distinct', [LIST], LIST, distinct),
  method('sort', [LIST], LIST, (list) => sortBy(list, list)),
  method('reverse', [LIST], LIST, (list) => list.toReversed()),
  method('first', [LIST], OPTIONAL, (list) => (list.length === 0 ? NONE : some(list[0]!)), { isConstant: true }),
  method('last', [LIST], OPTIONAL, (list) => (list.length === 0 ? NONE : some(list.at(-1)!)), { isConstant: true }),
  fn('lists.range', [INT], LIST, range)
]
