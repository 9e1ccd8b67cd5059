/**
 * What is in force of a GatewayPolicy that cannot be carried out: nothing, but what guards something is closed. A key
 * set that is missing must not open what it was to protect.
 */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { type Field, type Fields, NO_FIELDS } from './fields.ts'
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
    traffic: trafficFields(objectOf(traffic), key, options),
    backend: backendFields(policies, key, options),
    authentication:
      hasAuthentication && mcpAuthentication?.closed !== undefined
        ? field(mcpAuthentication.closed, ['spec', 'backend', 'mcp', 'authentication'], key)
        : null
  }
}

const field = (value: unknown, from: Path, key: ObjectKey): Field => ({ value, from, key, origins: [] })

function trafficFields(set: Raw, key: ObjectKey, { policies }: PolicyOptions): Fields {
  const guards = policies.filter(({ name, closed }) => closed !== undefined && set[name] !== undefined)
  return new Map(guards.map(({ name, closed }) => [name, field(closed, ['spec', 'traffic', name], key)]))
}

function backendFields(set: Raw, key: ObjectKey, options: PolicyOptions): Fields {
  const found = schemasOf(options).kinds.policies.flatMap(({ closed = {} }) =>
    Object.entries(closed).flatMap(([name, make]): [string, Field][] => {
      const value = set[name] === undefined ? undefined : make(set[name])
      return value === undefined ? [] : [[name, field(value, ['spec', 'backend', name], key)]]
    })
  )
  return found.length === 0 ? NO_FIELDS : new Map(found)
}
