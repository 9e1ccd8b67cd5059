/** References to Services and GatewayBackends: what they are called in a configuration, or why they lead nowhere. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { faultText, OPTIONS, object, service } from '#engine/kubernetes/testing/compiled.ts'
import { namedBackend, serviceOf } from './names.ts'
import { type BackendRef, resolveBackendRef } from './references.ts'

const GATEWAY = 'gateway.networking.k8s.io'
const grant = (name: string, from: object, to: object) =>
  object('ReferenceGrant', name, { spec: { from: [from], to: [to] } }, 'other')
const HTTP = { group: GATEWAY, kind: 'HTTPRoute', namespace: 'demo' }

const OBJECTS = ObjectStore.of([
  service('shop', [80, { name: 'dns', port: 53, protocol: 'UDP' }]),
  ...['granted', 'closed', 'unnamed'].map((name) => service(name, [80], 'other')),
  object('Service', 'outside', { spec: { type: 'ExternalName', externalName: 'x.example' } }),
  object('GatewayBackend', 'models', { spec: {} }),
  object('GatewayBackend', 'theirs', { spec: {} }, 'other'),
  grant('a', HTTP, { group: '', kind: 'Service', name: 'granted' }),
  grant('b', { ...HTTP, kind: 'GRPCRoute' }, { group: '', kind: 'Service' }),
  grant('c', { ...HTTP, namespace: 'third' }, { group: '', kind: 'Service' }),
  grant('d', HTTP, { group: 'weir.dev', kind: 'GatewayBackend' })
])
const FROM = object('HTTPRoute', 'r', {})
const MODELS = { group: 'weir.dev', kind: 'GatewayBackend', name: 'models' }

const CASES: readonly (readonly [ref: BackendRef, name: string, fault?: string])[] = [
  [{ name: 'shop', port: 80 }, 'demo.shop_80'],
  [{ group: '', kind: 'Service', namespace: 'demo', name: 'shop', port: 80 }, 'demo.shop_80'],
  [{ name: 'outside', port: 443 }, 'demo.outside_443'],
  [MODELS, 'demo.models'],
  [{ name: 'granted', namespace: 'other', port: 80 }, 'other.granted_80'],
  [{ ...MODELS, namespace: 'other', name: 'theirs' }, 'other.theirs'],
  [
    { name: 'closed', namespace: 'other', port: 80 },
    'other.closed_Service_invalid_RefNotPermitted',
    'RefNotPermitted at.namespace: no ReferenceGrant in namespace other lets a HTTPRoute of demo refer to Service closed'
  ],
  [
    { name: 'x', port: 80 },
    'demo.x_Service_invalid_BackendNotFound',
    'BackendNotFound at.name: there is no Service demo/x'
  ],
  [
    { ...MODELS, name: 'x' },
    'demo.x_GatewayBackend_invalid_BackendNotFound',
    'BackendNotFound at.name: there is no GatewayBackend demo/x'
  ],
  [
    { group: 'x.example', kind: 'Thing', name: 'a' },
    'demo.a_Thing_invalid_InvalidKind',
    'InvalidKind at.kind: x.example/Thing is no kind of backend: Service and weir.dev/GatewayBackend are'
  ],
  [
    { name: 'shop', port: 81 },
    'demo.shop_Service_invalid_BackendNotFound',
    'BackendNotFound at.port: Service demo/shop has no port 81: it has 80, 53'
  ],
  [
    { name: 'shop' },
    'demo.shop_Service_invalid_BackendNotFound',
    'BackendNotFound at.port: port is required: Service demo/shop has the ports 80, 53'
  ],
  [
    { name: 'shop', port: 53 },
    'demo.shop_Service_invalid_UnsupportedProtocol',
    'UnsupportedProtocol at.port: port 53 of Service demo/shop is not of protocol TCP'
  ]
]

for (const [ref, name, fault] of CASES) {
  test(`a reference to ${JSON.stringify(ref)}`, () => {
    const resolved = resolveBackendRef(ref, FROM, OBJECTS, OPTIONS, ['at'])
    if ('name' in resolved) deepEqual([resolved.name, undefined], [name, fault])
    else deepEqual([resolved.invalid, faultText(resolved.fault)], [name, `ResolvedRefs ${fault}`])
  })
}

test('what a name stands for', () => {
  deepEqual(namedBackend('demo.models'), null)
  deepEqual(namedBackend('demo.my.models'), null)
  deepEqual(namedBackend('demo.shop_80'), { service: { namespace: 'demo', name: 'shop', port: 80 } })
  deepEqual(namedBackend('demo.shop_80_stream'), { stream: { namespace: 'demo', name: 'shop', port: 80 } })
  deepEqual(namedBackend('demo.my.db_stream'), { stream: { namespace: 'demo', name: 'my.db', port: null } })
  deepEqual(namedBackend('demo.x_Service_invalid_InvalidKind'), {
    invalid: { reference: 'Service demo/x', reason: 'InvalidKind' }
  })
  deepEqual(['demo.shop_80', 'demo.shop_80_stream', 'demo.db_stream', 'demo.models'].map(serviceOf), [
    { namespace: 'demo', name: 'shop' },
    { namespace: 'demo', name: 'shop' },
    null,
    null
  ])
})
