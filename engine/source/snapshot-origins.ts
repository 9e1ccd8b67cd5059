/** Which part of a configuration became which part of the Snapshot, for messages about what runs. */
import { entriesOf, objectOf, type Path, type Placed, policySetsOf, type Raw, valueAt } from '#engine/schema/placed.ts'
import { isPre, type PolicyKey } from './policies.ts'
import type { Translated } from './translate.ts'
import type { ConfigTree, PlacedListener } from './tree.ts'

/** Path in the Snapshot, and in the configuration from which it was translated. */
export type SnapshotOrigin = readonly [snapshot: string, configuration: Path]

/** How deep lists of rules may stand in a policy. A list in a list has no entries of its own. */
const DEPTH_MAX = 3

/** Listeners, routes, their matches, policies and the entries of their lists, and backends. */
export function snapshotOrigins(
  tree: ConfigTree,
  keys: readonly PolicyKey[],
  origins: Translated['origins']
): SnapshotOrigin[] {
  const canonical = new Map(keys.map((key) => [key.key, key]))
  const found: SnapshotOrigin[] = []
  const addSet = ({ raw, path }: Placed, at: string): void => {
    for (const [name, value] of Object.entries(raw)) {
      const key = canonical.get(name)
      if (key === undefined) continue
      const policy = `${at}.${key.policy.name}${key.field === null ? '' : `.${key.field}`}`
      found.push([policy, [...path, name]])
      addEntries(value, policy, [...path, name], DEPTH_MAX)
      // An alias for a part of it says where the policy itself stands, too.
      if (key.field !== null) found.push([`${at}.${key.policy.name}`, [...path, name]])
    }
  }
  const addEntries = (value: unknown, at: string, path: Path, depth: number): void => {
    if (depth === 0) return
    if (Array.isArray(value)) value.forEach((_, i) => void found.push([`${at}[${i}]`, [...path, i]]))
    else
      for (const [name, one] of Object.entries(objectOf(value)))
        addEntries(one, `${at}.${name}`, [...path, name], depth - 1)
  }
  const addLevel = (place: Placed, at: string): void => {
    for (const set of policySetsOf(place)) addSet(set, `${at}.${isPre(set.raw) ? 'preRouting' : 'policies'}`)
  }
  const addListener = (listener: PlacedListener, at: string): void => {
    found.push([at, listener.path])
    addLevel(listener, at)
    for (const [r, route] of listener.routes.entries()) {
      found.push([`${at}.routes[${r}]`, route.path])
      addSet({ raw: objectOf(route.raw.policies), path: [...route.path, 'policies'] }, `${at}.routes[${r}].policies`)
      for (const { path } of matchesOf(route.raw, route.path)) {
        found.push([`${at}.routes[${r}].matches[${String(path.at(-1))}]`, path])
      }
    }
  }
  addLevel(tree.top, 'gateway')
  const { config, frontendPolicies } = tree.top.raw
  for (const name of Object.keys(objectOf(frontendPolicies))) {
    found.push([`frontendPolicies.${name}`, ['frontendPolicies', name]])
  }
  for (const { policy, key } of keys) {
    if (policy.inConfig !== undefined && key in objectOf(config)) {
      found.push([`frontendPolicies.${key}`, ['config', key]])
    }
  }
  for (const [b, bind] of tree.binds.entries()) {
    for (const [l, listener] of bind.listeners.entries()) addListener(listener, `binds[${b}].listeners[${l}]`)
  }
  for (const [name, { config, path }] of origins) {
    found.push([`backends.${name}`, path])
    const placed = (at: Path): Placed => ({ raw: objectOf(valueAt(tree.top.raw, at)), path: at })
    const inside = config.origins?.(placed(path), placed([...path.slice(0, -1), 'policies'])) ?? []
    for (const [part, at] of inside) found.push([`backends.${name}.${part}`, at])
  }
  return found
}

const matchesOf = (route: Raw, path: Path): Placed[] => entriesOf(route.matches, [...path, 'matches'])
