/** sets.*: lists as sets. Elements that can be map keys are looked up, others compared one by one. */
import { equal } from '#engine/cel/compare.ts'
import { BOOL, type Declared, fn, LIST } from '#engine/cel/functions.ts'
import { keyOf } from '#engine/cel/maps.ts'
import type { List, Value } from '#engine/cel/values.ts'

function lookup(list: List): (value: Value) => boolean {
  const keys = new Set(list.map(keyOf))
  return (value) => {
    const key = keyOf(value)
    return key === undefined ? list.some((item) => equal(item, value)) : keys.has(key)
  }
}

function contains(list: List, part: List): boolean {
  return part.every(lookup(list))
}

const SIZED = { sized: true } as const

export const SETS: readonly Declared[] = [
  fn('sets.contains', [LIST, LIST], BOOL, contains, SIZED),
  fn('sets.equivalent', [LIST, LIST], BOOL, (a, b) => contains(a, b) && contains(b, a), SIZED),
  fn('sets.intersects', [LIST, LIST], BOOL, (a, b) => b.some(lookup(a)), SIZED)
]
