/** Which rule keeps a caller from an item, for the log: the rule as it is written, with the values that it reads. */
import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import { MCP_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression } from '#engine/cel/expression.ts'
import { showReads } from '#engine/cel/show-reads.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type McpItem, newMcpUse } from '#engine/contract/mcp-use.ts'

/** Of each kind of rule no more are looked at: one of them may be for every tool. */
const LOOKED_AT_MAX = 64
/** Of many rules that do not allow, so many are shown. */
const SHOWN_MAX = 3

/** Compiled when the first denial is logged, and once. */
const COMPILED = new WeakMap<McpRules, Readonly<Record<keyof McpRules, readonly Expression[]>>>()

function compiled(rules: McpRules) {
  let known = COMPILED.get(rules)
  if (known === undefined) {
    const of = (sources: readonly string[]) =>
      sources.slice(0, LOOKED_AT_MAX).map((source) => compileExpression(source, MCP_ROOTS, 'bool'))
    known = { allow: of(rules.allow), deny: of(rules.deny), require: of(rules.require) }
    COMPILED.set(rules, known)
  }
  return known
}

/** Why `rules` do not let the caller of `ex` use `item`, which they have denied. Never throws. */
export function denialOf(rules: McpRules, ex: Exchange, item: McpItem): string {
  const { mcp } = ex
  const use = mcp ?? newMcpUse()
  const before = use.item
  ex.mcp = use
  use.item = item
  try {
    return denial(rules, ex)
  } finally {
    use.item = before
    ex.mcp = mcp
  }
}

function denial(rules: McpRules, ex: Exchange): string {
  const { allow, deny, require } = compiled(rules)
  const shown = (rule: Expression): string => showReads(rule, MCP_ROOTS, ex)
  const denies = deny.findIndex((rule) => rule.run(ex) === true)
  if (denies >= 0) return `deny rule ${denies} denies it: ${shown(deny[denies]!)}`
  const lacks = require.findIndex((rule) => rule.run(ex) !== true)
  if (lacks >= 0) return `require rule ${lacks} must hold and does not: ${shown(require[lacks]!)}`
  if (allow.length > 0 && !allow.some((rule) => rule.run(ex) === true)) {
    const rest = rules.allow.length - SHOWN_MAX
    return `no rule allows it: ${allow.slice(0, SHOWN_MAX).map(shown).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`
  }
  const fails = deny.findIndex((rule) => rule.run(ex) !== false)
  if (fails >= 0) return `deny rule ${fails} fails: ${shown(deny[fails]!)}`
  // Of a URI, or a path, that can be written in several ways: one of the others.
  return 'another way of writing it is not allowed'
}
