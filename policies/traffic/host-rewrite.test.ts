import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePolicy, problemsOf } from '#engine/testing/policy.ts'
import { hostRewrite } from './host-rewrite.ts'

test('Auto and None become settings of the route', () => {
  assert.deepEqual(compilePolicy(hostRewrite, 'Auto'), { settings: { hostRewrite: 'auto' } })
  assert.deepEqual(compilePolicy(hostRewrite, 'None'), { settings: { hostRewrite: 'none' } })
})

test('anything else is refused', () => {
  for (const config of ['auto', '', null, {}]) assert.equal(problemsOf(hostRewrite, config).length, 1)
})
