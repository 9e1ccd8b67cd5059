import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '#engine/kubernetes/objects/object.ts'
import { type Read, tracked } from '#engine/kubernetes/objects/objects.ts'
import { gatewayPolicy, secret, storeOf } from './cluster.fixture.ts'
import { Recall } from './recall.ts'

const POLICY = gatewayPolicy('a', {})

test('a result is made anew when something that was read for it is another object, and only then', () => {
  const recall = new Recall<number>()
  const store = storeOf(POLICY)
  let made = 0
  const count = () =>
    recall.of(POLICY, store, (objects) => {
      made++
      return (
        objects.list('Secret', 'default').length + (objects.get('ConfigMap', 'default', 'a') === undefined ? 0 : 10)
      )
    })
  assert.equal(count(), 0)
  store.set(secret('a', {}, { namespace: 'other' }))
  assert.equal(count(), 0)
  assert.equal(made, 1)
  store.set(secret('a', {}))
  assert.equal(count(), 1)
  store.set({ ...secret('a', {}), kind: 'ConfigMap' })
  assert.equal(count(), 11)
  store.delete(keyOf(secret('a', {})))
  assert.equal(count(), 10)
  assert.equal(made, 4)
})

test('who is given what is known has read what was read for it', () => {
  const recall = new Recall<number>()
  const store = storeOf(POLICY)
  const readsOfCall = () => {
    const reads = new Set<Read>()
    recall.of(POLICY, tracked(store, reads), (objects) => objects.list('Secret', 'default').length)
    return [...reads]
  }
  assert.deepEqual(readsOfCall(), ['Secret/default/*'])
  assert.deepEqual(readsOfCall(), ['Secret/default/*'])
})
