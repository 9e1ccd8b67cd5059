import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { KINDS } from '#engine/kubernetes/objects/object.ts'
import type { Provisioned, ProvisionInput } from '#engine/kubernetes/provisioning/index.ts'
import type { ApiCall } from '#engine/kubernetes/testing/api-server/call.ts'
import type { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { OURS, object, startController, startServer } from './controller.fixture.ts'
import { PROVISIONED_KINDS } from './provisioned-kinds.ts'
import { CERTIFICATE_SECRET, CLUSTER_RULES, LEASE_NAME, OWN_RULES, type Rule } from './rules.ts'
import { STATUS_KINDS } from './status-writer.ts'

const OWN_NAMESPACE = 'weir-system'

/** "group resource verb" of all that the rules grant. */
const grants = (rules: readonly Rule[], where: string): string[] =>
  rules.flatMap(({ apiGroups: [group], resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${where}: ${group} ${resource} ${verb}`))
  )

/** What an API server asks RBAC for. */
function verbsOf(server: ApiServerDouble, { method, kind, namespace, name, query }: ApiCall): readonly string[] {
  const isThere = () => server.store.list(kind, namespace).some(({ metadata }) => metadata.name === name)
  if (method === 'GET' && name !== '') return ['get']
  if (method === 'GET') return [query.has('watch') ? 'watch' : 'list']
  if (method === 'PATCH') return query.has('fieldManager') && !isThere() ? ['patch', 'create'] : ['patch']
  return [{ POST: 'create', PUT: 'update', DELETE: 'delete' }[method] ?? method]
}

function grantedBy(rules: readonly Rule[], group: string, resource: string, verb: string, name: string): boolean {
  return rules.some(
    (rule) =>
      rule.apiGroups.includes(group) &&
      rule.resources.includes(resource) &&
      rule.verbs.includes(verb) &&
      (rule.resourceNames?.includes(name) ?? true)
  )
}

/** One object of each kind, or, the second time, none. */
function provisionAll({ gateway }: ProvisionInput): Provisioned {
  const owner = { uid: gateway.metadata.uid, controller: true }
  const metadata = { name: 'edge-weir', namespace: 'demo', ownerReferences: [owner] }
  const all = PROVISIONED_KINDS.map(({ apiVersion, kind }) => ({ apiVersion, kind, metadata, spec: {} }))
  return gateway.metadata.labels?.bare === undefined
    ? { objects: all, absent: [], faults: [] }
    : { objects: [], absent: all, faults: [] }
}

test('the rules are what the controller asks for, no less and no more', async (t) => {
  const others = STATUS_KINDS.filter((kind) => kind !== 'GatewayClass' && kind !== 'Gateway')
  const parametersRef = { group: 'weir.dev', kind: 'GatewayParameters', namespace: 'demo', name: 'mesh' }
  const server = await startServer(
    t,
    ...others.map((kind) => object(kind, 'one', { spec: {} })),
    // With a mesh, pods are read.
    object('GatewayClass', 'weir', { spec: { controllerName: OURS, parametersRef } }),
    object('GatewayParameters', 'mesh', { spec: { istio: {} } })
  )
  server.tokens.set('token', { username: 'controller' })
  const used = new Set<string>()
  const refused: string[] = []
  const inConflict = new Set<string>()
  server.refuse = (call) => {
    const group = call.kind.apiVersion.includes('/') ? call.kind.apiVersion.split('/')[0]! : ''
    const resource = call.subresource === '' ? call.kind.plural : `${call.kind.plural}/${call.subresource}`
    for (const verb of verbsOf(server, call)) {
      const isOwn = call.namespace === OWN_NAMESPACE && grantedBy(OWN_RULES, group, resource, verb, call.name)
      if (!isOwn && !grantedBy(CLUSTER_RULES, group, resource, verb, call.name)) {
        refused.push(`${group} ${resource} ${call.name} ${verb}`)
        return { status: 403 }
      }
      used.add(`${isOwn ? 'own' : 'cluster'}: ${group} ${resource} ${verb}`)
    }
    // Each status is in conflict once.
    if (call.subresource !== 'status' || inConflict.has(resource)) return null
    inConflict.add(resource)
    return { status: 409 }
  }
  const gone = (count: number) => server.calls.filter(({ method }) => method === 'DELETE').length === count
  const one = startController(t, server, { identity: 'one', provision: provisionAll })
  await one.started
  await server.until(() => inConflict.size === STATUS_KINDS.length)
  await server.until(() => STATUS_KINDS.every((kind) => server.store.list(KINDS[kind], '')[0]!.status !== undefined))
  while (one.streams.length === 0) await immediate()
  await one.streams[0]!.authenticate('unknown', 'demo/edge')
  await server.until(() => server.store.list(KINDS.Service, 'demo').length === 1)
  const gateway = server.store.get(KINDS.Gateway, 'demo', 'edge')
  server.add({ ...gateway, metadata: { ...gateway.metadata, labels: { bare: '' } } })
  await server.until(() => gone(PROVISIONED_KINDS.length))
  await one.controller.stop()
  // A certificate that is none is made anew.
  server.add({ ...server.store.get(KINDS.Secret, OWN_NAMESPACE, CERTIFICATE_SECRET), data: { 'tls.crt': 'x' } })
  const two = startController(t, server, { identity: 'two', provision: provisionAll })
  await two.started
  while (two.streams.length === 0) await immediate()
  assert.deepEqual(refused, [])
  assert.deepEqual(
    [...used].toSorted(),
    [...new Set([...grants(CLUSTER_RULES, 'cluster'), ...grants(OWN_RULES, 'own')])].toSorted()
  )
  assert.equal(
    server.calls.some(({ name }) => name === LEASE_NAME),
    true
  )
})
