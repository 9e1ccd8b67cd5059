import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addRules } from '#backends/mcp/config/add-rules.ts'
import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import { MCP_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import { identityOf } from '#engine/contract/identity.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compileRules } from './rules.ts'

const rules = (some: Partial<McpRules>): McpRules => ({ allow: [], deny: [], require: [], ...some })
const tool = (name: string, target = 'a'): McpItem => ({ kind: 'tool', name, target })
const prompt = (name: string, target = 'a'): McpItem => ({ kind: 'prompt', name, target })

/** What of `items` passes, as "kind name". */
function seen(some: Partial<McpRules> | null, items: readonly McpItem[], jwt: Record<string, unknown> | null = null) {
  const gate = compileRules(some === null ? null : rules(some))
  const ex = fakeExchange()
  identityOf(ex).jwt = jwt
  return items.filter((item) => gate(ex, item)).map(({ kind, name }) => `${kind} ${name}`)
}

const ALL = [tool('add'), tool('echo'), prompt('greet')]
const EVERYTHING = ['tool add', 'tool echo', 'prompt greet']

test('without rules everything is allowed, and with an empty set', () => {
  assert.deepEqual(seen(null, ALL), EVERYTHING)
  assert.deepEqual(seen({}, ALL), EVERYTHING)
})

test('the rule forms of the specification (5.6): by subject, list, role, method and nested claim', () => {
  const cases: [rule: string, jwt: Record<string, unknown>, expected: string[]][] = [
    ['jwt.sub == "ann" && mcp.tool.name == "add"', { sub: 'ann' }, ['tool add']],
    ['jwt.sub == "ann" && mcp.tool.name == "add"', { sub: 'bob' }, []],
    ['mcp.tool.name in ["echo", "other"]', {}, ['tool echo']],
    ['"admin" in jwt.roles', { roles: ['admin'] }, EVERYTHING],
    ['"admin" in jwt.roles', { roles: [] }, []],
    ['jwt.email.endsWith("@a.example")', { email: 'x@a.example' }, EVERYTHING],
    ['jwt.nested.key == "v"', { nested: { key: 'v' } }, EVERYTHING],
    ['jwt.nested.key == "v"', {}, []],
    ['mcp.tool.name == "echo"', {}, ['tool echo']]
  ]
  for (const [rule, jwt, expected] of cases) assert.deepEqual(seen({ allow: [rule] }, ALL, jwt), expected, rule)
})

test('items that no true rule names are hidden, and a rule that names tools is not true for prompts', () => {
  assert.deepEqual(seen({ allow: ['mcp.tool.name != "add"'] }, ALL), ['tool echo'])
  assert.deepEqual(seen({ allow: ['mcp.tool.name == "add"', 'mcp.prompt.name.startsWith("g")'] }, ALL), [
    'tool add',
    'prompt greet'
  ])
  assert.deepEqual(seen({ allow: ['mcp.tool.name == "add" || mcp.prompt.name == "greet"'] }, ALL), [
    'tool add',
    'prompt greet'
  ])
})

test('a deny rule about tools does not affect prompts; one that fails denies', () => {
  assert.deepEqual(seen({ deny: ['mcp.tool.name == "add"'] }, ALL), ['tool echo', 'prompt greet'])
  assert.deepEqual(seen({ deny: ['mcp.tool.name.startsWith("a") && jwt.level < 3'] }, ALL), [
    'tool echo',
    'prompt greet'
  ])
  assert.deepEqual(seen({ deny: ['jwt.banned'] }, ALL), [])
  assert.deepEqual(seen({ deny: ['jwt.banned == true'] }, ALL, { banned: false }), EVERYTHING)
  // It asks what there is, so it speaks of prompts too: what fails in it denies them.
  assert.deepEqual(seen({ deny: ['!has(mcp.tool.name)'] }, ALL), ['tool add', 'tool echo'])
  assert.deepEqual(seen({ deny: ['!has(mcp.tool.name) && jwt.sub == "x"'] }, ALL), ['tool add', 'tool echo'])
})

test('each of the required rules must be true, and deny wins over allow', () => {
  const require = ['jwt.sub != ""', 'jwt.level > 1']
  assert.deepEqual(seen({ require }, ALL, { sub: 'a', level: 2 }), EVERYTHING)
  assert.deepEqual(seen({ require }, ALL, { sub: 'a', level: 1 }), [])
  assert.deepEqual(seen({ require }, ALL, { level: 2 }), [])
  assert.deepEqual(seen({ allow: ['true'], deny: ['mcp.tool.name == "echo"'] }, ALL), ['tool add', 'prompt greet'])
})

test('target, arguments and method are available, and the exchange is unchanged afterwards', () => {
  const ex = fakeExchange()
  const gate = compileRules(rules({ allow: ['mcp.tool.target == "b" && mcp.tool.arguments.amount < 10'] }))
  const call = (amount: number): McpItem => ({ ...tool('pay', 'b'), arguments: { amount } })
  assert.deepEqual([gate(ex, call(5)), gate(ex, call(50)), gate(ex, tool('pay', 'a'))], [true, false, false])
  // Of a list there are no arguments.
  assert.equal(gate(ex, tool('pay', 'b')), false)
  assert.equal(ex.mcp, null)
  const item = tool('other')
  ex.mcp = { method: 'tools/list', item }
  const use = ex.mcp
  assert.equal(compileRules(rules({ allow: ['mcp.methodName == "tools/list"'] }))(ex, tool('x')), true)
  assert.equal(ex.mcp, use)
  assert.equal(use.item, item)
})

test('sets of several levels add up', () => {
  const both = addRules(
    rules({ allow: ['mcp.tool.name == "add"'] }),
    null,
    rules({ allow: ['mcp.tool.name == "echo"'] })
  )
  assert.deepEqual(seen(both, ALL), ['tool add', 'tool echo'])
  const denied = addRules(both, rules({ deny: ['mcp.tool.name == "echo"'] }))
  assert.deepEqual(seen(denied, ALL), ['tool add'])
  assert.equal(addRules(null, null), null)
})

test('a rule with names is indexed by them, with the same result as one that is evaluated for every item', () => {
  const sources = [
    'mcp.tool.name == "add"',
    '"add" == mcp.tool["name"]',
    'mcp.tool.name in ["add", jwt.tool]',
    'jwt.ok && mcp.tool.name in ["add", "echo"] && mcp.tool.target == "a"',
    'mcp.prompt.name == "greet"',
    'mcp.tool.name == mcp.tool.name',
    'mcp.resource.name == "add"'
  ]
  const items = [...ALL, tool('add', 'b'), tool(''), prompt('add')]
  const jwt = { ok: true, tool: 'echo' }
  for (const source of sources) {
    // A choice is no name, so it is run for every item.
    const plain = `(${source}) ? true : false`
    for (const key of ['allow', 'deny'] as const) {
      assert.deepEqual(seen({ [key]: [source] }, items, jwt), seen({ [key]: [plain] }, items, jwt), `${key} ${source}`)
    }
  }
})

test('a thousand tools with a rule each are filtered without a million evaluations', () => {
  const items = Array.from({ length: 1000 }, (_, i) => tool(`t${i}`))
  const allow = items.map(({ name }) => `jwt.sub == "ann" && mcp.tool.name == "${name}"`)
  const gate = compileRules(rules({ allow }))
  let runs = 0
  const ex = fakeExchange()
  Object.defineProperty(identityOf(ex), 'jwt', {
    get: () => {
      runs++
      return { sub: 'ann' }
    }
  })
  assert.equal(items.filter((item) => gate(ex, item)).length, 1000)
  assert.equal(runs, 1000)
})

test('a rule cannot read bodies, and names of fields are proposed', () => {
  const problem = (source: string) => {
    try {
      compileExpression(source, MCP_ROOTS, 'bool')
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.match(problem('request.body != ""'), /request.body cannot be read here/)
  assert.match(problem('mcp.tol.name == ""'), /mcp has no field "tol"; did you mean "tool"\?/)
  assert.match(problem('mcp.tool.nam == ""'), /did you mean "name"\?/)
  assert.match(problem('mpc.tool.name == ""'), /did you mean mcp\?/)
})

// --- resources, whose URIs can be written in many ways ---

const resource = (name: string): McpItem => ({ kind: 'resource', name, target: 'a' })
const reads = (some: Partial<McpRules>, uri: string) => seen(some, [resource(uri)]).length === 1

const SECRET = 'file:///srv/secret.txt'
/** The same file to servers that parse URLs, decode or look a path up. */
const TWINS = [
  ...[
    SECRET,
    'FILE:///srv/secret.txt',
    'File:///srv/secret.txt',
    'file:///srv/./secret.txt',
    'file:///srv/x/../secret.txt'
  ],
  ...['file:///srv/%73ecret.txt', 'file:///srv/secret%2Etxt', 'file:///srv/secret%2etxt', 'file:///srv//secret.txt'],
  ...[
    'file:////srv/secret.txt',
    'file:/srv/secret.txt',
    'file://localhost/srv/secret.txt',
    'file://LOCALHOST/srv/secret.txt',
    'file://x/srv/secret.txt',
    'file://x.example/srv//secret.txt',
    'FILE://u@x:80/srv/./secret.txt'
  ],
  ...[
    'file:///srv\\secret.txt',
    'file:///srv%2Fsecret.txt',
    'file:///srv%5Csecret.txt',
    'file:///x/..%2fsrv/secret.txt'
  ],
  ...[
    'file:///srv/%2e%2e/srv/secret.txt',
    'file:///%2e./srv/secret.txt',
    'file:///srv/secret.txt#a',
    'file:///srv/secret.txt?a'
  ],
  ...[' file:///srv/secret.txt', 'file:///srv/sec\tret.txt', 'file:///srv/secret.txt\n', 'fi\nle:///srv/secret.txt']
]

test('a deny rule for a resource applies to every form of its URI', () => {
  for (const uri of TWINS) {
    for (const rule of [
      `mcp.resource.name == "${SECRET}"`,
      `mcp.resource.name in ["x:y", "${SECRET}"]`,
      'mcp.resource.name.startsWith("file:///srv/secret")',
      'mcp.resource.name.matches("^file:///srv/s")'
    ]) {
      assert.equal(reads({ deny: [rule] }, uri), false, `${rule}: ${uri}`)
      assert.equal(reads({ require: [`!(${rule})`] }, uri), false, `required not: ${rule}: ${uri}`)
      assert.equal(reads({ allow: [`!(${rule})`] }, uri), false, `allowed unless: ${rule}: ${uri}`)
    }
    assert.equal(reads({ deny: [`mcp.resource.name == "${SECRET}x"`] }, uri), true, uri)
  }
})

test('an allow rule for a resource must be true for every form of its URI', () => {
  const below = { allow: ['mcp.resource.name.startsWith("file:///data/")'] }
  for (const uri of [
    'file:///data/a',
    'file:///data/a%20b',
    'file:///data/a/../b',
    'file:///data/a#b',
    'file:///data/a b'
  ]) {
    assert.equal(reads(below, uri), true, uri)
  }
  const away = ['../x', '%2e%2e/x', '..%2fx', 'a/..%2f..%2fx', '..\\x', '..%5cx', '.%2E/x', 'a/../../x']
  for (const rest of away) assert.equal(reads(below, `file:///data/${rest}`), false, rest)
  assert.equal(reads({ require: below.allow }, 'file:///data/..%2fx'), false)
})

test('a rule that names the text as sent allows it', () => {
  for (const uri of [
    'memo://Insights',
    'file:///data/a%20b',
    'test://x/A/../B',
    'postgres://u@DB:5432/t',
    'urn:X:y',
    'http://a'
  ]) {
    assert.equal(reads({ allow: [`mcp.resource.name == "${uri}"`] }, uri), true, uri)
    assert.equal(reads({ require: [`mcp.resource.name in ["${uri}"]`] }, uri), true, uri)
    assert.equal(reads({ allow: [`mcp.resource.name == "${uri}x"`] }, uri), false, uri)
  }
})

test('hosts of resources: case, default ports, user, final dot, names in Unicode', () => {
  const deny = ['mcp.resource.name.startsWith("https://admin.example/")']
  const twins = [
    'https://ADMIN.example/x',
    'https://admin.example:443/x',
    'https://u:p@admin.example/x',
    'https://admin.example./x'
  ]
  for (const uri of [...twins, 'HTTPS://admin.example', 'https:\\\\admin.example\\x'])
    assert.equal(reads({ deny }, uri), false, uri)
  assert.equal(
    reads({ deny: ['mcp.resource.name.contains("//bücher.example/")'] }, 'https://xn--bcher-kva.example/'),
    false
  )
  assert.equal(
    reads({ deny: ['mcp.resource.name.contains("//xn--bcher-kva.example/")'] }, 'https://BÜCHER.example'),
    false
  )
})

test('the path of the request is evaluated in every form too', () => {
  const gate = compileRules(rules({ deny: ['request.path == "/mcp/admin"'] }))
  const ex = fakeExchange({ target: '/mcp%2Fadmin' })
  assert.equal(gate(ex, tool('add')), true)
  ex.readings = ['/mcp%2Fadmin', '/mcp/admin']
  assert.equal(gate(ex, tool('add')), false)
})
