/**
 * Policies of backends that act on MCP servers (docs/specification.md#mcp-policies): rules of the gateway, a listener,
 * a route, a backend and its reference add up in the backends that they reach.
 */

import { addRules } from '#backends/mcp/config/add-rules.ts'
import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import type { BackendPolicies, PolicySets } from '#engine/contract/backend-config.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { deferred, refused } from '#engine/schema/schema.ts'
import { describedInResources, inResources, onlyInFiles } from '#engine/schema/spelling.ts'
import { mcpRules } from './rules.ts'

// One, so that the JSON Schema has it once.
const RULES = deferred(() => mcpRules().meta({ id: 'McpAuthorization' }))

const WHO = "the file has it on routes: 'mcpAuthentication'"

/** Rules of all levels add up. */
const MCP_RULES = 'Who sees and uses which tools, prompts and resources of MCP servers.'

export const mcpPolicies: BackendPolicies = {
  keys: { mcpAuthorization: 'mcpAuthorization', mcp: 'mcpAuthorization' },
  schemas: {
    mcpAuthorization: onlyInFiles(RULES.optional()).describe(
      'Who sees and uses which tools, prompts and resources of MCP servers.'
    ),
    mcp: atLeastOne({
      authorization: describedInResources(RULES.optional(), MCP_RULES).describe('Another name of mcpAuthorization.'),
      authentication: inResources(refused("policy 'mcp.authentication'", WHO), 'McpAuthentication')
    })
      .optional()
      .describe('authorization and authentication of MCP servers, as resources have them.')
  },
  addsUp: true,
  closed: { mcp: () => ({ authorization: { rules: [{ deny: 'true' }] } }) },
  words: {
    repeated: (first) => `says again what ${first} says: keep one of them`,
    misplaced: () => 'acts on MCP servers, which this backend has not',
    unreached: () => 'acts on MCP servers, and no backend below has any'
  }
}

interface FilePolicies {
  readonly mcpAuthorization?: McpRules | undefined
  readonly mcp?: { readonly authorization?: McpRules | undefined } | undefined
}

/** Of validated sets, all levels together; null: none is set. */
export function mergedRules(levels: readonly PolicySets[]): McpRules | null {
  const sets = levels.flat() as (FilePolicies | undefined)[]
  return addRules(...sets.flatMap((set) => [set?.mcpAuthorization, set?.mcp?.authorization]))
}
