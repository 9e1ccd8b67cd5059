/** The schema of the configuration file as a whole. */
import type { Policy } from '#engine/contract/policy.ts'
import { misplacedKeys, refusedKeys, z } from '#engine/schema/schema.ts'
import { frontendSchema } from './file-frontend.ts'
import { processSchema } from './file-process.ts'
import { routeSchemas } from './file-routes.ts'
import { llmSchema } from './llm/schema.ts'
import { mcpShortcut } from './mcp/index.ts'

const NOT_HERE = [...['gateways', 'routeGroups', 'routes', 'services', 'tcpRoutes', 'ui', 'workloads']]

function build(policies: readonly Policy[]) {
  const { binds, backends, policies: onRoute, sets } = routeSchemas(policies)
  const file = z.strictObject({
    $schema: z.string().optional().describe('Where editors find this schema.'),
    config: processSchema.optional().describe('Settings of the process, read once at start.'),
    binds: binds.optional().describe('Ports, and what is served on them.'),
    frontendPolicies: z
      .lazy(() => frontendSchema(policies))
      .optional()
      .describe('How connections of clients are treated.'),
    policies: sets
      .optional()
      .describe('For all listeners, or for their targets; what a listener or route has itself wins.'),
    llm: z
      .lazy(() => llmSchema(sets))
      .optional()
      .describe('Models of LLM providers on a port of their own, in short.'),
    mcp: z
      .lazy(() => mcpShortcut(sets))
      .optional()
      .describe('MCP servers on a port of their own, in short.'),
    backends: backends.optional().describe('Named backends that routes refer to.'),
    // As files of clients have it.
    ...misplacedKeys('servers are listed here as mcp: { targets: [{ name, stdio: { cmd, args } }] }', ['mcpServers']),
    ...refusedKeys('top-level key', NOT_HERE)
  })
  return {
    file,
    /** The part that stands for `policies` of a route or listener. */
    policies: onRoute
  }
}

export type FileSchema = ReturnType<typeof build>
export type File = z.output<FileSchema['file']>

const built = new WeakMap<readonly Policy[], FileSchema>()

/** The schema for a registry of policies; built once for each. */
export function fileSchema(policies: readonly Policy[]): FileSchema {
  const known = built.get(policies)
  if (known !== undefined) return known
  const schema = build(policies)
  built.set(policies, schema)
  return schema
}
