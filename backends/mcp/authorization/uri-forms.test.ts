import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertLinear } from '#engine/testing/cpu.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compileRules } from './rules.ts'
import { URI_MAX, uriForms } from './uri-forms.ts'

/** Where a caller's URI can be long: what is before, what is said again and again, what ends it. */
const STARTS = ['', 'x:', 'x://', 'file://', 'http://', 'http://h/', 'http://h:', 'http://h/?', 'x:#', 'http://a.']
const AGAIN = [
  ...[' ', '\0', '\t', '@', '@[', '[', ':', '/', '/.', '/..', '.', '\\', '%2f', '%2e', '%41', '%ff', '%', '?', '#'],
  ...['a', 'a.', 'xn--', '.xn--', 'xn--a.', '-', '+', '1', ':1', 'A', 'é', '/a;', '%c3%a9', '@:']
]
const ENDS = ['', 'a', ':x', '\n', '"']

test('the time of every regular expression is linear in the URI', () => {
  for (const again of AGAIN) {
    assertLinear(JSON.stringify(again), 500, (size) => {
      for (const start of STARTS) for (const end of ENDS) uriForms(start + again.repeat(size) + end)
    })
  }
})

test('surrounding spaces and control characters are removed, inner ones stay', () => {
  assert.ok(uriForms('\0 \u001fX:/a b \u0001 ').spelled.includes('x:/a b'))
  assert.deepEqual(uriForms(' ').spelled, [' ', ''])
})

test('a file URL with a host is also the local file: Python opens the path alone', () => {
  assert.ok(uriForms('file://x/etc/passwd').spelled.includes('file:///etc/passwd'))
  assert.ok(!uriForms('http://x/etc/passwd').spelled.includes('file:///etc/passwd'))
})

test('a URI that is too long to be evaluated is hidden', () => {
  const gate = compileRules({ allow: [], deny: ['mcp.resource.name == "x:y"'], require: [] })
  const reads = (name: string) => gate(fakeExchange({}), { kind: 'resource', name, target: 'a', arguments: undefined })
  assert.deepEqual([reads('x:'.padEnd(URI_MAX, 'a')), reads('x:'.padEnd(URI_MAX + 1, 'a'))], [true, false])
})

/** Each: what a rule denies, and parts whose ways of writing may be put together in any combination. */
const WRITTEN: readonly (readonly [normal: string, ...parts: (readonly string[])[]])[] = [
  [
    'http://127.0.0.1/x%20y/z?q=%C3%A9',
    ['http', ' hT\ntp'],
    [':', ':/', '://', ':///', ':\\\\', ':/\t/'],
    ['127.0.0.1', '127.1', '2130706433', '0x7f.1', '017700000001', '%3127.1', '127.0.0.1.', '１２７.1'],
    ['', ':', ':80', ':0080'],
    ['/x y/', '/x%20y/', '\\x y\\', '/a/../x y/./', '/a/%2E%2e/x y/%2e/'],
    ['z?q=é', 'z?q=%C3%A9', 'z?q=\ré ']
  ],
  [
    'https://admin.example:81/%22a%22',
    ['https:', 'https://', 'https:\\/', 'Https:////'],
    ['admin.example', 'ADMIN.example', 'ad%6Din.example', 'ad\u00admin.example', 'ａdmin.example'],
    [':81', ':0081'],
    ['/"a"', '/%22a%22', '\\"a"', '/..//../"a"', '/./"a%22']
  ],
  ['http://[::1]/x', ['http:', 'http://'], ['[::1]', '[0:0:0:0:0:0:0:1]', '[::0.0.0.1]', '[0::01]'], ['/x', '/b/../x']],
  [
    'file:///C:/secret%20plans.txt',
    ['file:', 'FILE:', '\0file:'],
    ['', '/', '//', '///', '\\\\\\', '//localhost/', '//LOCALHOST/', '//loc%61lhost/'],
    ['C:', 'C|'],
    ['/secret plans.txt', '/secret%20plans.txt', '/a/../../secret plans.txt', '\\secret plans.txt']
  ],
  [
    'file:///etc/passwd',
    ['file:', 'fi\tle:'],
    ['', '/', '///', '//localhost/'],
    ['etc/', 'x/../etc/', '../etc\\'],
    ['passwd']
  ],
  [
    'notes://H/caf%C3%A9/%3Cb%3E',
    ['notes', 'NOTES', 'No\tTes'],
    ['://H/'],
    ['', 'x/../', './', '%2e/'],
    ['café', 'caf%C3%A9'],
    ['/<b>', '/%3Cb>']
  ],
  ['memo:a%C3%A9 b', ['memo:', 'Memo:', ' memo:'], ['a'], ['é b', '%C3%A9 b', '%C3%A9\n b']]
]

const combined = (parts: readonly (readonly string[])[]): string[] =>
  parts.reduce<string[]>((starts, part) => starts.flatMap((start) => part.map((more) => start + more)), [''])

const gateOf = (some: { allow?: string[]; deny?: string[] }) => {
  const gate = compileRules({ allow: [], deny: [], require: [], ...some })
  const ex = fakeExchange({})
  return (name: string) => gate(ex, { kind: 'resource', name, target: 'a', arguments: undefined })
}

test('all forms that a URL parser takes for the same are denied together', () => {
  for (const [normal, ...parts] of WRITTEN) {
    const uris = combined(parts).filter((uri) => URL.parse(uri)?.href === normal)
    assert.ok(uris.length > 8 && uris.length * 2 > combined(parts).length, `${normal}: ${uris.length}`)
    const text = JSON.stringify(normal)
    const start = JSON.stringify(normal.slice(0, -2))
    for (const deny of [`mcp.resource.name == ${text}`, `mcp.resource.name.startsWith(${start})`]) {
      const [reads, isSpared] = [gateOf({ deny: [deny] }), gateOf({ allow: [`!(${deny})`] })]
      for (const uri of [normal, ...uris])
        assert.deepEqual([reads(uri), isSpared(uri)], [false, false], `${deny}: ${uri}`)
    }
    const other = gateOf({ deny: [`mcp.resource.name == "${normal}x"`] })
    for (const uri of uris) assert.equal(other(uri), true, uri)
  }
})

test('a plain URI is one that a URL parser leaves unchanged', () => {
  const schemes = ['file', 'db', 'x-y', 'http', 'https', 'wss', 'ftp']
  const hosts = [
    '',
    'a',
    'a.b',
    '127.1',
    '1',
    '0x7f',
    'a.1',
    'a.b1',
    'a-b.c',
    'localhost',
    'xn--a',
    'a.xn--b',
    'a.0xb',
    'xn--bcher-kva.example'
  ]
  const paths = [
    '',
    '/',
    '/a',
    '/C:/x',
    '/a//b',
    '/a/..',
    '/a:b@c',
    "/~a!$&'()*+,;=b",
    '/a.',
    '/.a',
    '/...',
    '/a|',
    '/é'
  ]
  for (const scheme of schemes) {
    for (const uri of hosts.flatMap((host) => paths.map((path) => `${scheme}://${host}${path}`))) {
      if (uriForms(uri).spelled.length > 1 || uriForms(uri).suspected.length > 0) continue
      assert.equal(URL.parse(uri)?.href ?? uri, uri)
    }
  }
  assert.deepEqual(uriForms('db://orders/1').spelled, ['db://orders/1'])
  assert.deepEqual(uriForms('file:///srv/a.txt').spelled, ['file:///srv/a.txt'])
  assert.deepEqual(uriForms('https://a-b.example/a').suspected, [])
})

test('an allow rule covers what URL parsers leave unchanged: capitals of a host, no path, its own scheme', () => {
  const cases: [rule: string, meant: string[], not: string[]][] = [
    ['startsWith("db://Orders/")', ['db://Orders/1', 'db://Orders/%31'], ['db://orders/1', 'DB://Orders']],
    ['matches("^db://[a-z]+$")', ['db://orders'], ['db://Orders', 'db://orders/']],
    ['startsWith("pg://u@DB:5432/")', ['pg://u@DB:5432/t'], ['pg://u@DB:5432']],
    ['startsWith("db://Orders/a/")', ['db://Orders/a/1'], ['db://Orders/a/..%2F1', 'db://Orders/a/%2e%2E/1']],
    ['startsWith("Screen:")', ['Screen:1', 'Screen:a/b'], ['SCREEN:1', 'screen:1']],
    ['startsWith("Screen://A/")', ['Screen://A/1'], ['Screen://a/1', 'Screen://A', 'SCREEN://A/1']],
    ['startsWith("http://h/")', ['http://h/x', 'http://h/'], ['http://H/x', 'http:/h/x']],
    [
      'startsWith("notes://h/a b") || mcp.resource.name.startsWith("notes://h/a%20b")',
      ['notes://h/a b'],
      ['notes://h/a']
    ]
  ]
  for (const [rule, meant, not] of cases) {
    const source = `mcp.resource.name.${rule}`
    const reads = gateOf({ allow: [source] })
    const gate = compileRules({ allow: [], deny: [], require: [source] })
    const isRequired = (name: string) =>
      gate(fakeExchange({}), { kind: 'resource', name, target: 'a', arguments: undefined })
    for (const uri of meant) assert.deepEqual([reads(uri), isRequired(uri)], [true, true], `${rule}: ${uri}`)
    for (const uri of not) assert.deepEqual([reads(uri), isRequired(uri)], [false, false], `${rule}: ${uri}`)
  }
  // Lower case is another way of writing for rules that deny: a server may look up its host so.
  assert.equal(gateOf({ deny: ['mcp.resource.name == "db://orders/"'] })('DB://Orders'), false)
  assert.equal(gateOf({ allow: ['!mcp.resource.name.startsWith("db://Secret")'] })('DB://Secret/x'), false)
})
