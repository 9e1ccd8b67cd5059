/** GatewayPolicies for a Service, for one of its ports, or for an InferencePool, in its entry of `backends`. */
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault, ObjectPlace, Part, PartOrigin } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import type { Field, Fields } from './fields.ts'
import { fitting } from './fit.ts'
import { mergeLevels } from './merge.ts'
import type { Needs, PolicyOptions, PolicyTarget } from './options.ts'
import { schemasOf } from './schemas.ts'
import { needsOfAll, policiesOf } from './target-policies.ts'

export interface ServicePort {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

export interface ServiceParts extends Needs {
  readonly entry: Part
  readonly faults: readonly Fault[]
}

/** What `entry` says itself wins: it is from a BackendTLSPolicy. */
export function withServicePolicies(
  entry: Part,
  { namespace, name, port }: ServicePort,
  objects: Objects,
  options: PolicyOptions
): ServiceParts {
  const whole: PolicyTarget = { kind: 'Service', namespace, name }
  return withTargetPolicies(entry, [whole, { ...whole, sectionName: String(port) }], objects, options)
}

/** For an InferencePool: how its model servers are spoken to. */
export function withPoolPolicies(
  entry: Part,
  pool: Omit<ServicePort, 'port'>,
  objects: Objects,
  options: PolicyOptions
): ServiceParts {
  return withTargetPolicies(entry, [{ kind: 'InferencePool', ...pool }], objects, options)
}

function withTargetPolicies(
  entry: Part,
  targets: readonly PolicyTarget[],
  objects: Objects,
  options: PolicyOptions
): ServiceParts {
  const levels = targets.map((one) => policiesOf(one, objects, options))
  const { value, origins } = mergeLevels(
    levels.map(({ sets }) => sets),
    options
  )
  const needs = needsOfAll(levels)
  const [set] = value
  if (set === undefined) return { entry, faults: [], ...needs }
  const fields = schemasOf(options).kinds.fields()
  const fieldOf = (key: string) => (Object.hasOwn(fields, key) ? fields[key] : key)
  const own = objectOf(objectOf(entry.value).policies)
  const taken = new Set(Object.keys(own).map(fieldOf))
  const fit = fitting(fieldsFrom(set, origins), schemasOf(options).kinds.configOf(objectOf(entry.value)), options)
  const added = Object.entries(set).filter(([key]) => fit.fields.has(key) && !taken.has(fieldOf(key)))
  if (added.length === 0) return { entry, faults: fit.faults, ...needs }
  const keys = new Set<PropertyKey>(added.map(([key]) => key))
  const placed = origins.flatMap(([[, key, ...rest], from]): PartOrigin[] =>
    key !== undefined && keys.has(key) ? [[['policies', key, ...rest], from]] : []
  )
  const policies = { ...Object.fromEntries(added), ...own }
  const made = { value: { ...entry.value, policies }, origins: [...entry.origins, ...placed] }
  return { entry: made, faults: fit.faults, ...needs }
}

function fieldsFrom(set: Raw, origins: readonly PartOrigin[]): Fields {
  const none: ObjectPlace = { key: 'GatewayPolicy//', path: [] }
  return new Map(
    Object.entries(set).map(([name, value]): [string, Field] => {
      const { key, path: from } = origins.find(([at]) => at.length === 2 && at[1] === name)?.[1] ?? none
      return [name, { value, key, from, origins: [] }]
    })
  )
}
