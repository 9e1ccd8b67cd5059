import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergePolicies } from './merge.ts'

test('the example of the specification: tcp from A and tls from B', () => {
  const a = { tcp: { keepalive: 1 }, tls: { min: 2 } }
  const b = { tls: { max: 3 } }
  assert.deepEqual(mergePolicies([a, b]), { tcp: { keepalive: 1 }, tls: { max: 3 } })
})

test('the most precise level wins: gateway, listener, route, rule', () => {
  const level = (value: string) => ({ hostRewrite: value, [value]: true })
  assert.deepEqual(mergePolicies([level('gateway'), level('listener'), level('route'), level('rule')]), {
    hostRewrite: 'rule',
    gateway: true,
    listener: true,
    route: true,
    rule: true
  })
})

test('levels are not changed, and a field without value is no policy', () => {
  const route = { a: 1 }
  assert.deepEqual(mergePolicies([route, { a: undefined, b: 2 }]), { a: 1, b: 2 })
  assert.deepEqual(route, { a: 1 })
  assert.deepEqual(mergePolicies([]), {})
})

test('accumulating policies become a list over the levels that have them', () => {
  const levels = [{ rules: ['a'], other: 1 }, {}, { rules: ['b'], other: 2 }]
  assert.deepEqual(mergePolicies(levels, new Set(['rules'])), { rules: [['a'], ['b']], other: 2 })
})
