/** What it costs to ask whether references into another namespace are granted, in reads of ReferenceGrants. */
import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { httpRoute, object } from '#engine/kubernetes/translation/cluster.fixture.ts'
import { isGranted } from './grants.ts'

const ROUTE = httpRoute('r', 'edge', [])
const FROM = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'demo' }
const of = (name: string) => ({ group: '', kind: 'Service', namespace: 'other', name })
const grant = (name: string, to: object, from: object = FROM): KubernetesObject =>
  object('ReferenceGrant', name, { spec: { from: [from], to: [to] } }, { namespace: 'other' })

test('1,000 ReferenceGrants are read once for 1,000 references', () => {
  let reads = 0
  const counted = (one: KubernetesObject): KubernetesObject =>
    new Proxy(one, {
      get: (held, key) => {
        if (key === 'spec') reads++
        return Reflect.get(held, key)
      }
    })
  const store = ObjectStore.of(
    Array.from({ length: 1_000 }, (_, i) => counted(grant(`g${i}`, { group: '', kind: 'Service', name: `s${i}` })))
  )
  for (let i = 0; i < 1_000; i++) equal(isGranted(ROUTE, of(`s${i}`), store), true)
  equal(isGranted(ROUTE, of('gone'), store), false)
  ok(reads <= 1_000, String(reads))
})

test('a grant is for its own kinds and namespaces; without a name, or with an empty one, for all', () => {
  const store = ObjectStore.of([
    grant('a', { group: '', kind: 'Service', name: 'a' }),
    grant('b', { group: '', kind: 'Secret' }),
    grant('c', { group: '', kind: 'Service', name: '' }, { ...FROM, namespace: 'third' })
  ])
  const isThere = (namespace: string, kind: string, name: string) =>
    isGranted({ ...ROUTE, metadata: { ...ROUTE.metadata, namespace } }, { ...of(name), kind }, store)
  equal(isThere('demo', 'Service', 'a'), true)
  equal(isThere('demo', 'Service', 'b'), false)
  equal(isThere('demo', 'Secret', 'b'), true)
  equal(isThere('third', 'Service', 'b'), true)
  equal(isThere('third', 'Secret', 'b'), false)
})
