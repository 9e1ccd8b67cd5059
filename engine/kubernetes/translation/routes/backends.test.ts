/** How Services are spoken to: appProtocol and BackendTLSPolicy, compiled to a Snapshot; statuses of the latter. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { compiled, object, service } from '#engine/kubernetes/testing/compiled.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import { backendTlsConditions } from './backend-tls-status.ts'

const CA = selfSigned(['ca.test']).cert
const OTHER = selfSigned(['other.test']).cert

const ROUTE = object('HTTPRoute', 'r', { spec: { rules: [{ backendRefs: [{ name: 'shop', port: 443 }] }] } })

interface ReachedTls {
  readonly hostname: string
  readonly ca: string | null
  readonly subjectAltNames: readonly string[] | null
}

interface Reached {
  readonly kind: string
  readonly host?: string
  readonly http?: { readonly version: string }
  readonly transport?: { readonly tls: ReachedTls | null }
  readonly reference?: string
  readonly reason?: string
}

/** The backend of the Service, and what was wrong. */
function reached(port: object, ...objects: readonly KubernetesObject[]) {
  const shop = service('shop', [{ name: 'https', port: 443, ...port }])
  const { snapshot, faults } = compiled(ROUTE, [shop, ...objects])
  return { backend: snapshot.backends['demo.shop_443'] as unknown as Reached, faults }
}

const PROTOCOLS: readonly (readonly [name: string, version: string | undefined, hasTls: boolean])[] = [
  ['', undefined, false],
  ['http', undefined, false],
  ['redis', undefined, false],
  ['kubernetes.io/h2c', 'HTTP2', false],
  ['kubernetes.io/ws', 'HTTP1', false],
  ['kubernetes.io/wss', 'HTTP1', true],
  ['HTTPS', undefined, true],
  ['grpc', 'HTTP2', false]
]

for (const [appProtocol, version, hasTls] of PROTOCOLS) {
  test(`appProtocol ${appProtocol}`, () => {
    const { backend } = reached({ appProtocol })
    equal(backend.http?.version, version)
    equal((backend.transport?.tls ?? null) !== null, hasTls)
    equal(backend.host, 'shop.demo.svc.cluster.local')
  })
}

test('a Service of type ExternalName is another server', () => {
  const spec = { type: 'ExternalName', externalName: 'api.example', ports: [] }
  const { snapshot } = compiled(ROUTE, [object('Service', 'shop', { spec })])
  equal((snapshot.backends['demo.shop_443'] as unknown as Reached).host, 'api.example')
})

const authorities = (name: string, pem: string) => object('ConfigMap', name, { data: { 'ca.crt': pem } })

interface Tls {
  readonly name?: string
  readonly sectionName?: string
  readonly created?: string
  readonly validation: object
}

function policy({ name = 'tls', sectionName, created, validation }: Tls): KubernetesObject {
  const target = { group: '', kind: 'Service', name: 'shop', ...(sectionName === undefined ? {} : { sectionName }) }
  const made = object('BackendTLSPolicy', name, { spec: { targetRefs: [target], validation } })
  return created === undefined ? made : { ...made, metadata: { ...made.metadata, creationTimestamp: created } }
}

const BY_CA = { hostname: 'a.example', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }] }

test('authorities of a ConfigMap, and a name that is sent and verified', () => {
  const { backend, faults } = reached({}, authorities('ca', CA), policy({ validation: BY_CA }))
  deepEqual(backend.transport?.tls, {
    hostname: 'a.example',
    ca: CA,
    cert: null,
    key: null,
    verify: 'full',
    subjectAltNames: null
  })
  deepEqual(faults, [])
})

test('authorities of several objects, Secrets among them, and other names to verify', () => {
  const data = { 'ca.crt': Buffer.from(OTHER).toString('base64') }
  const refs = [...BY_CA.caCertificateRefs, { group: '', kind: 'Secret', name: 'more' }]
  const subjectAltNames = [
    { type: 'Hostname', hostname: 'b.example' },
    { type: 'URI', uri: 'spiffe://mesh/ns/demo' }
  ]
  const validation = { ...BY_CA, caCertificateRefs: refs, subjectAltNames }
  const { backend } = reached({}, authorities('ca', CA), object('Secret', 'more', { data }), policy({ validation }))
  const tls = backend.transport!.tls!
  equal(tls.ca, CA + OTHER)
  deepEqual(tls.subjectAltNames, ['b.example', 'spiffe://mesh/ns/demo'])
})

const SYSTEM = { hostname: 'a.example', wellKnownCACertificates: 'System' }

test('authorities of the system', () => {
  const { backend } = reached({ appProtocol: 'https' }, policy({ validation: SYSTEM }))
  const tls = backend.transport!.tls!
  deepEqual([tls.ca, tls.hostname], [null, 'a.example'])
})

test('what is for a port is more precise, and of two for one target the older holds', () => {
  const named = (hostname: string) => ({ ...SYSTEM, hostname })
  const [old, young] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z']
  const policies = [
    policy({ name: 'whole', created: old, validation: named('whole') }),
    policy({ name: 'a', sectionName: 'https', created: young, validation: named('young') }),
    policy({ name: 'b', sectionName: 'https', created: old, validation: named('old') }),
    policy({ name: 'other', sectionName: 'metrics', created: old, validation: named('other') })
  ]
  const { backend } = reached({}, ...policies)
  equal(backend.transport?.tls?.hostname, 'old')
  const store = ObjectStore.of(policies)
  const texts = policies.map((one) => backendTlsConditions(one, store).map(({ reason }) => reason))
  deepEqual(texts, [
    ['Accepted', 'ResolvedRefs'],
    ['Conflicted', 'ResolvedRefs'],
    ['Accepted', 'ResolvedRefs'],
    ['Accepted', 'ResolvedRefs']
  ])
})

const ref = (kind: string, name: string, group = '') => ({
  hostname: 'a.example',
  caCertificateRefs: [{ group, kind, name }]
})

const REFUSED: readonly (readonly [
  title: string,
  validation: object,
  conditions: readonly string[],
  message: RegExp
])[] = [
  [
    'nothing there',
    ref('ConfigMap', 'x'),
    ['NoValidCACertificate', 'InvalidCACertificateRef'],
    /there is no ConfigMap demo\/x/
  ],
  [
    'no entry',
    ref('ConfigMap', 'empty'),
    ['NoValidCACertificate', 'InvalidCACertificateRef'],
    /ConfigMap demo\/empty has no entry ca.crt/
  ],
  [
    'no certificate in it',
    ref('ConfigMap', 'bad'),
    ['NoValidCACertificate', 'InvalidCACertificateRef'],
    /ca.crt of ConfigMap demo\/bad has no certificate/
  ],
  [
    'another kind',
    ref('Thing', 'x', 'x.example'),
    ['NoValidCACertificate', 'InvalidKind'],
    /x.example\/Thing holds no/
  ],
  [
    'other authorities',
    { hostname: 'a', wellKnownCACertificates: 'x.example/own' },
    ['Invalid', 'ResolvedRefs'],
    /System/
  ],
  [
    'a pattern for a name',
    { ...SYSTEM, subjectAltNames: [{ type: 'Hostname', hostname: '*.example' }] },
    ['Invalid', 'ResolvedRefs'],
    /no name that a certificate/
  ]
]

for (const [title, validation, conditions, message] of REFUSED) {
  test(`with ${title} nothing is sent in clear text`, () => {
    const one = policy({ validation })
    const objects = [object('ConfigMap', 'empty', { data: {} }), authorities('bad', 'no PEM')]
    const { backend } = reached({}, one, ...objects)
    deepEqual(backend, {
      kind: 'invalid',
      reference: 'BackendTLSPolicy demo/tls',
      reason: conditions[0],
      unread: null,
      policies: {}
    })
    const found = backendTlsConditions(one, ObjectStore.of([one, ...objects]))
    deepEqual(
      found.map(({ reason }) => reason),
      conditions
    )
    match(found.map((condition) => condition.message).join(' '), message)
  })
}

test('of several authorities those that are there are trusted', () => {
  const validation = { ...BY_CA, caCertificateRefs: [...BY_CA.caCertificateRefs, { kind: 'ConfigMap', name: 'x' }] }
  const one = policy({ validation })
  const { backend } = reached({}, authorities('ca', CA), one)
  equal(backend.transport?.tls?.ca, CA)
  const found = backendTlsConditions(one, ObjectStore.of([authorities('ca', CA)]))
  deepEqual(
    found.map(({ reason }) => reason),
    ['Accepted', 'InvalidCACertificateRef']
  )
})
