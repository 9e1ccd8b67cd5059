/** The schema of a configuration as a whole. */

import type { Policy } from '#engine/contract/policy.ts'
import { port } from '#engine/schema/net.ts'
import { requestFields } from '#engine/schema/request-rules.ts'
import { misplacedKeys, refusedKeys, z } from '#engine/schema/schema.ts'
import { accountKeys } from './accounts.ts'
import { frontendSchema } from './frontend.ts'
import type { Kinds } from './kinds.ts'
import { processSchema } from './process.ts'
import { routeSchemas } from './routes.ts'
import { secretsSchema } from './secrets.ts'

const NOT_HERE = [...['gateways', 'routeGroups', 'routes', 'services', 'tcpRoutes', 'ui', 'workloads']]

function build(policies: readonly Policy[], kinds: Kinds) {
  const { binds, backends, policies: onRoute, sets } = routeSchemas(policies, kinds)
  const config = z.strictObject({
    $schema: z.string().optional().describe('Where editors find this schema.'),
    config: z
      .lazy(() => processSchema(policies))
      .optional()
      .describe('Settings of the process, read once at start.'),
    binds: binds.optional().describe('Ports, and what is served on them.'),
    frontendPolicies: z
      .lazy(() => frontendSchema(policies))
      .optional()
      .describe('How connections of clients are treated.'),
    policies: sets
      .optional()
      .describe('For all listeners, or for their targets; what a listener or route has itself wins.'),
    ...shortcuts(kinds, sets.optional().describe('For all requests of the port.')),
    secrets: secretsSchema.optional().describe('Named secrets that policies refer to.'),
    ...accountKeys,
    backends: backends.optional().describe('Named backends that routes refer to.'),
    // As files of clients have it.
    ...misplacedKeys('servers are listed here as mcp: { targets: [{ name, stdio: { cmd, args } }] }', ['mcpServers']),
    ...refusedKeys('top-level key', NOT_HERE)
  })
  return {
    config,
    /** The part that stands for `policies` of a route or listener. */
    policies: onRoute
  }
}

export type ConfigSchema = ReturnType<typeof build>
export type Config = z.output<ConfigSchema['config']>

/** Keys at the top that stand for a bind with one route. */
function shortcuts(kinds: Kinds, policies: z.ZodOptional): Record<string, z.ZodOptional> {
  return Object.fromEntries(
    kinds.shortcuts.map(({ key, port: usual, description, schema }) => {
      const common = { port: port().optional().describe(`Default ${usual}.`), policies, ...requestFields }
      const made = z.lazy(() => schema(common))
      return [key, made.optional().describe(description)]
    })
  )
}

const built = new WeakMap<readonly Policy[], WeakMap<Kinds, ConfigSchema>>()

/** The schema for registries of policies and kinds of backends; built once for each. */
export function configSchema(policies: readonly Policy[], kinds: Kinds): ConfigSchema {
  const ofPolicies = built.get(policies) ?? new WeakMap<Kinds, ConfigSchema>()
  built.set(policies, ofPolicies)
  const schema = ofPolicies.get(kinds) ?? build(policies, kinds)
  ofPolicies.set(kinds, schema)
  return schema
}
