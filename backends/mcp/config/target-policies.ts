/** Policies of one target of an `mcp` backend (docs/specification.md#mcp-backends). */

import { authPolicies } from '#engine/contract/backend-auth/policies.ts'
import { transportPolicies } from '#engine/contract/backend-transport/policies.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { deferred, refusedKeys, type z } from '#engine/schema/schema.ts'
import { mcpPolicies } from './policies.ts'

const LATER = [
  ...['backendTunnel', 'health', 'http', 'requestHeaderModifier', 'responseHeaderModifier', 'transformations'],
  ...['ai', 'mcpAuthentication', 'mcpGuardrails', 'tunnel', 'transformation', 'headerModifiers']
]

// One, so that the JSON Schema has it once.
export const TARGET_POLICIES = deferred(() =>
  atLeastOne({
    ...mcpPolicies.schemas,
    ...authPolicies.schemas,
    ...transportPolicies.schemas,
    ...refusedKeys('policy of an MCP target', LATER)
  }).meta({ id: 'McpTargetPolicies' })
)

export type TargetPolicies = z.output<typeof TARGET_POLICIES>

/** Policies of connections, by the names of each. */
export const CONNECTION_POLICIES = [['auth', 'backendAuth'], ['tls', 'backendTLS'], ['tcp']] as const
