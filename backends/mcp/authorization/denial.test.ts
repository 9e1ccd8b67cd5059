import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import { identityOf } from '#engine/contract/identity.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { denialOf } from './denial.ts'

const TOOL: McpItem = { kind: 'tool', name: 'drop', target: 'a', arguments: { table: 'canary' } }

function denial(some: Partial<McpRules>): string {
  const ex = fakeExchange()
  identityOf(ex).jwt = { sub: 'bob' }
  const text = denialOf({ allow: [], deny: [], require: [], ...some }, ex, TOOL)
  assert.equal(ex.mcp, null)
  return text
}

test('the rule is shown with what it reads, and no argument of a call', () => {
  const named = 'mcp.tool.name == "drop"'
  assert.equal(denial({ deny: ['false', named] }), `deny rule 1 denies it: ${named}; mcp.tool.name is "drop"`)
  assert.equal(
    denial({ require: ['true', 'jwt.sub == "ann"'] }),
    'require rule 1 must hold and does not: jwt.sub == "ann"; jwt.sub is "bob"'
  )
  const allow = ['a', 'b', 'c', 'd'].map((name) => `mcp.tool.name == "${name}"`)
  assert.match(denial({ allow }), /^no rule allows it: mcp\.tool\.name == "a"; .*is "drop", .*"b".*"c".*, and 1 more$/)
  assert.equal(
    denial({ deny: ['mcp.prompt.name == "x"'] }),
    'deny rule 0 fails: mcp.prompt.name == "x"; mcp.prompt.name is not there'
  )
  const read = denial({ deny: ['mcp.tool.arguments.table == "canary-no" || mcp.tool.arguments.table != ""'] })
  assert.match(read, /mcp\.tool\.arguments\.table is \(content, not shown\)/)
  const around = [
    'mcp.?tool.?arguments.?table.orValue("") != ""',
    'size(mcp.tool) > 1',
    '"tool" in mcp',
    'mcp[jwt.sub].a == 1'
  ]
  for (const require of around) {
    const text = denial({ require: [`!(${require})`] })
    assert.match(text, /mcp(?:\.tool)? is \(content, not shown\)/)
    assert.doesNotMatch(text, /arguments"|canary/)
  }
  assert.equal(denial({}), 'another way of writing it is not allowed')
})
