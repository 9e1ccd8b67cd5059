/**
 * What is in force of a GatewayPolicy that cannot be carried out: nothing, but what guards something is closed. A key
 * set that is missing must not open what it was to protect.
 */
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import type { Field, Fields } from './fields.ts'
import type { PolicyOptions } from './options.ts'
import { schemasOf } from './schemas.ts'

export interface ClosedFields {
  readonly traffic: Fields
  readonly backend: Fields
  readonly authentication: Field | null
}

/** Nothing of the policy needs to be valid. What cannot be read of it counts as everything that it could say. */
export function closedFields(policy: KubernetesObject, options: PolicyOptions): ClosedFields {
  const key = keyOf(policy)
  const read: Read = (make, instead) => contained(policy, make, () => instead)
  const sections = read(() => objectOf(policy.spec), null)
  const sectionOf = (name: string) => sections && read(() => objectOf(sections[name]), null)
  const [traffic, backend] = [sectionOf('traffic'), sectionOf('backend')]
  const { kinds, mcpAuthentication } = schemasOf(options)
  const guards = options.policies.filter(
    ({ section, closed, inResources }) => section === 'traffic' && closed !== undefined && inResources === undefined
  )
  const backendGuards = kinds.policies.flatMap(({ closed = {} }) => Object.keys(closed))
  const fields = (set: Raw | null, section: string, all: readonly string[]): Fields => {
    const closed = (set === null ? all : Object.keys(set)).flatMap((name): [string, Field][] => {
      const form = read(() => closedForm(name, set?.[name], options), closedForm(name, undefined, options))
      return form === undefined ? [] : [[name, field(form, ['spec', section, name], key)]]
    })
    return new Map(closed)
  }
  const hasAuthentication = backend === null || read(() => objectOf(backend.mcp).authentication !== undefined, true)
  return {
    traffic: fields(
      traffic,
      'traffic',
      guards.map(({ name }) => name)
    ),
    backend: fields(backend, 'backend', backendGuards),
    authentication:
      hasAuthentication && mcpAuthentication?.closed !== undefined
        ? field(mcpAuthentication.closed, ['spec', 'backend', 'mcp', 'authentication'], key)
        : null
  }
}

type Read = <T>(make: () => T, instead: T) => T

const field = (value: unknown, from: Path, key: ObjectKey): Field => ({ value, from, key, origins: [] })

/** In place of one policy of a set in a configuration. Undefined: nothing, as it guards nothing. */
export function closedForm(
  name: string,
  value: unknown,
  { policies, backends }: Pick<PolicyOptions, 'policies' | 'backends'>
): unknown {
  const guard = policies.find((policy) => policy.name === name)
  if (guard !== undefined) return guard.closed
  for (const { closed } of schemasOf({ policies, backends }).kinds.policies) {
    const made = closed?.[name]?.(value)
    if (made !== undefined) return made
  }
  return undefined
}
