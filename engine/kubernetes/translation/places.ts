/** Where the parts of a Snapshot stand in resources. */
import type { Raw } from '#engine/schema/placed.ts'
import type { PolicyKey } from '#engine/source/policies.ts'
import type { CompiledGateway } from './compile/gateway-compiler.ts'
import type { GatewayRecord, Records } from './compile/records.ts'
import { placeText } from './conditions.ts'
import type { Input } from './inputs.ts'
import type { SnapshotPlace } from './options.ts'
import type { ObjectPlace, PartOrigin } from './parts.ts'

export function placesOf(
  record: GatewayRecord,
  { draft, routes, backends }: CompiledGateway,
  records: Records,
  keys: readonly PolicyKey[]
): SnapshotPlace[] {
  const entries: SnapshotPlace[] = []
  const add = (at: string, place: ObjectPlace) => entries.push([at, placeText(place)])
  /** Policies of a set, each by its canonical name. */
  const addSet = (at: string, set: Raw, origins: readonly PartOrigin[], start: readonly PropertyKey[]) => {
    for (const name of Object.keys(set)) {
      const place = originOf(origins, [...start, name])
      const canonical = keys.find(({ key }) => key === name)?.policy.name
      if (place !== null && canonical !== undefined) add(`${at}.${canonical}`, place)
    }
  }
  const addSets = (at: string, { value, origins }: Input<readonly Raw[]>) => {
    for (const [i, set] of value.entries()) {
      addSet(`${at}.${set.phase === 'PreRouting' ? 'preRouting' : 'policies'}`, set, origins, [i])
    }
  }
  addSets('gateway', record.policies)
  for (const [at, place] of record.frontend.origins) {
    if (at.length === 1) add(`frontendPolicies.${String(at[0])}`, place)
  }
  const listeners = new Map(record.listeners.map((one) => [one.name, one]))
  const rules = Map.groupBy(
    [...routes.values()].flatMap(({ units }) => units.filter(({ result }) => result.spec !== null)),
    ({ name }) => name
  )
  for (const [b, bind] of draft.binds.entries()) {
    for (const [l, { name }] of bind.listeners.entries()) {
      const at = `binds[${b}].listeners[${l}]`
      const listener = listeners.get(name)
      if (listener === undefined) continue
      add(at, listener.place)
      addSets(at, listener.policies)
      const list = listener.protocol.startsWith('HTTP') ? 'routes' : 'tcpRoutes'
      for (const [r, { rule }] of (rules.get(name) ?? []).entries()) {
        add(`${at}.${list}[${r}]`, rule.place)
        const { policies } = rule.entry.value
        addSet(`${at}.${list}[${r}].policies`, (policies ?? {}) as Raw, rule.entry.origins, ['policies'])
      }
    }
  }
  for (const name of backends) {
    const [origin] = records.backend(name)?.entry.origins ?? []
    if (origin !== undefined) add(`backends.${name}`, origin[1])
  }
  return entries
}

/** Of the nearest place around `path`. */
function originOf(origins: readonly PartOrigin[], path: readonly PropertyKey[]): ObjectPlace | null {
  for (let length = path.length; length >= 0; length--) {
    const text = path.slice(0, length).join('\0')
    const found = origins.find(([at]) => at.length === length && at.join('\0') === text)
    if (found !== undefined) {
      const [, { key, path: from }] = found
      return { key, path: [...from, ...path.slice(length)] }
    }
  }
  return null
}
