/**
 * Lists of a strategic merge patch: which items stay, and in which order. The order of the patch holds among the items
 * that it names, that of the original among the others, and each of those stands before the first named item that came
 * behind it.
 */
import type { Path, Raw } from '#engine/schema/placed.ts'
import { isMap, PATCH, PatchError } from './directives.ts'

/** Of an item: the value of its merge key, or the item where there is none. */
export type KeyOf = (item: unknown) => unknown

/** `mergeKey` undefined: items are texts and numbers. */
export function keyOfItems(mergeKey: string | undefined, path: Path): KeyOf {
  if (mergeKey === undefined) return (item) => item
  return (item) => {
    if (!isMap(item)) throw new PatchError(path, 'must have objects as items')
    if (!Object.hasOwn(item, mergeKey)) throw new PatchError(path, `must have ${mergeKey} in each of its items`)
    return item[mergeKey]
  }
}

/** Whether items are objects. They must be of one type, and no lists. Undefined: there are none. */
export function areMaps(items: readonly unknown[], path: Path): boolean | undefined {
  const types = new Set(items.map((item) => (Array.isArray(item) ? 'list' : item === null ? 'null' : typeof item)))
  if (types.size > 1 || types.has('list') || types.has('null')) {
    throw new PatchError(path, 'must have items of one type, which are no lists')
  }
  return types.size === 0 ? undefined : types.has('object')
}

interface Split {
  /** Without those that say only what becomes of others. */
  readonly items: readonly unknown[]
  readonly deleted: ReadonlySet<unknown>
  /** The list becomes `items`. */
  readonly isWhole: boolean
}

/** Items of a patch by their "$patch". */
export function splitItems(patch: readonly unknown[], keyOf: KeyOf, path: Path): Split {
  const deleted = new Set<unknown>()
  let isWhole = false
  const items = patch.filter((item, i) => {
    if (!isMap(item) || !Object.hasOwn(item, PATCH)) return true
    const directive = item[PATCH]
    if (directive === 'delete') deleted.add(keyOf(item))
    else if (directive === 'replace') isWhole = true
    else throw new PatchError([...path, i, PATCH], 'must be delete or replace in an item of a list')
    return false
  })
  return { items, deleted, isWhole }
}

/** Items of `original`, each merged with those of the patch that have its key, and behind them those that are new. */
export function mergedItems(
  original: readonly unknown[],
  patch: readonly unknown[],
  keyOf: KeyOf,
  merge: (original: Raw, patch: Raw) => Raw
): readonly unknown[] {
  const merged = [...original]
  for (const item of patch) {
    const key = keyOf(item)
    const at = merged.findIndex((one) => isMap(one) && keyOf(one) === key)
    if (at < 0) merged.push(item)
    else merged[at] = merge(merged[at] as Raw, item as Raw)
  }
  return merged
}

/** `merged` in order: `named` has the items, or objects with their keys alone, whose order is that of the patch. */
export function ordered(
  merged: readonly unknown[],
  named: readonly unknown[],
  original: readonly unknown[],
  keyOf: KeyOf
): readonly unknown[] {
  const inPatch = places(named, keyOf)
  const inOriginal = places(original, keyOf)
  const by = (order: ReadonlyMap<unknown, number>) => (a: unknown, b: unknown) =>
    (order.get(keyOf(a)) ?? 0) - (order.get(keyOf(b)) ?? 0)
  const ours = merged.filter((item) => inPatch.has(keyOf(item))).toSorted(by(inPatch))
  const others = merged.filter((item) => !inPatch.has(keyOf(item))).toSorted(by(inOriginal))
  const all: unknown[] = []
  for (const item of ours) {
    const place = inOriginal.get(keyOf(item))
    while (place !== undefined && others.length > 0 && inOriginal.get(keyOf(others[0]))! < place) {
      all.push(others.shift())
    }
    all.push(item)
  }
  return [...all, ...others]
}

/** Where each key stands first. */
function places(items: readonly unknown[], keyOf: KeyOf): ReadonlyMap<unknown, number> {
  const found = new Map<unknown, number>()
  items.forEach((item, i) => {
    const key = keyOf(item)
    if (!found.has(key)) found.set(key, i)
  })
  return found
}

/** The items of a patch must come in the order that is set, and each of them must be in it. */
export function checkOrder(patch: readonly unknown[], order: readonly unknown[], keyOf: KeyOf, path: Path): void {
  if (patch.length === 0 || order.length === 0) return
  const items = patch.filter((item) => !isMap(item) || item[PATCH] !== 'delete')
  let next = 0
  for (const ordered of order) {
    // As in API servers, "$patch: replace" may stand anywhere but behind the last item.
    while (isMap(items[next]) && Object.hasOwn(items[next] as object, PATCH)) next++
    if (next < items.length && keyOf(items[next]) === keyOf(ordered)) next++
  }
  if (next < items.length) throw new PatchError(path, 'must have the items of the patch, in their order')
}
