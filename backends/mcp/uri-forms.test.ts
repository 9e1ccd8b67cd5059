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

test('every expression takes time in proportion to a URI, whatever a caller writes', () => {
  for (const again of AGAIN) {
    assertLinear(JSON.stringify(again), 500, (size) => {
      for (const start of STARTS) for (const end of ENDS) uriForms(start + again.repeat(size) + end)
    })
  }
})

test('spaces and control characters around a URI are left out, and those within stay', () => {
  assert.ok(uriForms('\0 \u001fX:/a b \u0001 ').spelled.includes('x:/a b'))
  assert.deepEqual(uriForms(' ').spelled, [' ', ''])
})

test('a file of a host is also the file here: Python opens the path alone', () => {
  assert.ok(uriForms('file://x/etc/passwd').spelled.includes('file:///etc/passwd'))
  assert.ok(!uriForms('http://x/etc/passwd').spelled.includes('file:///etc/passwd'))
})

test('what is too long to be judged is not there for the caller', () => {
  const gate = compileRules({ allow: [], deny: ['mcp.resource.name == "x:y"'], require: [] })
  const reads = (name: string) => gate(fakeExchange({}), { kind: 'resource', name, target: 'a', arguments: undefined })
  assert.deepEqual([reads('x:'.padEnd(URI_MAX, 'a')), reads('x:'.padEnd(URI_MAX + 1, 'a'))], [true, false])
})
