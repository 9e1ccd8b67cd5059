import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePolicy, problemsOf } from '#engine/testing/policy.ts'
import { timeouts } from './timeouts.ts'

test('only what is given is set', () => {
  assert.deepEqual(compilePolicy(timeouts, { request: '1.5s' }), { settings: { requestTimeoutMs: 1500 } })
  assert.deepEqual(compilePolicy(timeouts, { request: '0s', backendRequest: '250ms' }), {
    settings: { requestTimeoutMs: 0, backendTimeoutMs: 250 }
  })
})

test('the alias of the file gives the same configuration', () => {
  const [alias] = timeouts.aliases
  assert.equal(alias!.name, 'timeout')
  const config = alias!.schema!.parse({ requestTimeout: '10s', backendRequestTimeout: '5s' })
  assert.deepEqual(config, timeouts.schema.parse({ request: '10s', backendRequest: '5s' }))
  assert.equal(alias!.schema!.safeParse({ request: '10s' }).success, false)
})

test('an invalid duration is refused', () => {
  assert.deepEqual(problemsOf(timeouts, {}), [': must have at least one of request, backendRequest'])
  assert.equal(problemsOf(timeouts, { request: '-1s' }).length, 1)
  assert.equal(problemsOf(timeouts, { request: 5 }).length, 1)
})
