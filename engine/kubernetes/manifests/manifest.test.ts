import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { pathText } from '#engine/schema/placed.ts'
import { policies } from '#policies/index.ts'
import { isObject, readObjects } from './manifest.ts'

const RESOURCES = resourcesOf(policies, backends)
const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const read = (...documents: unknown[]) => readObjects(documents, RESOURCES)
const mistakesOf = (...documents: unknown[]) =>
  read(...documents).findings.map(
    ({ document, object, pathInObject, message, hint }) =>
      `${document} ${object}: ${pathText(pathInObject)}: ${message}${hint === undefined ? '' : ` (${hint})`}`
  )

const gateway = {
  apiVersion: GATEWAY_API,
  kind: 'Gateway',
  metadata: { name: 'edge', namespace: 'demo' },
  spec: { gatewayClassName: 'weir', listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }] }
}
const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, data: { a: 'YQ==', b: 'Yg==' } }

test('objects get what an API server writes: namespace, generation, defaults, data of Secrets', () => {
  const { objects, findings, notes } = read(gateway, { ...secret, stringData: { b: 'B', c: 'C' } }, null)
  assert.deepEqual(findings, [])
  const [edge, key] = objects
  assert.deepEqual(edge?.metadata, { name: 'edge', namespace: 'demo', generation: 1, uid: 'Gateway/demo/edge' })
  const { listeners } = edge!.spec as { readonly listeners: readonly object[] }
  assert.deepEqual(listeners[0], { ...gateway.spec.listeners[0], allowedRoutes: { namespaces: { from: 'Same' } } })
  assert.equal(key?.metadata.namespace, 'default')
  assert.deepEqual([key?.data, key?.stringData], [{ a: 'YQ==', b: 'Qg==', c: 'Qw==' }, undefined])
  assert.deepEqual(notes, [])
})

test('a class and a parent that are not there are named, with their fields', () => {
  const doubtsOf = (...documents: unknown[]) => read(...documents).doubts
  const route = (parentRefs: readonly object[]) => ({
    ...{ apiVersion: GATEWAY_API, kind: 'HTTPRoute', metadata: { name: 'shop', namespace: 'demo' } },
    spec: { parentRefs }
  })
  assert.deepEqual(doubtsOf(gateway, route([{ name: 'edge' }, { group: '', kind: 'Service', name: 'mesh' }])), [])
  assert.deepEqual(doubtsOf({ ...gateway, spec: { ...gateway.spec, gatewayClassName: 'wier' } }), [
    'Gateway demo/edge: spec.gatewayClassName: there is no GatewayClass wier among the resources: it is taken for a class of weir; the one that is installed is called weir'
  ])
  assert.deepEqual(doubtsOf(gateway, route([{ name: 'edge' }, { name: 'egde' }])), [
    'HTTPRoute demo/shop: spec.parentRefs[1].name: there is no Gateway demo/egde among the resources: nothing is served for it; did you mean Gateway demo/edge?'
  ])
  assert.deepEqual(doubtsOf(route([{ name: 'edge' }])), [], 'without any Gateway that is told once')
})

test('namespaces and classes of the objects are there, once', () => {
  const spec = { controllerName: 'example.com/other' }
  const other = { apiVersion: GATEWAY_API, kind: 'GatewayClass', metadata: { name: 'weir' }, spec }
  const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo', labels: { team: 'a' } } }
  const { objects, notes } = read(gateway, other, space)
  assert.deepEqual(notes, [])
  assert.deepEqual(
    objects.map(({ kind, metadata: { name, labels } }) => [kind, name, labels]),
    [
      ['Gateway', 'edge', undefined],
      ['GatewayClass', 'weir', undefined],
      ['Namespace', 'demo', { team: 'a', 'kubernetes.io/metadata.name': 'demo' }]
    ]
  )
})

test('objects of lists, also of lists in lists, have their places', () => {
  const list = { apiVersion: 'v1', kind: 'List', items: [secret, { apiVersion: 'v1', kind: 'List', items: [gateway] }] }
  const { places, findings } = read(null, list)
  assert.deepEqual(findings, [])
  assert.deepEqual(places.get('Gateway/demo/edge'), { document: 1, path: ['items', 1, 'items', 0] })
  assert.deepEqual(mistakesOf({ ...list, items: [{ ...secret, metadata: {} }] }), [
    '0 Secret without a name: metadata.name: is required'
  ])
})

test('kinds and versions that are not read are named; what is not for a gateway is ignored, in one sentence', () => {
  const of = (apiVersion: string, kind: string) => ({ apiVersion, kind, metadata: { name: 'x' } })
  assert.deepEqual(mistakesOf(of(GATEWAY_API, 'HTTPRout'), of('weir.dev/v1', 'GatewayBackend'), of('v2', 'Service')), [
    '0 HTTPRout x: kind: is no kind of gateway.networking.k8s.io that weir reads (did you mean HTTPRoute?)',
    '1 GatewayBackend x: apiVersion: is a version of GatewayBackend that weir does not read (write weir.dev/v1alpha1)',
    '2 Service x: apiVersion: is a version of Service that weir does not read (write v1)'
  ])
  assert.deepEqual(mistakesOf(of('v1', 'HTTPRoute')), [
    `0 HTTPRoute x: apiVersion: has no kind HTTPRoute (write ${GATEWAY_API})`
  ])
  assert.deepEqual(mistakesOf({ kind: 'Gateway' }, 'text'), [
    '0 Gateway without a name: : is no resource: it has no apiVersion and kind',
    '1 : : is no resource: it has no apiVersion and kind'
  ])
  const older = read({ ...gateway, apiVersion: 'gateway.networking.k8s.io/v1beta1' })
  assert.equal(older.objects[0]?.apiVersion, GATEWAY_API)
  const { notes, objects } = read(of('apps/v1', 'Deployment'), of('apps/v1', 'Deployment'), of('v1', 'Pod'))
  assert.deepEqual(notes, ['resources that are not for a gateway are ignored: 2 Deployment (apps/v1), Pod (v1)'])
  assert.deepEqual(objects, [])
})

test('mistakes of every group of kinds have their field; the rest is read', () => {
  const backend = {
    apiVersion: 'weir.dev/v1alpha1',
    kind: 'GatewayBackend',
    metadata: { name: 'models', annotations: null }
  }
  const models = { ai: { provider: { openai: {} } }, static: { host: 'a', port: 1 } }
  assert.deepEqual(mistakesOf({ ...backend, spec: models }, gateway), [
    '0 GatewayBackend models: spec: must have exactly one of static, dynamicForwardProxy, ai, mcp, not static and ai'
  ])
  assert.deepEqual(mistakesOf({ ...secret, data: { a: 'not base64' }, metadata: { name: 'A' } }), [
    '0 Secret A: metadata.name: must be the name of an object: a-z, 0-9, - and .',
    '0 Secret A: data.a: must be base64: plain text belongs below stringData'
  ])
  assert.deepEqual(mistakesOf(gateway, { ...gateway, metadata: { ...gateway.metadata, labels: { a: 1 } } }), [
    '1 Gateway demo/edge: metadata.labels.a: must be a text, not 1: put it in quotes'
  ])
  assert.deepEqual(mistakesOf(gateway, gateway), [
    '1 Gateway demo/edge: metadata.name: is given twice: keep one of them'
  ])
})

test('an object of any kind is recognized', () => {
  assert.ok(isObject({ apiVersion: 'apps/v1', kind: 'Deployment' }))
  for (const other of [null, [], 'x', { apiVersion: 'v1' }, { kind: 1, apiVersion: 'v1' }]) assert.ok(!isObject(other))
})
