import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { LEASE } from '#engine/kubernetes/client/leader-election.ts'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { conditionOf, object, provisionOne, startController, startServer } from './controller.fixture.ts'

const ROUTE = object('HTTPRoute', 'shop', { spec: { rules: [] } })
const ADDRESS = { type: 'IPAddress', value: '192.0.2.1' } as const
const SERVICE = object('Service', 'shop', { spec: { ports: [{ port: 80 }] } })

const slice = (...addresses: string[]): KubernetesObject => {
  const { metadata, ...rest } = object('EndpointSlice', 'shop-1', {
    addressType: 'IPv4',
    ports: [{ port: 8080 }],
    endpoints: addresses.map((address) => ({ addresses: [address] }))
  })
  return { ...rest, metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'shop' } } }
}

const writes = ({ calls }: ApiServerDouble) => calls.filter(({ method }) => method !== 'GET').length

/** Something that everything has been done before. */
async function settled(server: ApiServerDouble, translator: { readonly updates: number }): Promise<void> {
  const { updates } = translator
  server.add(object('Namespace', `after-${updates}`))
  await until(() => translator.updates > updates)
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await immediate()
}

test('statuses are written, data planes provisioned; Programmed follows addresses and data planes', async (t) => {
  const server = await startServer(t, ROUTE)
  const { streams, started } = startController(t, server)
  await started
  const programmed = () => conditionOf(server, 'Gateway', 'edge', 'Programmed')
  const is = (text: string) => server.until(() => programmed() === text)
  await server.until(() => conditionOf(server, 'HTTPRoute', 'shop', 'Accepted') === 'True Accepted')
  await server.until(() => conditionOf(server, 'GatewayClass', 'weir', 'Accepted') === 'True Accepted')
  await is('False AddressNotAssigned Service demo/edge-weir has no address yet')
  await server.until(() => server.store.list(KINDS.Service, 'demo').length === 1)
  const service = server.store.get(KINDS.Service, 'demo', 'edge-weir')
  server.add({ ...service, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'lb.example' }] } } })
  await is('False Pending no data plane has put this generation in force yet')
  streams[0]!.say({ inForce: 1, refused: null })
  await is('True Programmed')
  assert.deepEqual((server.store.get(KINDS.Gateway, 'demo', 'edge').status as { addresses: unknown }).addresses, [
    { type: 'IPAddress', value: '192.0.2.1' },
    { type: 'Hostname', value: 'lb.example' }
  ])
  streams[0]!.say({ inForce: 1, refused: null }, { inForce: 1, refused: { version: 2, reason: 'port 80 is taken' } })
  await is('False Invalid data plane pod-1 goes on with what it has: port 80 is taken')
})

test('what a data plane refuses is said where it stands: by the Gateway, and by the route', async (t) => {
  const server = await startServer(t, ROUTE, object('HTTPRoute', 'other', { spec: { rules: [] } }))
  const { streams, translator, started } = startController(t, server, { provision: null, addresses: [ADDRESS] })
  const at = 'binds[0].listeners[0].routes[3]'
  translator.places = [
    ['binds[0].listeners[0]', 'Gateway demo/edge: spec.listeners[0]'],
    [at, 'HTTPRoute demo/shop: spec.rules[1]']
  ]
  await started
  await server.until(() => conditionOf(server, 'HTTPRoute', 'other', 'Accepted') === 'True Accepted')
  const reason = `${at}.policies.csrf: is not a policy of this version\n${at}: has no backend\nlisten EADDRINUSE: :::80`
  streams[0]!.say({ inForce: 0, refused: { version: 1, reason } })
  const one = 'HTTPRoute demo/shop: spec.rules[1]: is not a policy of this version'
  const all = `${one}; HTTPRoute demo/shop: spec.rules[1]: has no backend; listen EADDRINUSE: :::80`
  const gateway = `False Invalid data plane pod-0 goes on with what it has: ${all}`
  await server.until(() => conditionOf(server, 'Gateway', 'edge', 'Programmed') === gateway)
  const route = 'False Invalid spec.rules[1]: is not a policy of this version; spec.rules[1]: has no backend'
  await server.until(() => conditionOf(server, 'HTTPRoute', 'shop', 'Programmed') === route)
  assert.equal(conditionOf(server, 'HTTPRoute', 'shop', 'Accepted'), 'True Accepted')
  assert.equal(conditionOf(server, 'HTTPRoute', 'other', 'Programmed'), null)
  streams[0]!.say({ inForce: 1, refused: null })
  await server.until(() => conditionOf(server, 'HTTPRoute', 'shop', 'Programmed') === null)
  assert.equal(conditionOf(server, 'Gateway', 'edge', 'Programmed'), 'True Programmed')
})

test('of two Gateways whose data planes refuse a route each says so, and one that takes it leaves the other', async (t) => {
  const other = object('Gateway', 'other', { spec: { gatewayClassName: 'weir', listeners: [] } })
  const server = await startServer(t, ROUTE, other)
  const { streams, translator, started } = startController(t, server, { provision: null, addresses: [ADDRESS] })
  const at = 'binds[0].listeners[0].routes[0]'
  translator.places = [[at, 'HTTPRoute demo/shop: spec.rules[0]']]
  await started
  await server.until(() => conditionOf(server, 'HTTPRoute', 'shop', 'Accepted') === 'True Accepted')
  const [stream] = streams
  stream!.say({ inForce: 0, refused: { version: 1, reason: `${at}: has no backend` } })
  const programmed = () => conditionOf(server, 'HTTPRoute', 'shop', 'Programmed')
  const refusal = 'False Invalid spec.rules[0]: has no backend'
  await server.until(() => programmed() === refusal)
  const [plane] = stream!.planes
  stream!.planesOf = (gateway) => (gateway === 'demo/edge' ? [plane!] : [{ ...plane!, inForce: 1, refused: null }])
  stream!.onChange('demo/other')
  await server.until(() => conditionOf(server, 'Gateway', 'other', 'Programmed') === 'True Programmed')
  await settled(server, translator)
  assert.equal(programmed(), refusal)
})

test('what changes costs what it must: addresses no translation, and what is as before no write', async (t) => {
  const server = await startServer(t, ROUTE, SERVICE, slice('10.0.0.1'))
  const { streams, translator, started } = startController(t, server)
  await started
  await server.until(() => conditionOf(server, 'Gateway', 'edge', 'Programmed') !== null)
  await server.until(() => server.store.list(KINDS.Service, 'demo').length === 2)
  await settled(server, translator)
  await settled(server, translator)
  const [stream] = streams
  const [updates, count] = [translator.updates, stream!.published.length]
  server.add(slice('10.0.0.1', '10.0.0.2'))
  await until(() => stream!.published.length > count)
  const hosts = stream!.published.at(-1)!.published.endpoints['shop.demo.svc.cluster.local:80']
  assert.deepEqual(
    hosts?.map(({ host, port }) => `${host} ${port}`),
    ['10.0.0.1 8080', '10.0.0.2 8080']
  )
  assert.equal(translator.updates, updates)
  const before = writes(server)
  for (let i = 0; i < 5; i++) await settled(server, translator)
  assert.equal(writes(server), before)
})

test('of two controllers one writes and serves data planes; the other takes over', async (t) => {
  const server = await startServer(t)
  const one = startController(t, server, { identity: 'one' })
  await one.started
  await server.until(() => one.controller.isLeader && conditionOf(server, 'Gateway', 'edge', 'Accepted') !== null)
  const two = startController(t, server, { identity: 'two' })
  await two.started
  assert.equal(two.controller.isReady, true)
  await settled(server, two.translator)
  assert.equal(two.streams.length, 0)
  await one.controller.stop()
  assert.equal(one.streams[0]!.isClosed, true)
  assert.deepEqual((server.store.list(LEASE, '')[0]!.spec as { holderIdentity: string }).holderIdentity, '')
  server.add(ROUTE)
  await server.until(() => conditionOf(server, 'HTTPRoute', 'shop', 'Accepted') === 'True Accepted')
  assert.equal(two.streams.length, 1)
  assert.equal(one.streams.length, 1)
})

test('an API server that was gone finds its statuses written when it is back; data planes stay connected', async (t) => {
  const server = await startServer(t)
  const { streams, started, logged } = startController(t, server)
  await started
  await server.until(() => conditionOf(server, 'Gateway', 'edge', 'Programmed') !== null)
  await server.stop()
  const isLost = () => logged.filter((line) => line.includes('cannot be reached')).length
  await until(() => isLost() === 1)
  server.add(ROUTE)
  server.store.compact()
  await server.start()
  await server.until(() => conditionOf(server, 'HTTPRoute', 'shop', 'Accepted') === 'True Accepted')
  assert.equal(streams[0]!.isClosed, false)
  assert.equal(isLost(), 1)
})

test('a data plane is known by its ServiceAccount', async (t) => {
  const server = await startServer(t)
  const { streams, started, client } = startController(t, server)
  await started
  await server.until(() => conditionOf(server, 'Gateway', 'edge', 'Accepted') !== null)
  const account = (name: string) => ({ username: `system:serviceaccount:demo:${name}`, audiences: ['weir.dev'] })
  server.tokens.set('token', { username: 'controller' })
  server.tokens.set('right', account('edge-weir'))
  server.tokens.set('other', account('other'))
  server.tokens.set('elsewhere', { ...account('edge-weir'), audiences: ['another'] })
  const [stream] = streams
  const judged = await Promise.all(
    ['right', 'other', 'elsewhere', 'unknown'].map((token) => stream!.authenticate(token, 'demo/edge'))
  )
  assert.deepEqual(judged, [true, false, false, false])
  assert.equal(await stream!.authenticate('right', 'demo/another'), false)
  server.refuse = () => ({ status: 500 })
  await assert.rejects(stream!.authenticate('right', 'demo/edge'))
  client.close()
})

test('a Gateway of another class loses its data planes; what others own of these names stays', async (t) => {
  const server = await startServer(t)
  const { started, streams } = startController(t, server)
  await started
  const kindsOf = (method: string) =>
    server.calls.filter((call) => call.method === method && call.name === 'edge-weir').map(({ kind }) => kind.kind)
  await server.until(() => kindsOf('PATCH').length >= 3)
  // A Service whose owner is another one, which may not be changed.
  server.refuse = ({ kind, method }) => (kind.kind === 'Service' && method === 'PATCH' ? { status: 403 } : null)
  const service = server.store.get(KINDS.Service, 'demo', 'edge-weir')
  server.add({ ...service, metadata: { name: 'edge-weir', namespace: 'demo' } })
  const gateway = server.store.get(KINDS.Gateway, 'demo', 'edge')
  server.add({ ...gateway, spec: { ...(gateway.spec as object), gatewayClassName: 'other' } })
  await server.until(() => kindsOf('DELETE').length === 2)
  await server.until(() => kindsOf('GET').filter((kind) => kind === 'Service').length === 2)
  assert.deepEqual(kindsOf('DELETE'), ['ServiceAccount', 'Deployment'])
  assert.equal(server.store.list(KINDS.Service, 'demo').length, 1)
  assert.deepEqual(streams[0]!.removed, ['demo/edge'])
})

test('what the API server refuses of data planes is said by the Gateway, and not tried for ever', async (t) => {
  const server = await startServer(t)
  server.refuse = ({ kind, method }) => (kind.kind === 'Deployment' && method === 'PATCH' ? { status: 422 } : null)
  const { started, translator } = startController(t, server)
  await started
  const refused = () =>
    conditionOf(server, 'Gateway', 'edge', 'Accepted')?.startsWith('False InvalidParameters') === true
  await server.until(refused)
  const before = writes(server)
  for (let i = 0; i < 3; i++) await settled(server, translator)
  assert.equal(writes(server), before)
})

test('faults of provisioning are those of the Gateway', async (t) => {
  const server = await startServer(t)
  const place = { key: 'Gateway/demo/edge', path: ['spec', 'infrastructure'] } as const
  const fault = { type: 'Accepted', reason: 'InvalidParameters', message: 'there is no such image', place }
  const { started } = startController(t, server, {
    provision: (input) => ({ ...provisionOne(input), objects: [], faults: [fault] })
  })
  await started
  await server.until(() => conditionOf(server, 'Gateway', 'edge', 'Accepted')?.startsWith('False') === true)
  assert.equal(
    conditionOf(server, 'Gateway', 'edge', 'Accepted'),
    'False InvalidParameters spec.infrastructure: there is no such image'
  )
})

test('missing parameters are no reason for defaults: nothing is made, and what runs goes on', async (t) => {
  const server = await startServer(t)
  const infrastructure = { parametersRef: { group: 'weir.dev', kind: 'GatewayParameters', name: 'own' } }
  server.add(object('Gateway', 'meshed', { spec: { gatewayClassName: 'weir', listeners: [], infrastructure } }))
  const inputs: (string | undefined)[] = []
  const { translator, started } = startController(t, server, {
    provision: (input) => {
      if (input.gateway.metadata.name === 'meshed') inputs.push(input.gatewayParameters?.metadata.name)
      return provisionOne(input)
    }
  })
  await started
  await server.until(() => server.store.list(KINDS.Service, 'demo').length === 1)
  await settled(server, translator)
  assert.deepEqual(inputs, [])
  server.add(object('GatewayParameters', 'own', { spec: { istio: {} } }))
  await until(() => inputs.length > 0)
  server.store.delete(KINDS.GatewayParameters, 'demo', 'own')
  await settled(server, translator)
  assert.deepEqual([...new Set(inputs)], ['own'])
})

test('a fault of the translation ends nothing; the next change makes everything anew', async (t) => {
  const server = await startServer(t)
  const { started, translator, logged } = startController(t, server)
  await started
  server.add(object('ConfigMap', 'fault'))
  await until(() => logged.some((line) => line.includes('a fault of the translation')))
  server.store.delete(KINDS.ConfigMap, 'demo', 'fault')
  server.add(ROUTE)
  await server.until(() => conditionOf(server, 'HTTPRoute', 'shop', 'Accepted') === 'True Accepted')
  assert.ok(translator.updates >= 3)
})

test('addresses go on while the translation is faulty', async (t) => {
  const server = await startServer(t, SERVICE, slice('10.0.0.1'))
  const { started, translator, streams } = startController(t, server)
  await started
  await server.until(() => server.store.list(KINDS.Service, 'demo').length === 2)
  await settled(server, translator)
  server.add(object('ConfigMap', 'fault'))
  await settled(server, translator)
  server.add(slice('10.0.0.2'))
  const published = () => streams[0]!.published.at(-1)!.published.endpoints['shop.demo.svc.cluster.local:80']
  await until(() => published()?.[0]?.host === '10.0.0.2')
})

test('a Gateway for which provisioning stumbles is refused alone', async (t) => {
  const other = object('Gateway', 'other', { spec: { gatewayClassName: 'weir', listeners: [] } })
  const server = await startServer(t, other)
  const provision: typeof provisionOne = (input) => {
    if (input.gateway.metadata.name === 'other') throw new RangeError('of a secret')
    return provisionOne(input)
  }
  const { started, logged } = startController(t, server, { provision })
  await started
  await server.until(() => conditionOf(server, 'Gateway', 'edge', 'Accepted') === 'True Accepted')
  await server.until(() => /a fault of weir/.test(conditionOf(server, 'Gateway', 'other', 'Accepted') ?? ''))
  await server.until(() => server.store.list(KINDS.Service, 'demo').length === 1)
  assert.equal(logged.filter((line) => line.includes('a fault of weir')).length, 1)
  assert.equal(logged.join().includes('secret'), false)
})
