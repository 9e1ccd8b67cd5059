/**
 * Strategic merge patches, as API servers carry them out (k8s.io/apimachinery, util/strategicpatch): JSON merge patches
 * whose lists may be merged by a key, and whose directives say what else becomes of maps and lists.
 */
import type { Path, Raw } from '#engine/schema/placed.ts'
import {
  checkDepth,
  DELETE_FROM_PRIMITIVE_LIST,
  fieldOfDirective,
  isMap,
  listOf,
  PATCH,
  PatchError,
  RETAIN_KEYS,
  SET_ELEMENT_ORDER,
  withoutDirectives
} from './directives.ts'
import { areMaps, checkOrder, keyOfItems, mergedItems, ordered, splitItems } from './lists.ts'
import type { FieldSchema, PatchSchema } from './patch-schema.ts'

/** `original` with `patch`; neither is changed. Throws a PatchError that says where the patch is wrong. */
export function strategicMerge(original: Raw, patch: Raw, schema: PatchSchema): Raw {
  return mergeMap(original, patch, schema, [])
}

function mergeMap(original: Raw, patch: Raw, schema: PatchSchema, path: Path): Raw {
  checkDepth(path)
  if (Object.hasOwn(patch, PATCH)) return directed(patch, path)
  const { [RETAIN_KEYS]: retained, ...fields } = patch
  // Of the keys of a patch, "__proto__" is one like others.
  const left = new Map(Object.entries(fields))
  const result = new Map(Object.entries(original))
  if (Object.hasOwn(patch, RETAIN_KEYS)) retainKeys(result, left, retained, path)
  setOrders(result, left, schema, path)
  for (const [key, value] of left) {
    const field = fieldOfDirective(key, DELETE_FROM_PRIMITIVE_LIST, path)
    if (field === null) continue
    left.delete(key)
    deleteItems(result, field, value, [...path, key])
  }
  for (const [key, value] of left) {
    const merged = mergeField(result.get(key), value, key, schema, path)
    if (merged === undefined) result.delete(key)
    else result.set(key, merged)
  }
  return Object.fromEntries(result)
}

/** A map that says what becomes of all of it. */
function directed(patch: Raw, path: Path): Raw {
  const { [PATCH]: directive, ...fields } = patch
  if (directive === 'replace') return fields
  if (directive === 'delete') return {}
  throw new PatchError([...path, PATCH], 'must be delete or replace')
}

/** Undefined: the field goes. */
function mergeField(original: unknown, patch: unknown, key: string, schema: PatchSchema, path: Path): unknown {
  if (patch === null) return undefined
  const at = [...path, key]
  const field = schema.field(key)
  if (isMap(original) && isMap(patch)) {
    return field.strategy === 'replace' ? patch : mergeMap(original, patch, schema.under(field), at)
  }
  if (Array.isArray(original) && Array.isArray(patch)) return mergeList(original, patch, field, schema, at).items
  return withoutDirectives(patch, at)
}

interface MergedList {
  readonly items: readonly unknown[]
  /** What the order of the original counts as where the patch sets an order. */
  readonly order: readonly unknown[]
}

function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  field: FieldSchema,
  schema: PatchSchema,
  path: Path
): MergedList {
  if (field.strategy !== 'merge') return { items: patch, order: original }
  const hasMaps = areMaps([...original, ...patch], path)
  if (hasMaps === undefined) return { items: original, order: original }
  const keyOf = keyOfItems(hasMaps ? field.mergeKey : undefined, path)
  if (!hasMaps) {
    return { items: ordered([...new Set([...original, ...patch])], patch, original, keyOf), order: original }
  }
  if (field.mergeKey === undefined) throw new PatchError(path, 'cannot be merged: its items have no key')
  const { items, deleted, isWhole } = splitItems(patch, keyOf, path)
  if (isWhole) return { items, order: original }
  const kept = original.filter((item) => !deleted.has(keyOf(item)))
  const under = schema.under(field)
  const merged = mergedItems(kept, items, keyOf, (one, other) => mergeMap(one, other, under, path))
  // API servers merge in the array that they have read: new items take the places that deleted ones leave.
  return { items: ordered(merged, items, kept, keyOf), order: merged.slice(0, original.length) }
}

/** Only fields that are listed stay; the patch has no others. */
function retainKeys(result: Map<string, unknown>, patch: Map<string, unknown>, list: unknown, path: Path): void {
  const at = [...path, RETAIN_KEYS]
  const retained = new Set(listOf(list, at))
  for (const [key, value] of patch) {
    if (value === null || key.startsWith(DELETE_FROM_PRIMITIVE_LIST) || key.startsWith(SET_ELEMENT_ORDER)) continue
    if (!retained.has(key)) throw new PatchError(at, `must have ${key}, which the patch sets`)
  }
  for (const key of result.keys()) if (!retained.has(key)) result.delete(key)
}

function deleteItems(result: Map<string, unknown>, field: string, list: unknown, path: Path): void {
  if (list === null) result.delete(field)
  const original = result.get(field)
  if (!Array.isArray(original)) return
  const items = listOf(list, path)
  areMaps([...original, ...items], path)
  const deleted = new Set(items)
  result.set(
    field,
    original.filter((item) => !deleted.has(item))
  )
}

/** Lists whose order the patch sets are merged here, and taken out of the patch. */
function setOrders(result: Map<string, unknown>, patch: Map<string, unknown>, schema: PatchSchema, path: Path): void {
  for (const [key, value] of patch) {
    const name = fieldOfDirective(key, SET_ELEMENT_ORDER, path)
    if (name === null) continue
    patch.delete(key)
    const [at, inPatch] = [
      [...path, key],
      [...path, name]
    ]
    const order = listOf(value, at)
    const original = result.has(name) ? listOf(result.get(name), inPatch) : null
    const list = patch.has(name) ? listOf(patch.get(name), inPatch) : null
    if (original === null && list === null) continue
    const field = schema.field(name)
    const hasMaps = areMaps([...(original ?? []), ...(list ?? [])], inPatch)
    if (hasMaps === undefined) throw new PatchError(at, 'sets the order of a list without items')
    const keyOf = keyOfItems(hasMaps ? field.mergeKey : undefined, at)
    checkOrder(list ?? [], order, keyOf, at)
    const merged = mergeOrAdd(original, list, field, schema, inPatch)
    result.set(name, ordered(merged.items, order, merged.order, keyOf))
    patch.delete(name)
  }
}

function mergeOrAdd(
  original: readonly unknown[] | null,
  patch: readonly unknown[] | null,
  field: FieldSchema,
  schema: PatchSchema,
  path: Path
): MergedList {
  if (patch === null) return { items: original ?? [], order: original ?? [] }
  if (original === null) return { items: withoutDirectives(patch, path) as readonly unknown[], order: [] }
  return mergeList(original, patch, field, schema, path)
}
