/** Patches of API servers. */

export type Tree = Record<string, unknown>

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

/** RFC 7396. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch
  const result: Tree = isTree(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatched(result[key], value)
  }
  return result
}

/**
 * Server-side apply by one manager, whose fields no other manager owns: what it has applied before and does not apply
 * now goes. Lists are taken as a whole, which they are not where a schema says so.
 */
export function applied(target: Tree, before: Tree, now: Tree): Tree {
  const result = { ...target }
  for (const [key, value] of Object.entries(before)) {
    if (now[key] !== undefined) continue
    if (isTree(value) && isTree(result[key])) result[key] = applied(result[key], value, {})
    if (!isTree(value) || !isTree(result[key]) || Object.keys(result[key]).length === 0) delete result[key]
  }
  for (const [key, value] of Object.entries(now)) {
    const old = isTree(before[key]) ? before[key] : {}
    result[key] = isTree(value) ? applied(isTree(result[key]) ? result[key] : {}, old, value) : value
  }
  return result
}
