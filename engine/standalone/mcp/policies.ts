/**
 * Policies of backends that act on MCP servers (docs/specification.md#mcp-policies): rules of the gateway, a listener,
 * a route, a backend and its reference add up in the backends that they reach.
 */
import { addRules } from '#engine/ir/mcp-rules.ts'
import type { McpRules } from '#engine/ir/snapshot.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { deferred, refused } from '#engine/schema/schema.ts'
import { mcpRules } from './rules.ts'

// One, so that the JSON Schema has it once.
const RULES = deferred(() => mcpRules().meta({ id: 'McpAuthorization' }))

const WHO = "the file has it on routes: 'mcpAuthentication'"

/** Names in a file that say rules. */
export const MCP_KEYS = ['mcpAuthorization', 'mcp'] as const

/** By the names that a file may use. */
export function mcpPolicies() {
  return {
    mcpAuthorization: RULES.optional().describe('Who sees and uses which tools, prompts and resources of MCP servers.'),
    mcp: atLeastOne({
      authorization: RULES.optional().describe('Another name of mcpAuthorization.'),
      authentication: refused("policy 'mcp.authentication'", WHO)
    })
      .optional()
      .describe('As resources have it.')
  }
}

export interface McpPolicies {
  readonly mcpAuthorization?: McpRules | undefined
  readonly mcp?: { readonly authorization?: McpRules | undefined } | undefined
}

type Sets = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[] | undefined

/** Of validated sets, all levels together; null: nothing is said. */
export function mergedRules(levels: readonly Sets[]): McpRules | null {
  const sets = levels.flat() as (McpPolicies | undefined)[]
  return addRules(...sets.flatMap((set) => [set?.mcpAuthorization, set?.mcp?.authorization]))
}
