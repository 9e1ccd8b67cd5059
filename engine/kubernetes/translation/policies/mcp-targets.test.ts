import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { objectOf } from '#engine/schema/placed.ts'
import {
  build,
  findingsOf,
  gatewayBackend,
  gatewayPolicy,
  grant,
  OPTIONS,
  object,
  service,
  storeOf
} from './cluster.fixture.ts'
import { translateBackend } from './index.ts'

const MCP = { labels: { role: 'mcp' } }
const SERVICES = { matchLabels: { role: 'mcp' } }
const selected = (selector: object, ...more: object[]) =>
  gatewayBackend('tools', { mcp: { targets: [{ name: 'found', selector }, ...more] } })
const namespace = (name: string, labels: Readonly<Record<string, string>>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels }
})

function targetsOf(backend: ReturnType<typeof selected>, ...objects: readonly KubernetesObject[]) {
  const { entry, faults } = translateBackend(backend, storeOf(backend, ...objects), OPTIONS)
  const { targets } = objectOf(entry.value.mcp)
  return { targets: targets as Raw[] | undefined, faults: faults.map(({ reason, message }) => `${reason}: ${message}`) }
}

const addressOf = (target: Raw) => {
  const { host, port, path, protocol } = objectOf(target.static)
  return [target.name, host, port, protocol, path].filter((one) => one !== undefined).join(' ')
}

test('each port of a Service that speaks MCP is a target; protocol, path and name are its own', () => {
  const ports = [
    { name: 'http', port: 80 },
    { name: 'mcp', port: 8080, appProtocol: 'weir.dev/mcp' },
    { port: 8081, appProtocol: 'agentgateway.dev/mcp-sse' }
  ]
  const several = object('v1', 'Service', 'a', { spec: { ports } }, MCP)
  const annotated = service(
    'b',
    { port: 1, appProtocol: 'kgateway.dev/mcp' },
    { ...MCP, annotations: { 'weir.dev/mcp-path': 'v1/mcp', 'weir.dev/mcp-target-name': 'bee' } }
  )
  const other = service('c', { port: 1, appProtocol: 'weir.dev/mcp' }, { labels: { role: 'web' } })
  const { targets = [], faults } = targetsOf(selected({ services: SERVICES }), other, annotated, several)
  assert.deepEqual(targets.map(addressOf), [
    'a-mcp a.default.svc.cluster.local 8080 StreamableHTTP',
    'a-8081 a.default.svc.cluster.local 8081 SSE',
    'bee b.default.svc.cluster.local 1 StreamableHTTP /v1/mcp'
  ])
  assert.deepEqual(faults, [])
})

test('the only port of a Service speaks MCP; of several none does that does not say so', () => {
  const one = service('one', 8080, MCP)
  const ports = [{ port: 1 }, { port: 2 }]
  const two = object('v1', 'Service', 'two', { spec: { ports } }, MCP)
  const { targets = [] } = targetsOf(selected({ services: SERVICES }), one, two)
  assert.deepEqual(targets.map(addressOf), ['one-8080 one.default.svc.cluster.local 8080'])
})

test('without namespaces the own one is searched; others need a ReferenceGrant each', () => {
  const at = (name: string) => service('a', 80, { ...MCP, namespace: name })
  const namespaces = ['default', 'granted', 'closed', 'unlabelled'].map((name) =>
    namespace(name, name === 'unlabelled' ? {} : { team: 'a' })
  )
  const from = { group: 'weir.dev', kind: 'GatewayBackend', namespace: 'default' }
  const objects = [
    ...namespaces,
    ...['default', 'granted', 'closed', 'unlabelled'].map(at),
    grant('granted', from, { group: '', kind: 'Service' })
  ]
  const own = targetsOf(selected({ services: SERVICES }), ...objects)
  assert.deepEqual(own.targets?.map(addressOf), ['a-80 a.default.svc.cluster.local 80'])
  const all = targetsOf(selected({ services: SERVICES, namespaces: { matchLabels: { team: 'a' } } }), ...objects)
  assert.deepEqual(all.targets?.map(addressOf), [
    'default-a-80 a.default.svc.cluster.local 80',
    'granted-a-80 a.granted.svc.cluster.local 80'
  ])
  assert.deepEqual(all.faults, [
    'RefNotPermitted: Service closed/a is left out: no ReferenceGrant there lets GatewayBackends of default refer to it'
  ])
})

test('a backend whose selectors find nothing answers 500; beside other targets it is served', () => {
  const { targets, faults } = targetsOf(selected({ services: SERVICES }))
  assert.equal(targets, undefined)
  assert.deepEqual(faults, ['BackendNotFound: no Service has the labels of a selector: there is no MCP server to ask'])
  const beside = targetsOf(selected({ services: SERVICES }, { name: 'own', static: { host: 'own', port: 1 } }))
  assert.deepEqual(beside.targets?.map(addressOf), ['own own 1'])
})

test('what a selector finds never takes the name of a target that is written, and ends where the list does', () => {
  const services = Array.from({ length: 40 }, (_, i) => service(`s${String(i).padStart(2, '0')}`, 80, MCP))
  const own = { name: 's00-80', static: { host: 'own', port: 1 } }
  const { targets = [], faults } = targetsOf(selected({ services: SERVICES }, own), ...services)
  assert.equal(targets.length, 32)
  assert.deepEqual(targets.filter(({ name }) => name === 's00-80').map(addressOf), ['s00-80 own 1'])
  assert.match(faults.join(), /a backend has at most 32 targets: 8 of those found are left out/)
  const store = storeOf(selected({ services: SERVICES }, own), ...services)
  assert.deepEqual(
    findingsOf(build(store, ['default.tools'])).filter((one) => !one.includes('at most 32')),
    []
  )
})

test('a policy for the name of a selector is for all that it finds, and mistakes are those of the selector', () => {
  const backend = selected({ services: SERVICES })
  const wrong = service('b', 80, { ...MCP, annotations: { 'weir.dev/mcp-path': '/a b' } })
  const store = storeOf(
    backend,
    service('a', 80, MCP),
    wrong,
    gatewayPolicy('p', {
      targetRefs: [{ group: 'weir.dev', kind: 'GatewayBackend', name: 'tools', sectionName: 'found' }],
      backend: { auth: { key: 'a-key' } }
    })
  )
  const { entry } = translateBackend(backend, store, OPTIONS)
  const { targets } = objectOf(entry.value.mcp)
  assert.deepEqual(
    (targets as Raw[]).map(({ name, policies }) => [name, policies]),
    [['a-80', { auth: { key: 'a-key' } }]]
  )
  const places = entry.origins.filter(([path]) => path.join('.') === 'mcp.targets.0')
  assert.deepEqual(
    places.map(([, from]) => from.path),
    [['spec', 'mcp', 'targets', 0]]
  )
})
