/** Who sees and uses what of MCP servers (docs/specification.md#mcp-policies). */

import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import { MCP_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { ONLY_FILES } from '#engine/schema/rule.ts'
import { ENTRIES_MAX, list, says, z } from '#engine/schema/schema.ts'
import { filledIn, onlyInFiles } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'

/** A rule for each of a hundred tools of ten targets. */

const condition = () => expression(MCP_ROOTS, 'bool')

/** An expression that allows, or one with the action that it is for. */
const rule = () =>
  z.union(
    [
      condition(),
      oneOf({ allow: condition().optional(), deny: condition().optional(), require: condition().optional() })
    ],
    { error: says('must be an expression, or an object with one of allow, deny, require') }
  )

export const mcpRules = () =>
  oneOf(
    {
      rules: onlyInFiles(list(rule(), 0, ENTRIES_MAX).optional()).describe(
        'What one of them is true for is listed and may be used. None: everything.'
      ),
      policy: z
        .strictObject({ matchExpressions: list(condition(), 1, ENTRIES_MAX) })
        .optional()
        .describe('Expressions of which one is enough, for one action.')
    },
    {
      action: filledIn(z.enum(['Allow', 'Deny', 'Require']), 'Allow')
        .optional()
        .describe('Of policy. Default Allow.')
    }
  )
    .refine(({ action, rules }) => action === undefined || rules === undefined, {
      when: sound(),
      path: ['action'],
      error: 'belongs to policy: each of the rules says its own',
      params: ONLY_FILES
    })
    .transform(({ rules, policy, action = 'Allow' }): McpRules => {
      if (policy !== undefined) return fromPolicy(policy.matchExpressions, action)
      const out = { allow: [] as string[], deny: [] as string[], require: [] as string[] }
      for (const item of rules!) {
        if (typeof item === 'string') out.allow.push(item)
        else for (const [key, source] of Object.entries(item)) out[key as keyof typeof out].push(source as string)
      }
      return out
    })

function fromPolicy(sources: readonly string[], action: 'Allow' | 'Deny' | 'Require'): McpRules {
  const rules = { allow: [], deny: [], require: [] }
  if (action === 'Allow') return { ...rules, allow: sources }
  if (action === 'Deny') return { ...rules, deny: sources }
  // One of them is enough: a term that fails does no harm beside one that is true.
  return { ...rules, require: [sources.map((source) => `(${source})`).join(' || ')] }
}
