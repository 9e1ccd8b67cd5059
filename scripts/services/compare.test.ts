import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Observed } from './case.ts'
import { CASES } from './cases.ts'
import { differences } from './compare.ts'
import { LISTED } from './differences.ts'

const seen = (headers: { readonly [name: string]: readonly string[] }, more: object = {}): Observed => ({
  service: [],
  backend: [{ line: 'GET /', headers, body: '' }],
  client: { status: 200 },
  ...more
})

test('a difference is named by its place, with both values', () => {
  const envoy = seen({ 'x-a': ['1', '2'], 'x-b': ['3'] })
  assert.deepEqual(differences(envoy, seen({ 'x-a': ['1', '2'], 'x-b': ['3'] })), [])
  assert.deepEqual(differences(envoy, seen({ 'x-a': ['1'], 'x-c': ['4'] })), [
    { at: 'backend.0.headers.x-a', envoy: ['1', '2'], weir: ['1'] },
    { at: 'backend.0.headers.x-b', envoy: ['3'], weir: undefined },
    { at: 'backend.0.headers.x-c', envoy: undefined, weir: ['4'] }
  ])
  const [refused] = differences(envoy, { ...envoy, backend: [] })
  assert.deepEqual(refused, { at: 'backend', envoy: envoy.backend, weir: [] })
  const [status] = differences(envoy, seen({ 'x-a': ['1', '2'], 'x-b': ['3'] }, { client: { status: 403 } }))
  assert.deepEqual(status, { at: 'client.status', envoy: 200, weir: 403 })
})

test('no two cases have one name, and what is listed is a case', () => {
  const names = CASES.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  const unknown = LISTED.flatMap(({ cases }) => cases.filter((name) => !names.includes(name)))
  assert.deepEqual(unknown, [])
})
