/** GatewayBackend (weir.dev/v1alpha1): the kinds of backends, as their registry describes them. */
import { oneOf } from '#engine/schema/choice.ts'
import type { Kinds } from '#engine/source/kinds.ts'
import { backendPolicies } from './policies.ts'
import type { ResourceSchemas } from './resource-schema.ts'

export function gatewayBackendSpec(kinds: Kinds, schemas: ResourceSchemas) {
  const keys = kinds.keys.map(({ name, schema }) => [name, schema] as const)
  const policies = backendPolicies(kinds)
    .optional()
    .describe('For connections to it. What it says wins, field by field, over a GatewayPolicy.')
  return schemas.of(oneOf(Object.fromEntries(keys), { policies }))
}
