/** What a strategic merge patch says beside values: keys that begin with "$". */
import type { Path, Raw } from '#engine/schema/placed.ts'

/** In a map or an item of a list: what becomes of it. */
export const PATCH = '$patch'
/** Beside fields of a map: the only ones that stay. */
export const RETAIN_KEYS = '$retainKeys'
/** "$setElementOrder/containers": the order of the list. */
export const SET_ELEMENT_ORDER = '$setElementOrder'
/** "$deleteFromPrimitiveList/finalizers": texts or numbers that leave the list. */
export const DELETE_FROM_PRIMITIVE_LIST = '$deleteFromPrimitiveList'

/** A patch that cannot be merged. */
export class PatchError extends Error {
  /** In the patch. */
  readonly path: Path

  constructor(path: Path, message: string) {
    super(message)
    this.path = path
  }
}

export const isMap = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The field that a directive such as "$setElementOrder/ports" is about; null: `key` is not that directive. */
export function fieldOfDirective(key: string, directive: string, path: Path): string | null {
  if (!key.startsWith(directive)) return null
  if (key.startsWith(`${directive}/`)) return key.slice(directive.length + 1)
  throw new PatchError([...path, key], `must be ${directive}/FIELD`)
}

export function listOf(value: unknown, path: Path): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new PatchError(path, 'must be a list')
}

/** Objects of Kubernetes have some twelve levels. */
const DEPTH_MAX = 64

export function checkDepth(path: Path): void {
  if (path.length > DEPTH_MAX) throw new PatchError(path, `is nested more than ${DEPTH_MAX} levels deep`)
}

/** A patch where the original has nothing: its values, without nulls and directives. Undefined: nothing is left. */
export function withoutDirectives(patch: unknown, path: Path): unknown {
  checkDepth(path)
  if (Array.isArray(patch)) {
    return patch.map((item, i) => withoutDirectives(item, [...path, i])).filter((item) => item !== undefined)
  }
  if (!isMap(patch)) return patch
  if (Object.hasOwn(patch, PATCH)) return undefined
  const fields = Object.entries(patch).flatMap(([key, value]) => {
    const left = value === null ? undefined : withoutDirectives(value, [...path, key])
    return left === undefined ? [] : [[key, left] as const]
  })
  return Object.fromEntries(fields)
}
