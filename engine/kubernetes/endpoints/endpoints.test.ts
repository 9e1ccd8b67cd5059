import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { endpointsOf, hostsForZone, type ServiceEndpoint } from './endpoints.ts'
import type { EndpointSlice, Service, SliceEndpoint } from './objects.ts'

const service = (spec: Service['spec']): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop', namespace: 'demo' },
  spec: { ports: [{ port: 8080, targetPort: 80 }], ...spec }
})

const slice = (endpoints: readonly SliceEndpoint[], rest: Partial<EndpointSlice> = {}): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'shop-1', namespace: 'demo' },
  addressType: 'IPv4',
  ports: [{ name: '', port: 80, protocol: 'TCP' }],
  endpoints,
  ...rest
})

const NAME = 'shop.demo.svc.cluster.local:8080'
const labels = (list: readonly ServiceEndpoint[] = []) => list.map(({ host, port }) => `${host} ${port}`)
const hosts = (spec: Service['spec'], ...slices: EndpointSlice[]) => labels(endpointsOf(service(spec), slices)[NAME])
const at = (address: string, conditions?: SliceEndpoint['conditions']): SliceEndpoint => ({
  addresses: [address],
  ...(conditions === undefined ? {} : { conditions })
})

describe('endpoints of a Service', () => {
  test('are those that are ready; what a slice does not say is so', () => {
    const found = hosts({}, slice([at('10.0.0.2', { ready: true }), at('10.0.0.1'), at('10.0.0.3', { ready: false })]))
    assert.deepEqual(found, ['10.0.0.1 80', '10.0.0.2 80'])
  })

  test('are those that end and serve still, when none is ready', () => {
    const ending = [
      at('10.0.0.1', { ready: false, serving: true, terminating: true }),
      at('10.0.0.2', { ready: false, serving: false, terminating: true }),
      at('10.0.0.3', { ready: false, serving: true, terminating: false })
    ]
    assert.deepEqual(hosts({}, slice(ending)), ['10.0.0.1 80'])
    assert.deepEqual(hosts({}, slice([...ending, at('10.0.0.4')])), ['10.0.0.4 80'])
  })

  test('are all of them where the Service publishes those that are not ready', () => {
    assert.deepEqual(hosts({ publishNotReadyAddresses: true }, slice([at('10.0.0.3', { ready: false })])), [
      '10.0.0.3 80'
    ])
  })

  test('have the port that its slice gives the port of this name', () => {
    const ports = [
      { name: 'http', port: 8080, targetPort: 'web' },
      { name: 'admin', port: 9090, targetPort: 'web' },
      { name: 'dns', port: 53, protocol: 'UDP' }
    ]
    const named = slice([at('10.0.0.1')], {
      ports: [
        { name: 'http', port: 3000 },
        { name: 'admin', port: 3001, protocol: 'TCP' },
        { name: 'dns', port: 53, protocol: 'UDP' }
      ]
    })
    const found = endpointsOf(service({ ports }), [named], 'k8s.example')
    assert.deepEqual(
      Object.entries(found).map(([name, list]) => [name, labels(list)]),
      [
        ['shop.demo.svc.k8s.example:8080', ['10.0.0.1 3000']],
        ['shop.demo.svc.k8s.example:9090', ['10.0.0.1 3001']]
      ]
    )
  })

  test('have the number of targetPort, or else of the Service, where the slice means every port', () => {
    const every = slice([at('10.0.0.1')], { ports: [{ name: '' }] })
    assert.deepEqual(hosts({}, every), ['10.0.0.1 80'])
    assert.deepEqual(hosts({ ports: [{ port: 8080, targetPort: 'web' }] }, every), ['10.0.0.1 8080'])
  })

  test('are of every family, once each, and what is no address of its slice is left out', () => {
    const found = hosts(
      {},
      slice([at('10.0.0.1'), at('fd00::1'), at('127.1'), { addresses: [] }]),
      slice([at('10.0.0.1'), { addresses: ['10.0.0.2', '10.0.0.9'] }]),
      slice([at('FD00::2'), at('10.0.0.7')], { addressType: 'IPv6' }),
      slice([at('Db.Example.com')], { addressType: 'FQDN' }),
      slice([at('10.0.0.8')], { addressType: 'Carrier' })
    )
    assert.deepEqual(found, ['10.0.0.1 80', '10.0.0.2 80', 'db.example.com. 80', 'fd00::2 80'])
  })

  test('are names of nothing in the cluster: what a slice says needs no grant', () => {
    const inside = [
      'vault.other.svc.cluster.local',
      'VAULT.other.svc.Cluster.local.',
      '10-0-0-1.other.pod.cluster.local'
    ]
    const names = [...inside, 'vault.other.svc', 'vault'].map((name) => at(name))
    assert.deepEqual(hosts({}, slice(names, { addressType: 'FQDN' })), ['vault. 80', 'vault.other.svc. 80'])
  })

  test('of workloads of a mesh have their identity however they are written', () => {
    const written = ['fd00:0:0::5', 'FD00::5', '::ffff:a00:5'].map((address) => at(address))
    const found = endpointsOf(service({}), [slice(written, { addressType: 'IPv6' })], 'cluster.local', (address) =>
      ['fd00::5', '10.0.0.5'].includes(address) ? 'ns/shop/sa/cart' : undefined
    )
    assert.deepEqual(labels(found[NAME]), ['10.0.0.5 80', 'fd00::5 80'])
    assert.ok(found[NAME]!.every(({ identity }) => identity === 'ns/shop/sa/cart'))
  })

  test('none: an empty list. ExternalName: no list at all', () => {
    assert.deepEqual(endpointsOf(service({}), []), { [NAME]: [] })
    assert.deepEqual(endpointsOf(service({ type: 'ExternalName' }), [slice([at('10.0.0.1')])]), {})
    assert.deepEqual(endpointsOf({ ...service({}), spec: {} }, []), {})
  })

  test('of a headless Service are the same', () => {
    const headless = { ...service({}), spec: { clusterIP: 'None', ports: [{ port: 8080, targetPort: 80 }] } }
    assert.deepEqual(labels(endpointsOf(headless, [slice([at('10.0.0.1')])])[NAME]), ['10.0.0.1 80'])
  })
})

describe('hints for zones', () => {
  const hinted = (address: string, ...zones: string[]): SliceEndpoint => ({
    ...at(address),
    hints: { forZones: zones.map((name) => ({ name })) }
  })
  const near = (endpoints: readonly SliceEndpoint[], zone: string) =>
    hostsForZone(endpointsOf(service({}), [slice(endpoints)])[NAME]!, zone).map(({ host }) => host)

  test('choose the endpoints of the zone of the data plane', () => {
    const all = [hinted('10.0.0.1', 'a'), hinted('10.0.0.2', 'b', 'a'), hinted('10.0.0.3', 'b')]
    assert.deepEqual(near(all, 'a'), ['10.0.0.1', '10.0.0.2'])
    assert.equal(near(all, 'c').length, 3)
    assert.equal(near(all, '').length, 3)
    assert.equal(near([...all, at('10.0.0.4')], 'a').length, 4)
  })
})
