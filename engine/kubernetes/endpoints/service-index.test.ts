import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { SERVICE_NAME } from './objects.ts'
import { ServiceIndex } from './service-index.ts'

const service = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'demo' },
  spec: { ports: [{ port: 80 }] }
})

const slice = (name: string, owner: string, ...addresses: string[]): KubernetesObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, namespace: 'demo', labels: { [SERVICE_NAME]: owner } },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints: addresses.map((address) => ({ addresses: [address] }))
})

function kept(...objects: KubernetesObject[]) {
  const store = ObjectStore.of(objects)
  const index = new ServiceIndex(store)
  index.update(null)
  return {
    store,
    index,
    set: (...changed: KubernetesObject[]) => {
      for (const one of changed) store.set(one)
      return [...index.update(changed.map(keyOf))]
    },
    remove: (...gone: KubernetesObject[]) => {
      for (const one of gone) store.delete(keyOf(one))
      return [...index.update(gone.map(keyOf))]
    },
    hosts: (name: string) =>
      index.endpoints(new Set([`demo/${name}`]))[`${name}.demo.svc.cluster.local:80`]?.map((at) => at.host)
  }
}

test('a change of a slice changes the Service that it belongs to, and the one that it belonged to', () => {
  const { hosts, set, remove } = kept(service('a'), service('b'), slice('a-1', 'a', '10.0.0.1'))
  assert.deepEqual([hosts('a'), hosts('b'), hosts('c')], [['10.0.0.1'], [], undefined])
  assert.deepEqual(set(slice('a-2', 'a', '10.0.0.2')), ['demo/a'])
  assert.deepEqual(hosts('a'), ['10.0.0.1', '10.0.0.2'])
  assert.deepEqual(set(slice('a-2', 'b', '10.0.0.2')).toSorted(), ['demo/a', 'demo/b'])
  assert.deepEqual([hosts('a'), hosts('b')], [['10.0.0.1'], ['10.0.0.2']])
  assert.deepEqual(remove(slice('a-1', 'a')), ['demo/a'])
  assert.deepEqual(remove(service('b')), ['demo/b'])
  assert.deepEqual([hosts('a'), hosts('b')], [[], undefined])
})

test('what is as before is the same list, and no change', () => {
  const { index, set } = kept(service('a'), slice('a-1', 'a', '10.0.0.1'))
  const before = index.endpoints(new Set(['demo/a']))
  assert.deepEqual(set({ ...slice('a-1', 'a', '10.0.0.1'), extra: 1 }), [])
  assert.deepEqual(set({ ...service('a'), status: {} }), [])
  const after = index.endpoints(new Set(['demo/a']))
  assert.equal(after['a.demo.svc.cluster.local:80'], before['a.demo.svc.cluster.local:80'])
})

test('a slice may come before its Service; after a new list of everything, what is missing has gone', () => {
  const { store, index, hosts, set } = kept()
  assert.deepEqual(set(slice('a-1', 'a', '10.0.0.1')), [])
  assert.deepEqual(set(service('a')), ['demo/a'])
  assert.deepEqual(hosts('a'), ['10.0.0.1'])
  store.delete(keyOf(slice('a-1', 'a')))
  assert.deepEqual([...index.update(null)], ['demo/a'])
  assert.deepEqual(hosts('a'), [])
  store.delete(keyOf(service('a')))
  assert.deepEqual([...index.update(null)], ['demo/a'])
  assert.equal(hosts('a'), undefined)
})

test('a slice over which weir stumbles is left out, and a Service keeps what it had', () => {
  const { set, hosts } = kept(service('shop'), slice('a', 'shop', '10.0.0.1'), slice('b', 'shop', '10.0.0.2'))
  const broken = (object: KubernetesObject, field: string): KubernetesObject =>
    Object.defineProperty({ ...object }, field, {
      enumerable: true,
      get: () => {
        throw new RangeError('no addresses')
      }
    })
  assert.deepEqual(set(broken(slice('a', 'shop'), 'endpoints')), ['demo/shop'])
  assert.deepEqual(hosts('shop'), ['10.0.0.2'])
  assert.deepEqual(set(broken(service('shop'), 'spec')), [])
  assert.deepEqual(hosts('shop'), ['10.0.0.2'])
})
