/**
 * What is in force of a GatewayPolicy that cannot be carried out: nothing, but what guards something is closed. A key
 * set that is missing must not open what it was to protect.
 */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import type { Field, Fields } from './fields.ts'
import type { PolicyOptions } from './options.ts'
import { schemasOf } from './schemas.ts'

export interface ClosedFields {
  readonly traffic: Fields
  readonly backend: Fields
  readonly authentication: Field | null
}

/** `spec`: of a GatewayPolicy; nothing of it needs to be valid. */
export function closedFields({ traffic, backend }: Raw, key: ObjectKey, options: PolicyOptions): ClosedFields {
  const policies = objectOf(backend)
  const { mcpAuthentication } = schemasOf(options)
  const hasAuthentication = objectOf(policies.mcp).authentication !== undefined
  return {
    traffic: fieldsIn(objectOf(traffic), 'traffic', key, options),
    backend: fieldsIn(policies, 'backend', key, options),
    authentication:
      hasAuthentication && mcpAuthentication?.closed !== undefined
        ? field(mcpAuthentication.closed, ['spec', 'backend', 'mcp', 'authentication'], key)
        : null
  }
}

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

function fieldsIn(set: Raw, section: string, key: ObjectKey, options: PolicyOptions): Fields {
  const closed = Object.entries(set).flatMap(([name, value]): [string, Field][] => {
    const form = closedForm(name, value, options)
    return form === undefined ? [] : [[name, field(form, ['spec', section, name], key)]]
  })
  return new Map(closed)
}
