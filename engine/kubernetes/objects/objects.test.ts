import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KubernetesObject, keyOf } from './object.ts'
import { Memo, ObjectStore } from './objects.ts'

const service = (name: string, namespace = 'demo', port = 80): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { port }
})

test('objects are found by name, by namespace and by kind, until they are deleted', () => {
  const store = ObjectStore.of([service('a'), service('b'), service('a', 'other')])
  assert.equal(store.get('Service', 'other', 'a')?.metadata.namespace, 'other')
  assert.equal(store.list('Service').length, 3)
  assert.equal(store.list('Service', 'demo').length, 2)
  store.delete(keyOf(service('a', 'other')))
  assert.equal(store.get('Service', 'other', 'a'), undefined)
  assert.deepEqual(store.list('Service', 'other'), [])
})

test('a result is made anew when an object that it read changes, appears or goes, and only then', () => {
  const store = ObjectStore.of([service('a')])
  const memo = new Memo<number>()
  let made = 0
  const ports = () =>
    memo.of('ports', store, (objects) => {
      made++
      return ['a', 'missing'].filter((name) => objects.get('Service', 'demo', name) !== undefined).length
    })
  const change = (object: KubernetesObject) => {
    store.set(object)
    memo.changed([keyOf(object)])
  }
  assert.equal(ports(), 1)
  change(service('unrelated'))
  assert.equal(ports(), 1)
  assert.equal(made, 1)
  change(service('missing'))
  assert.equal(ports(), 2)
  assert.equal(made, 2)
})

test('who has read a list reads again when an object of its namespace changes', () => {
  const store = ObjectStore.of([service('a')])
  const memo = new Memo<number>()
  const count = () => memo.of('count', store, (objects) => objects.list('Service', 'demo').length)
  assert.equal(count(), 1)
  store.set(service('b'))
  memo.changed([keyOf(service('b', 'other'))])
  assert.equal(count(), 1)
  memo.changed([keyOf(service('b'))])
  assert.equal(count(), 2)
})
