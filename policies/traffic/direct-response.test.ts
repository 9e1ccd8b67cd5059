import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STOP } from '#engine/contract/filter.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, failures, problemsOf, runRequest } from '#engine/testing/policy.ts'
import { directResponse } from './direct-response.ts'

test('the configured answer ends the exchange', () => {
  const ex = fakeExchange()
  assert.equal(runRequest(compilePolicy(directResponse, { status: 418, body: 'short and stout' }), ex), STOP)
  assert.deepEqual(ex.localReply, { status: 418, body: 'short and stout', contentType: null, headers: null })
})

test('there is no body when none is configured', () => {
  const ex = fakeExchange()
  runRequest(compilePolicy(directResponse, { status: 204 }), ex)
  assert.equal(ex.localReply!.body, null)
})

test('limits of spec section 8', () => {
  assert.deepEqual(problemsOf(directResponse, { status: 599, body: 'x'.repeat(4096) }), [])
  for (const config of [
    {},
    { status: 199 },
    { status: 600 },
    { status: '200' },
    { status: 200, body: '' },
    { status: 200, body: 'x'.repeat(4097) },
    { status: 200, text: 'x' }
  ]) {
    assert.equal(problemsOf(directResponse, config).length, 1, JSON.stringify(config).slice(0, 60))
  }
})

test('a body where HTTP allows none is refused', () => {
  for (const status of [204, 205, 304]) {
    assert.deepEqual(problemsOf(directResponse, { status, body: 'x' }), [
      'body: a response with status 204, 205 or 304 has no body'
    ])
  }
})

test('the body can be computed; one that cannot is 500 and counted', () => {
  const ex = fakeExchange({ target: '/who?x=1' })
  runRequest(compilePolicy(directResponse, { status: 200, bodyExpression: '{"path": request.path}' }), ex)
  assert.equal(ex.localReply?.body, '{"path":"/who"}')
  failures.length = 0
  const failing = fakeExchange()
  runRequest(compilePolicy(directResponse, { status: 200, bodyExpression: 'jwt.sub' }), failing)
  assert.deepEqual([failing.error, failures], ['INTERNAL', ['directResponse']])
  assert.deepEqual(problemsOf(directResponse, { status: 200, body: 'a', bodyExpression: '"b"' }), [
    ': must have at most one of body, bodyExpression'
  ])
})
