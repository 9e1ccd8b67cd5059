/** GRPCRoute, TLSRoute and TCPRoute, compiled to a Snapshot. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { compiled, object, service } from '#engine/kubernetes/testing/compiled.ts'

const REFS = [{ name: 'shop', port: 80 }]

const grpcRoute = (matches: readonly object[]) =>
  compiled(object('GRPCRoute', 'r', { spec: { rules: [{ matches, backendRefs: REFS }] } }), [service('shop')])

test('services and methods of gRPC are paths', () => {
  const method = (value: object) => grpcRoute([{ method: value }]).snapshot.binds[0]!.listeners[0]!.routes[0]!
  const paths = [
    { service: 'a.b.Echo', method: 'Get' },
    { service: 'a.b.Echo' },
    { method: 'Get' },
    { type: 'RegularExpression', service: 'a\\.b\\..*' },
    { type: 'RegularExpression', service: 'a|b', method: 'Get|Set' }
  ].map((value) => method(value).matches[0]!.path)
  deepEqual(paths, [
    { exact: '/a.b.Echo/Get' },
    { prefix: '/a.b.Echo' },
    { regex: '/(?:[^/]+)/(?:Get)' },
    { regex: '/(?:a\\.b\\..*)/(?:[^/]+)' },
    { regex: '/(?:a|b)/(?:Get|Set)' }
  ])
  deepEqual(method({ service: 'x' }).name, 'demo.r_grpc')
})

test('headers of gRPC, and a rule that matches everything', () => {
  const { snapshot, faults } = grpcRoute([{ headers: [{ name: 'Color', value: 'blue' }] }, {}])
  deepEqual(snapshot.binds[0]!.listeners[0]!.routes[0]!.matches, [
    { path: { prefix: '/' }, headers: [{ name: 'color', value: { exact: 'blue' } }], query: [] },
    { path: { prefix: '/' }, headers: [], query: [] }
  ])
  deepEqual(faults, [])
})

test('an expression for a method of gRPC that is none refuses its rule', () => {
  const { faults } = grpcRoute([{ method: { type: 'RegularExpression', method: '(' } }])
  deepEqual(faults, ['Accepted UnsupportedValue spec.rules[0].matches[0].method: is no RE2 expression'])
})

const streamRoute = (kind: 'TCPRoute' | 'TLSRoute', backendRefs: readonly object[]) => {
  const postgres = object('GatewayBackend', 'postgres', { spec: { static: { host: 'db.example', port: 5432 } } })
  const models = object('GatewayBackend', 'models', { spec: { ai: {} } })
  const objects = [service('shop', [{ name: 'h2c', port: 80, appProtocol: 'kubernetes.io/h2c' }]), postgres, models]
  return compiled(object(kind, 'r', { spec: { rules: [{ backendRefs }] } }), objects)
}
const WEIR = 'weir.dev'

test('connections go to Services and to servers, and of HTTP nothing is said', () => {
  const refs = [
    { ...REFS[0]!, weight: 3 },
    { group: WEIR, kind: 'GatewayBackend', name: 'postgres' }
  ]
  const { snapshot, faults } = streamRoute('TCPRoute', refs)
  deepEqual(snapshot.binds[0]!.listeners[0]!.tcpRoutes, [
    {
      name: 'demo.r_tcp',
      hostnames: [],
      backends: [
        { backend: 'demo.shop_80_stream', weight: 3, policies: {} },
        { backend: 'demo.postgres_stream', weight: 1, policies: {} }
      ]
    }
  ])
  const server = { kind: 'static', unixPath: null, policies: {} }
  deepEqual(snapshot.backends, {
    'demo.shop_80_stream': { ...server, host: 'shop.demo.svc.cluster.local', port: 80 },
    'demo.postgres_stream': { ...server, host: 'db.example', port: 5432 }
  })
  deepEqual(faults, [])
})

test('connections that cannot go anywhere are refused by weight', () => {
  const refs = [{ name: 'x', port: 80 }, { group: WEIR, kind: 'GatewayBackend', name: 'models' }, REFS[0]!]
  const { snapshot, faults } = streamRoute('TLSRoute', refs)
  const [route] = snapshot.binds[0]!.listeners[0]!.tcpRoutes
  deepEqual(
    route!.backends.map(({ backend }) => backend),
    ['demo.x_Service_invalid_BackendNotFound', 'demo.r_TLSRoute_invalid_InvalidKind', 'demo.shop_80_stream']
  )
  deepEqual(faults, [
    'ResolvedRefs BackendNotFound spec.rules[0].backendRefs[0].name: there is no Service demo/x',
    'ResolvedRefs InvalidKind spec.rules[0].backendRefs[1].name: connections of a TLSRoute go to Services, and to GatewayBackends with static'
  ])
  deepEqual(streamRoute('TCPRoute', []).snapshot.binds[0]!.listeners[0]!.tcpRoutes[0]!.backends, [
    { backend: 'demo.r_TCPRoute_invalid_NoBackendRefs', weight: 1, policies: {} }
  ])
})

test('TLS to a Service is that of its BackendTLSPolicy, and what cannot be secured may pass unread alone', () => {
  const validation = (more: object) => ({ hostname: 'db.example', ...more })
  const backends = [{ wellKnownCACertificates: 'System' }, { wellKnownCACertificates: 'x.example/own' }].map((one) => {
    const spec = { targetRefs: [{ group: '', kind: 'Service', name: 'shop' }], validation: validation(one) }
    const objects = [service('shop', [{ port: 80 }]), object('BackendTLSPolicy', 'tls', { spec })]
    const route = object('TLSRoute', 'r', { spec: { rules: [{ backendRefs: REFS }] } })
    return compiled(route, objects).snapshot.backends['demo.shop_80_stream'] as unknown as Record<string, unknown>
  })
  const [good, bad] = backends
  const tls = { hostname: 'db.example', ca: null, cert: null, key: null, subjectAltNames: null, verify: 'full' }
  deepEqual(good!.transport, { tls, tcp: null })
  const unread = { host: 'shop.demo.svc.cluster.local', port: 80 }
  const reference = 'BackendTLSPolicy demo/tls'
  deepEqual(bad, { kind: 'invalid', reference, reason: 'Invalid', unread, policies: {} })
})
