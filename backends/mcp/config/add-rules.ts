/** Rules about what MCP servers offer, of several levels (docs/specification.md#mcp-policies). */
import type { McpRules } from '#backends/mcp/config/snapshot.ts'

/** They hold together: any of the allowing ones is enough, of the others each counts. Null: there are none. */
export function addRules(...levels: readonly (McpRules | null | undefined)[]): McpRules | null {
  const present = levels.filter((level) => level !== null && level !== undefined)
  if (present.length === 0) return null
  const of = (key: keyof McpRules) => present.flatMap((level) => level[key])
  return { allow: of('allow'), deny: of('deny'), require: of('require') }
}
