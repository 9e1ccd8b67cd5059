import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { share } from './share.ts'

const before = {
  routes: [
    { name: 'a', match: { path: '/a' }, ports: [1, 2] },
    { name: 'b', match: { path: '/b' }, ports: [] }
  ],
  other: { x: null, y: Number.NaN }
}

test('a part that is deeply equal is the same object as before', () => {
  assert.equal(share(before, structuredClone(before)), before)
})

test('a changed part is new, and its neighbours are the same objects as before', () => {
  const next = structuredClone(before)
  next.routes[1]!.match.path = '/c'
  const made = share(before, next)
  assert.deepEqual(made, next)
  assert.notEqual(made.routes, before.routes)
  assert.equal(made.routes[0], before.routes[0])
  assert.equal(made.routes[1]!.ports, before.routes[1]!.ports)
  assert.equal(made.other, before.other)
  assert.equal(before.routes[1]!.match.path, '/b')
})

test('entries with a name are found wherever they stand now', () => {
  const next = structuredClone(before)
  next.routes.unshift({ name: 'new', match: { path: '/' }, ports: [] })
  const made = share(before, next)
  assert.deepEqual(made, next)
  assert.equal(made.routes[1], before.routes[0])
  assert.equal(made.routes[2], before.routes[1])
})

test('the order of keys counts, and only plain data is compared deeply', () => {
  assert.deepEqual(Object.keys(share({ a: 1, b: 2 }, { b: 2, a: 1 })), ['b', 'a'])
  const next = { bytes: Buffer.from('a') }
  assert.equal(share({ bytes: Buffer.from('a') }, next).bytes, next.bytes)
  assert.equal(share(null, next), next)
  assert.deepEqual(share<unknown>({ 0: 'a', length: 1 }, ['a']), ['a'])
})

test('the result always equals the new value, and neither argument is changed', () => {
  const value = fc.jsonValue({ maxDepth: 4 })
  fc.assert(
    fc.property(value, value, (one, other) => {
      const copies = [JSON.stringify(one), JSON.stringify(other)]
      assert.equal(JSON.stringify(share(one, other)), copies[1])
      assert.deepEqual([JSON.stringify(one), JSON.stringify(other)], copies)
    })
  )
})
