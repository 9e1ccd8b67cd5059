/** Rules about what MCP servers offer, of several levels (docs/specification.md#mcp-policies). */
import type { McpRules } from '#backends/mcp/config/snapshot.ts'

/** They hold together: any of the allowing ones is enough, of the others each counts. Null: there are none. */
export function addRules(...levels: readonly (McpRules | null | undefined)[]): McpRules | null {
  const given = levels.filter((level) => level !== null && level !== undefined)
  if (given.length === 0) return null
  const of = (key: keyof McpRules) => given.flatMap((level) => level[key])
  return { allow: of('allow'), deny: of('deny'), require: of('require') }
}
