/** Policies of one target of an `mcp` backend (docs/specification.md#mcp-backends). */

import type { TargetConnection } from '#backends/mcp/targets/kind.ts'
import { transportPolicies } from '#engine/contract/backend-transport/policies.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { authKey, keyHeader } from '#engine/schema/credential.ts'
import { deferred, refused, refusedKeys, z } from '#engine/schema/schema.ts'
import { mcpPolicies } from './policies.ts'

const auth = () =>
  oneOf(
    {
      key: authKey().optional().describe('Sent as a bearer token; one that names its scheme ("Basic ...") as it is.'),
      ...refusedKeys('authentication of an MCP target', ['aws', 'azure', 'cloudC', 'cloudD', 'gcp']),
      passthrough: refused(
        "authentication 'passthrough' of an MCP target",
        'forwardHeaders: [authorization] lets through what clients send'
      ),
      secretRef: z.never({ error: 'is for resources of Kubernetes: a file has key' }).optional()
    },
    {
      location: oneOf({
        header: keyHeader().optional(),
        ...refusedKeys('location of the key of an MCP target', ['cookie', 'queryParameter'])
      })
        .optional()
        .describe('Default: Authorization, as a bearer token.')
    }
  )

const LATER = [
  ...['backendTunnel', 'health', 'http', 'requestHeaderModifier', 'responseHeaderModifier', 'transformations'],
  ...['ai', 'mcpAuthentication', 'mcpGuardrails', 'tunnel', 'transformation', 'headerModifiers']
]

// One of each, so that the JSON Schema has them once.
const AUTH = deferred(() => auth().meta({ id: 'McpTargetAuthentication' }))
export const TARGET_POLICIES = deferred(() =>
  atLeastOne({
    ...mcpPolicies.schemas,
    auth: AUTH.optional().describe('What the target is shown.'),
    backendAuth: AUTH.optional().describe('Another name of auth.'),
    ...transportPolicies.schemas,
    ...refusedKeys('policy of an MCP target', LATER)
  }).meta({ id: 'McpTargetPolicies' })
)

export type TargetPolicies = z.output<typeof TARGET_POLICIES>

/** Policies of connections, by the names of each. */
export const CONNECTION_POLICIES = [['auth', 'backendAuth'], ['tls', 'backendTLS'], ['tcp']] as const

/** RFC 9110 section 11.4: a scheme, a blank and its credentials. */
const SCHEMED = /^[A-Za-z][A-Za-z0-9-]* +[!-~]/

/** Of the first set that has it. */
export function authOf(sets: readonly (TargetPolicies | undefined)[]): TargetConnection['auth'] {
  const first = sets.map((set) => set?.auth ?? set?.backendAuth).find((auth) => auth !== undefined)
  if (first?.key === undefined) return null
  const { key, location } = first
  if (location?.header !== undefined) {
    return { header: location.header.name, value: `${location.header.prefix ?? ''}${key}` }
  }
  return { header: 'authorization', value: SCHEMED.test(key) ? key : `Bearer ${key}` }
}
