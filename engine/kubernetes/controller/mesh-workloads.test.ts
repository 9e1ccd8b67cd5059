/** Pods of a mesh and the endpoints that they are, at a double of an API server. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { OURS, object, startController, startServer } from './controller.fixture.ts'
import { POD } from './mesh-workloads.ts'

const DESTINATION = 'shop.demo.svc.cluster.local:80'
const SERVICE = object('Service', 'shop', { spec: { ports: [{ port: 80, targetPort: 8080 }] } })

const slice: KubernetesObject = {
  ...object('EndpointSlice', 'shop-1'),
  metadata: { name: 'shop-1', namespace: 'demo', labels: { 'kubernetes.io/service-name': 'shop' } },
  addressType: 'IPv4',
  ports: [{ name: '', port: 8080 }],
  endpoints: ['10.0.0.1', '10.0.0.2'].map((address) => ({ addresses: [address], conditions: { ready: true } }))
}

const pod = (
  name: string,
  podIP: string,
  spec: object = {},
  status: object = {},
  mode = 'istio'
): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'demo', labels: { 'security.istio.io/tlsMode': mode } },
  spec: { serviceAccountName: 'cart', containers: [], ...spec },
  status: { phase: 'Running', podIP, ...status }
})

const PARAMETERS = object('GatewayParameters', 'mesh', { spec: { istio: {} } })
const CLASS_OF_MESH = object('GatewayClass', 'weir', {
  spec: {
    controllerName: OURS,
    parametersRef: { group: 'weir.dev', kind: 'GatewayParameters', namespace: 'demo', name: 'mesh' }
  }
})

async function rig(t: TestContext, server: ApiServerDouble) {
  const { streams, started, logged } = startController(t, server)
  await started
  while (streams.length === 0) await immediate()
  const { published } = streams[0]!
  const identities = () =>
    published
      .at(-1)
      ?.published.endpoints[DESTINATION]?.map(({ identity = 'none' }) => identity)
      .join(' ')
  const until = async (text: string) => {
    while (identities() !== text) await immediate()
  }
  return { published, identities, until, logged }
}

const asksForPods = (server: ApiServerDouble) => server.calls.some(({ kind }) => kind.plural === POD.plural)

test('endpoints have the account of the pod that is there, and follow it', async (t) => {
  const server = await startServer(t, CLASS_OF_MESH, PARAMETERS, SERVICE, slice, pod('one', '10.0.0.1'))
  const { until } = await rig(t, server)
  await until('ns/demo/sa/cart none')
  server.add(pod('two', '10.0.0.2', { serviceAccountName: 'till' }))
  await until('ns/demo/sa/cart ns/demo/sa/till')
  // It is done, and its address may be another pod's by now.
  server.add(pod('one', '10.0.0.1', {}, { phase: 'Succeeded' }))
  await until('none ns/demo/sa/till')
  server.add(pod('three', '10.0.0.1', { serviceAccountName: 'next' }))
  await until('ns/demo/sa/next ns/demo/sa/till')
  // Out of the mesh, and with the address of its node, which has no sidecar.
  server.add(pod('three', '10.0.0.1', {}, {}, 'disabled'))
  server.add(pod('two', '10.0.0.2', { hostNetwork: true }))
  await until('none none')
})

test('pods are not read, and have no part in anything, while no Gateway is of a mesh', async (t) => {
  const server = await startServer(t, SERVICE, slice, pod('one', '10.0.0.1'))
  const { until } = await rig(t, server)
  await until('none none')
  assert.equal(asksForPods(server), false)
  const gatewayClass = server.add({ ...CLASS_OF_MESH })
  server.add(PARAMETERS)
  await until('ns/demo/sa/cart none')
  assert.equal(gatewayClass.kind, 'GatewayClass')
})

test('a Gateway of a mesh is not published before it is known who is there', async (t) => {
  const server = await startServer(t, CLASS_OF_MESH, PARAMETERS, SERVICE, slice, pod('one', '10.0.0.1'))
  server.refuse = ({ kind }) => (kind.plural === POD.plural ? { status: 403 } : null)
  const { published, until, logged } = await rig(t, server)
  await server.until(() => server.calls.filter(({ kind }) => kind.plural === POD.plural).length >= 2)
  assert.equal(published.length, 0)
  assert.match(logged.join('\n'), /warn pods: .*403/)
  server.refuse = () => null
  await until('ns/demo/sa/cart none')
  assert.ok(published.every(({ published: { endpoints } }) => endpoints[DESTINATION]?.[0]?.identity !== undefined))
})
