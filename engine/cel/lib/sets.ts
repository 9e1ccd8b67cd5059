/** sets.*: lists as sets. */
import { BOOL, type Declared, fn, LIST } from '#engine/cel/functions.ts'
import { ValueSet } from '#engine/cel/value-set.ts'
import type { List } from '#engine/cel/values.ts'

function setOf(list: List): ValueSet {
  const set = new ValueSet()
  for (const item of list) set.add(item)
  return set
}

function contains(list: List, part: List): boolean {
  const set = setOf(list)
  return part.every((item) => set.has(item))
}

function intersects(list: List, part: List): boolean {
  const set = setOf(list)
  return part.some((item) => set.has(item))
}

export const SETS: readonly Declared[] = [
  fn('sets.contains', [LIST, LIST], BOOL, contains),
  fn('sets.equivalent', [LIST, LIST], BOOL, (a, b) => contains(a, b) && contains(b, a)),
  fn('sets.intersects', [LIST, LIST], BOOL, intersects)
]
