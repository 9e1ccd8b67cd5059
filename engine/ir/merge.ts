/** How the policies of several attachment points become one set (docs/specification.md#attachment-and-merging). */
import type { PolicySet } from './snapshot.ts'

/**
 * Merges per top-level field: a policy of a more precise level replaces the same policy of a less
 * precise one whole, never field by field. Levels come least precise first:
 * traffic: gateway, listener, route, route rule; backend: the same, then backend, then its reference in the route.
 * Those in `accumulating` become the list of their configurations at all levels.
 */
export function mergePolicies(levels: readonly PolicySet[], accumulating: ReadonlySet<string> = NONE): PolicySet {
  const merged: Record<string, unknown> = {}
  for (const level of levels) {
    for (const [name, config] of Object.entries(level)) {
      if (config === undefined) continue
      merged[name] = accumulating.has(name) ? [...((merged[name] as unknown[] | undefined) ?? []), config] : config
    }
  }
  return merged
}

const NONE: ReadonlySet<string> = new Set()
