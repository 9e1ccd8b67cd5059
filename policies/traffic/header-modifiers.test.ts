import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONTINUE } from '#engine/contract/filter.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, problemsOf, runRequest, runResponse } from '#engine/testing/policy.ts'
import { headerModifiers } from './header-modifiers.ts'

const received = [
  ['X-Keep', '1'],
  ['X-Set', 'old'],
  ['x-set', 'older'],
  ['X-Remove', 'gone'],
  ['X-Add', 'a']
] as const

test('add appends, set replaces every field, remove removes', () => {
  const ex = fakeExchange({ headers: received })
  const compiled = compilePolicy(headerModifiers, {
    request: { add: [{ name: 'x-add', value: 'b' }], set: { 'X-Set': 'new' }, remove: ['x-remove', 'X-Absent'] }
  })
  assert.equal(runRequest(compiled, ex), CONTINUE)
  assert.equal(ex.request.lines(), 'X-Keep: 1\r\nX-Add: a\r\nx-add: b\r\nX-Set: new\r\n')
  assert.equal(compiled.filter!.onResponse, undefined)
})

test('responses are edited too, local replies among them', () => {
  const ex = fakeExchange()
  const compiled = compilePolicy(headerModifiers, { response: { set: { server: 'weir' }, remove: ['x-powered-by'] } })
  ex.response = new HeaderBlock()
  ex.response.receive('X-Powered-By', 'PHP')
  ex.response.append('server', 'other')
  assert.equal(runResponse(compiled, ex), CONTINUE)
  assert.equal(ex.response.lines(), 'server: weir\r\n')
  assert.equal(compiled.filter!.onRequest, undefined)
})

test('host is the authority sent upstream, not a second field', () => {
  const ex = fakeExchange({ headers: [['Host', 'example.com']] })
  runRequest(compilePolicy(headerModifiers, { request: { set: { Host: 'other.example:8080', x: '1' } } }), ex)
  assert.equal(ex.upstreamHost, 'other.example:8080')
  assert.equal(ex.request.lines(), 'Host: example.com\r\nx: 1\r\n')
})

test('a list and a map give the same configuration', () => {
  const list = { response: { set: [{ name: 'A', value: '1' }] } }
  const map = { response: { set: { A: '1' } } }
  assert.deepEqual(headerModifiers.schema.parse(map), headerModifiers.schema.parse(list))
})

test('the aliases of the file name the side', () => {
  assert.deepEqual(
    headerModifiers.aliases.map(({ name, wrap }) => `${name} -> ${wrap}`),
    ['requestHeaderModifier -> request', 'responseHeaderModifier -> response']
  )
})

for (const name of [
  'Content-Length',
  'transfer-encoding',
  'Connection',
  'upgrade',
  'TE',
  'trailer',
  'keep-alive',
  'proxy-connection'
]) {
  test(`${name} is refused by name everywhere`, () => {
    const message = `${name.toLowerCase()} frames the message and cannot be modified`
    for (const side of ['request', 'response']) {
      const map = problemsOf(headerModifiers, { [side]: { set: { [name]: 'x' } } })
      assert.deepEqual(map, [`${side}.set.${name}: ${message}`])
      const list = problemsOf(headerModifiers, { [side]: { add: [{ name, value: 'x' }] } })
      assert.deepEqual(list, [`${side}.add.0.name: ${message}`])
      assert.deepEqual(problemsOf(headerModifiers, { [side]: { remove: [name] } }), [`${side}.remove.0: ${message}`])
    }
  })
}

test('values that would end the line early are refused, in both spellings', () => {
  // U+010A ends in the octet of a line feed when it is cut to Latin-1.
  for (const value of ['a\r\nb', 'a\nb', 'a\rb', 'a\0b', 'a\u010ab', '\x7f']) {
    for (const set of [{ x: value }, [{ name: 'x', value }]]) {
      const problems = problemsOf(headerModifiers, { request: { set } })
      assert.equal(problems.length, 1)
      assert.match(problems[0]!, /^request\.set\.(x|0\.value): must not contain CR, LF, NUL/)
    }
  }
  assert.deepEqual(problemsOf(headerModifiers, { request: { set: { x: 'caf\u00e9\t, "tea"', y: '' } } }), [])
})

test('names are header names, and host is a host', () => {
  for (const set of [{ 'a b': '1' }, { ':path': '1' }, { '': '1' }, { host: 'a b' }, { host: 'a/b' }]) {
    assert.notEqual(problemsOf(headerModifiers, { request: { set } }).length, 0, JSON.stringify(set))
  }
  assert.deepEqual(problemsOf(headerModifiers, { request: { remove: ['Host'] } }), [
    'request.remove.0: host cannot be removed: every request needs one'
  ])
})

test('1 to 16 entries each, and something to do', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, '1']))
  assert.deepEqual(
    problemsOf(headerModifiers, { request: { add: many(16), set: many(16), remove: Object.keys(many(16)) } }),
    []
  )
  assert.deepEqual(problemsOf(headerModifiers, { request: { set: many(17) } }), [
    'request.set: must have 1 to 16 entries'
  ])
  assert.deepEqual(problemsOf(headerModifiers, { request: { set: {} } }), ['request.set: must have 1 to 16 entries'])
  for (const config of [
    {},
    { request: {} },
    { request: { set: [] } },
    { request: { remove: Object.keys(many(17)) } }
  ]) {
    assert.equal(problemsOf(headerModifiers, config).length, 1)
  }
})
