import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateSample, type Sample, type SampleResult } from './sample.ts'
import type { SamplePlace } from './sample-places.ts'

const REQUEST = {
  url: 'http://shop.test:8080/a%20b?x=1',
  headers: { 'X-Team': 'red', 'x-many': ['a', 'b'] },
  body: '{"price":1.5}'
}
const SAMPLE: Sample = { request: REQUEST, jwt: { sub: 'ann', roles: ['admin'] }, source: { address: '10.1.2.3' } }

function resultOf(source: string, place: SamplePlace = 'request', sample: Sample = SAMPLE): unknown {
  const result = evaluateSample(source, place, sample)
  ok(result.ok, JSON.stringify(result))
  return result.error ?? result.value
}

function problemsOf(source: string, place: SamplePlace = 'request', sample: Sample = SAMPLE) {
  const result: SampleResult = evaluateSample(source, place, sample)
  ok(!result.ok, JSON.stringify(result))
  return result.problems.map(({ field, message, line, column }) => [field ?? `${line}:${column}`, message])
}

test('values are as a request would have them: header names in any case, what follows from the URL', () => {
  equal(resultOf('request.headers["x-team"] == "red" && request.headers["X-MANY"] == ["a", "b"]'), true)
  equal(
    resultOf('[request.host, request.hostname, request.path, request.rawPath].join(" ")'),
    'shop.test:8080 shop.test /a b /a%20b'
  )
  equal(resultOf('json(request.body).price + 1.0'), 2.5)
  equal(resultOf('"admin" in jwt.roles && cidr("10.0.0.0/8").containsIP(source.address)'), true)
  equal(resultOf('request.method + request.scheme'), 'GEThttp')
  equal(resultOf('request.method', 'request', { request: { ...REQUEST, method: 'PUT' } }), 'PUT')
})

test('types are those of the place: times are text, integers stay integers', () => {
  const llm = { timeToFirstToken: '1.5s', inputTokens: 3, routing: { figure: 2 } }
  const sample = { llm, request: { startTime: '2026-01-02T03:04:05Z' } }
  equal(resultOf('llm.timeToFirstToken > duration("1s") && llm.inputTokens / 2 == 1', 'log', sample), true)
  equal(resultOf('llm.routing.figure / 4.0', 'log', sample), 0.5)
  equal(resultOf('request.startTime.getFullYear()', 'log', sample), 2026)
})

test('what is read is listed, with what the sample has of it', () => {
  const result = evaluateSample('jwt.sub == "bob" || jwt.email == "x"', 'request', SAMPLE)
  ok(result.ok)
  deepEqual(result.reads, [{ name: 'jwt.sub', value: 'ann' }, { name: 'jwt.email' }])
  deepEqual([result.type, result.error?.code], ['bool', 'noSuchKey'])
  ok(result.cost.steps > 0 && result.cost.stepsMax === 100_000)
  const loop = evaluateSample('jwt.roles.exists(r, r == "admin")', 'request', SAMPLE)
  equal(loop.ok && loop.cost.perElement, 1)
})

test('mistakes have their place in the expression, or their field in the sample', () => {
  deepEqual(problemsOf('jwt.sub == "a" &&\n request.foo'), [['2:10', 'request has no field "foo"']])
  deepEqual(problemsOf('response.code == 200'), [['1:1', 'response cannot be read here']])
  equal(problemsOf('1 +').length, 1)
  deepEqual(problemsOf('true', 'log', { llm: { inputTokens: 'x', more: 1 }, nobody: {} }), [
    ['llm.inputTokens', 'must be a whole number'],
    ['llm.more', 'llm has no more here'],
    ['nobody', 'nothing is called nobody here']
  ])
  deepEqual(
    problemsOf('true', 'log', { llm: { timeToFirstToken: 'soon' }, request: [] }).map(([field]) => field),
    ['llm.timeToFirstToken', 'request']
  )
})

test('names of a prototype are none of the sample', () => {
  const hostile = JSON.parse('{"jwt": {"__proto__": {"sub": "root"}}, "__proto__": {"request": {}}}') as Sample
  deepEqual(problemsOf('jwt.sub == "root"', 'request', hostile), [['__proto__', 'nothing is called __proto__ here']])
  const { jwt } = hostile
  equal((resultOf('jwt.sub', 'request', { jwt }) as { code: string }).code, 'noSuchKey')
})

test('a run has the bounds of any other', () => {
  const list = Array.from({ length: 1_000 }, (_, i) => i)
  const result = evaluateSample('jwt.l.all(a, jwt.l.all(b, a + b >= 0))', 'request', { jwt: { l: list } })
  equal(result.ok && result.error?.code, 'cost')
})
