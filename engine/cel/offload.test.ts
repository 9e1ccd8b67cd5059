import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityOf } from '#engine/contract/identity.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { fakePool } from '#engine/testing/pool.ts'
import { CelError, toJson, type Value } from './index.ts'
import { evaluation, type Phase } from './offload.ts'

function exchange(body: string | null) {
  const ex = fakeExchange({
    method: 'POST',
    target: '/v1?x=1',
    headers: [
      ['X-Tenant', 'blue'],
      ['X-Tenant', 'red']
    ]
  })
  identityOf(ex).jwt = { sub: 'alice' }
  ex.requestBytes = body === null ? null : Buffer.from(body)
  return ex
}

const SMALL = JSON.stringify({ items: [1, 2, 3] })
const LARGE = JSON.stringify({ items: Array.from({ length: 60_000 }, (_, i) => i) })
const ALL = 'json(request.body).items.all(i, i >= 0)'

test('an expression over a body leaves the thread when the body is large, and only then', async () => {
  const { jobs, run } = fakePool()
  const all = evaluation(ALL, 'request', 'bool', run)
  assert.equal(all.mayWait, true)
  assert.equal(all.run(exchange(SMALL)), true)
  assert.equal(jobs.length, 0)
  assert.equal(await all.run(exchange(LARGE)), true)
  assert.equal(jobs.length, 1)
  const cheap = evaluation('jwt.sub == "alice"', 'request', 'bool', run)
  assert.equal(cheap.mayWait, false)
  assert.equal(cheap.run(exchange(LARGE)), true)
  assert.equal(jobs.length, 1)
})

test('the request to a model is sent along when an expression reads it', async () => {
  const { jobs, run } = fakePool()
  const ex = exchange(LARGE)
  const constant = (value: readonly unknown[]) => () => value
  const request = () => ({ model: 'm', messages: [{ role: 'user' }] })
  const [prompt, completion, toolCalls, params] = [constant([1]), constant([2]), constant([3]), constant([4])]
  ex.llm = {
    content: { request, prompt, completion, toolCalls, params, serviceTier: () => 'flex', elsewhere: () => null }
  }
  for (const [source, wanted] of [
    ['[llmRequest.model, llmRequest.messages[0].role]', '["m","user"]'],
    ['[llm.prompt[0], llm.completion[0], llm.toolCalls[0], llm.serviceTier]', '[1,2,3,"flex"]']
  ] as const) {
    const whole = `json(request.body).items.all(i, i >= 0) ? ${source} : fail("no")`
    assert.equal(toJson(await evaluation(whole, 'response', 'any', run).run(ex)), wanted)
  }
  assert.equal(jobs.length, 2)
})

test('it gives the same there as here', async () => {
  const { jobs, run } = fakePool()
  const sources = [
    'request.method + request.uri + request.version + request.host + request.pathAndQuery',
    'request.headers["x-tenant"].join("+")',
    'jwt.sub + source.address + string(source.port)',
    'string(request.startTime)',
    '{"a": 1, "b": [1.5, true, null]}',
    'has(apiKey.id) || has(request.headers.none)',
    'size(request.body)'
  ]
  for (const source of sources) {
    const whole = `json(request.body).items.all(i, i >= 0) ? ${source} : fail("no")`
    const phase: Phase = 'request'
    const ex = exchange(LARGE)
    const here = evaluation(whole, phase, 'any', run).program.run(ex)
    const there = await evaluation(whole, phase, 'any', run).run(ex)
    assert.equal(toJson(there), toJson(here), source)
  }
  assert.equal(jobs.length, sources.length)
})

test('the response is there too, and one that was not is not', async () => {
  const { run } = fakePool()
  const source = 'response.code == 200 && response.headers.server == "x" && json(response.body).items.all(i, i >= 0)'
  const ex = exchange(null)
  ex.status = 200
  ex.response = fakeExchange({ headers: [['Server', 'x']] }).request
  ex.responseBytes = Buffer.from(LARGE)
  assert.equal(await evaluation(source, 'response', 'bool', run).run(ex), true)
})

const failure = (value: Value) => (value instanceof CelError ? value.message : 'no error')

test('an expression that fails or cannot run in the pool has failed', async () => {
  const { run } = fakePool()
  const wrong = evaluation('json(request.body).items.map(i, i / 0)[0] == 1', 'request', 'bool', run)
  assert.match(failure(await wrong.run(exchange(LARGE))), /division by zero/)
  const full = evaluation(ALL, 'request', 'bool', () => Promise.reject(new Error('the pool is full')))
  assert.equal(failure(await full.run(exchange(LARGE))), 'the pool is full')
})
