import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import {
  backendStatus as backendStatusSchema,
  policyStatus as policyStatusSchema
} from '#engine/kubernetes/resources/status.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { GATEWAY, gatewayBackend, gatewayPolicy, OPTIONS, object, storeOf } from './cluster.fixture.ts'
import { backendStatus, type PolicyTarget, policyStatus, translateBackend } from './index.ts'

const API = 'gateway.networking.k8s.io'
const ROUTE = { group: API, kind: 'HTTPRoute', name: 'shop' }
const CSRF = { traffic: { csrf: {} } }
const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` })

interface Case {
  readonly objects?: readonly KubernetesObject[]
  readonly gatewaysOf?: (target: PolicyTarget) => readonly KubernetesObject[]
  readonly faults?: readonly Fault[]
}

/** "Gateway edge: Accepted True Accepted, ..." of each ancestor. */
function shown(policy: KubernetesObject, { objects = [], gatewaysOf = () => [GATEWAY], faults = [] }: Case = {}) {
  const status = policyStatus(policy, storeOf(policy, ...objects), OPTIONS, { gatewaysOf, faults })
  const times = status.ancestors.map(({ conditions, ...rest }) => ({
    ...rest,
    conditions: conditions.map((one) => ({ ...one, lastTransitionTime: '2026-01-01T00:00:00Z' }))
  }))
  assert.deepEqual(policyStatusSchema().safeParse({ ancestors: times }).error?.issues, undefined)
  return status.ancestors.map(({ ancestorRef: { kind, name, sectionName }, controllerName, conditions }) => {
    assert.equal(controllerName, 'weir.dev/gateway-controller')
    assert.ok(conditions.every(({ observedGeneration }) => observedGeneration === 3))
    const all = conditions.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)
    return `${kind} ${name}${sectionName === undefined ? '' : `/${sectionName}`}: ${all.join(', ')}`
  })
}

const messagesOf = (
  policy: KubernetesObject,
  objects: readonly KubernetesObject[] = [],
  faults: readonly Fault[] = []
) =>
  policyStatus(policy, storeOf(policy, ...objects), OPTIONS, { gatewaysOf: () => [GATEWAY], faults }).ancestors.flatMap(
    ({ conditions }) => conditions.map(({ message }) => message)
  )

test('a policy in force is accepted and attached at the Gateways that act on its targets', () => {
  const policy = gatewayPolicy('a', { targetRefs: [ROUTE], ...CSRF })
  assert.deepEqual(shown(policy), ['Gateway edge: Accepted True Accepted, Attached True Attached'])
})

test('without a Gateway it is accepted at its target, and not attached', () => {
  const policy = gatewayPolicy('a', { targetRefs: [{ ...ROUTE, sectionName: 'rule-1' }], ...CSRF })
  assert.deepEqual(shown(policy, { gatewaysOf: () => [] }), [
    'HTTPRoute shop/rule-1: Accepted True Accepted, Attached False Pending'
  ])
})

test('a target that is not there, or a section of one, is not found', () => {
  const missing = gatewayPolicy('a', { targetRefs: [{ ...ROUTE, name: 'none' }], ...CSRF })
  assert.deepEqual(shown(missing), ['HTTPRoute none: Accepted False TargetNotFound, Attached False Pending'])
  assert.equal(messagesOf(missing)[0], 'there is no HTTPRoute default/none')
  const section = gatewayPolicy('b', { targetRefs: [{ ...ROUTE, sectionName: 'rule-9' }], ...CSRF })
  assert.deepEqual(shown(section), ['HTTPRoute shop/rule-9: Accepted False TargetNotFound, Attached False Pending'])
  assert.equal(messagesOf(section)[0], 'HTTPRoute default/shop has no section rule-9; there are: rule-1')
  const listener = { group: API, kind: 'Gateway', name: 'edge', sectionName: 'https' }
  assert.deepEqual(shown(gatewayPolicy('c', { targetRefs: [listener], ...CSRF })), [
    'Gateway edge: Accepted True Accepted, Attached True Attached'
  ])
})

test('a route that passes on what it does not read has no policies', () => {
  const stream = object('gateway.networking.k8s.io/v1', 'TCPRoute', 'stream', { spec: { rules: [] } })
  const policy = gatewayPolicy('a', { targetRefs: [{ group: API, kind: 'TCPRoute', name: 'stream' }], ...CSRF })
  assert.deepEqual(shown(policy, { objects: [stream] }), [
    'TCPRoute stream: Accepted False Invalid, Attached False Pending'
  ])
  assert.equal(messagesOf(policy, [stream])[0], 'policies act on requests, and what a TCPRoute passes on is not read')
})

test('what does not act on a backend is left out of it, and told; alone it is refused', () => {
  const plain = gatewayBackend('plain', { static: { host: 'a.example', port: 80 } })
  const tools = gatewayBackend('tools', { mcp: { targets: [{ name: 'one', static: { host: 'a', port: 80 } }] } })
  const checks = object('v1', 'Service', 'checks', { spec: { ports: [{ port: 80 }] } })
  const ai = { modelAliases: { a: 'b' } }
  const to = (name: string, sectionName?: string) => ({
    group: 'weir.dev',
    kind: 'GatewayBackend',
    name,
    ...(sectionName === undefined ? {} : { sectionName })
  })
  const objects = [plain, tools, checks]
  const texts = (spec: object) => shown(gatewayPolicy('a', spec), { objects })
  const attached = 'Attached True Attached'
  assert.deepEqual(texts({ targetRefs: [to('plain')], backend: { ai, tcp: { connectTimeout: '1s' } } }), [
    `Gateway edge: Accepted True PartiallyValid, ${attached}`
  ])
  const refused = ['Gateway edge: Accepted False Invalid, Attached False Pending']
  assert.deepEqual(texts({ targetRefs: [to('plain')], backend: { ai } }), refused)
  assert.deepEqual(texts({ targetRefs: [to('tools', 'one')], backend: { ai } }), refused)
  assert.deepEqual(texts({ targetRefs: [{ group: '', kind: 'Service', name: 'checks' }], backend: { ai } }), refused)
  assert.deepEqual(texts({ targetRefs: [to('tools')], backend: { tcp: { proxyProtocol: 'v2' } } }), refused)
  const policy = gatewayPolicy('a', { targetRefs: [to('plain')], backend: { ai, tcp: { connectTimeout: '1s' } } })
  const { entry } = translateBackend(plain, storeOf(policy, ...objects), OPTIONS)
  assert.deepEqual(entry.value.policies, { tcp: { connectTimeout: '1s' } })
})

test('a selector that finds nothing has no ancestors', () => {
  const selector = { group: API, kind: 'HTTPRoute', matchLabels: { team: 'none' } }
  assert.deepEqual(shown(gatewayPolicy('a', { targetSelectors: [selector], ...CSRF })), [])
})

test('a conflict is told to the newer one: of some fields beside what is in force, of all as the reason', () => {
  const older = gatewayPolicy('older', { targetRefs: [ROUTE], ...CSRF }, at(1))
  const some = gatewayPolicy('some', { targetRefs: [ROUTE], traffic: { csrf: {}, hostRewrite: 'Auto' } }, at(2))
  const all = gatewayPolicy('all', { targetRefs: [ROUTE], ...CSRF }, at(3))
  assert.deepEqual(shown(older, { objects: [some, all] }), [
    'Gateway edge: Accepted True Accepted, Attached True Attached'
  ])
  assert.deepEqual(shown(some, { objects: [older, all] }), [
    'Gateway edge: Accepted True Accepted, Attached True Attached, Conflicted True Conflicted'
  ])
  assert.deepEqual(shown(all, { objects: [older, some] }), [
    'Gateway edge: Accepted False Conflicted, Attached False Pending'
  ])
  assert.equal(
    messagesOf(all, [older, some])[0],
    'spec.traffic.csrf: GatewayPolicy default/older says it of the same target, and is older or the first by name'
  )
})

test('a conflict at one target is none at another of the same Gateway', () => {
  const other = object('gateway.networking.k8s.io/v1', 'HTTPRoute', 'other', { spec: { rules: [] } })
  const older = gatewayPolicy('older', { targetRefs: [ROUTE], ...CSRF }, at(1))
  const newer = gatewayPolicy('newer', { targetRefs: [ROUTE, { ...ROUTE, name: 'other' }], ...CSRF }, at(2))
  assert.deepEqual(shown(newer, { objects: [older, other] }), [
    'Gateway edge: Accepted True Accepted, Attached True Attached, Conflicted True Conflicted'
  ])
})

test('a policy that cannot be carried out is refused, with the place and the reason', () => {
  const invalid = gatewayPolicy('a', { targetRefs: [ROUTE], traffic: { hostRewrite: 'Sometimes' } })
  assert.deepEqual(shown(invalid), ['Gateway edge: Accepted False Invalid, Attached False Pending'])
  assert.match(messagesOf(invalid)[0]!, /^spec\.traffic\.hostRewrite: /)
  const secretRef = { name: 'missing' }
  const unresolved = gatewayPolicy('b', { targetRefs: [ROUTE], traffic: { basicAuthentication: { secretRef } } })
  assert.deepEqual(shown(unresolved), [
    'Gateway edge: Accepted False Invalid, Attached False Pending, ResolvedRefs False RefNotFound'
  ])
  const valid = gatewayPolicy('c', { targetRefs: [ROUTE], ...CSRF })
  const fault = (name: string): Fault => ({
    type: 'Accepted',
    reason: 'Invalid',
    message: 'was found by compiling',
    place: { key: `GatewayPolicy/default/${name}`, path: ['spec', 'traffic', 'csrf'] }
  })
  assert.deepEqual(shown(valid, { faults: [fault('c'), fault('other')] }), [
    'Gateway edge: Accepted False Invalid, Attached False Pending'
  ])
  assert.deepEqual(messagesOf(valid, [], [fault('c'), fault('other')])[0], 'spec.traffic.csrf: was found by compiling')
})

test('a status has at most 16 ancestors', () => {
  const policy = gatewayPolicy('a', { targetRefs: [ROUTE], ...CSRF })
  const gateways = Array.from({ length: 20 }, (_, i) => object('gateway.networking.k8s.io/v1', 'Gateway', `g${i}`, {}))
  assert.equal(shown(policy, { gatewaysOf: () => gateways }).length, 16)
})

test('a GatewayBackend says whether it is in order, and whether all that it refers to is found', () => {
  const shownOf = (backend: KubernetesObject, found: readonly Fault[] = []) => {
    const { conditions } = backendStatus(backend, storeOf(backend), OPTIONS, found)
    const times = conditions.map((one) => ({ ...one, lastTransitionTime: '2026-01-01T00:00:00Z' }))
    assert.deepEqual(backendStatusSchema().safeParse({ conditions: times }).error?.issues, undefined)
    return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)
  }
  const static_ = { host: 'a.example', port: 80 }
  assert.deepEqual(shownOf(gatewayBackend('a', { static: static_ })), [
    'Accepted True Accepted',
    'ResolvedRefs True ResolvedRefs'
  ])
  assert.deepEqual(shownOf(gatewayBackend('a', { static: { ...static_, port: 0 } })), [
    'Accepted False Invalid',
    'ResolvedRefs True ResolvedRefs'
  ])
  const unresolved = { static: static_, policies: { auth: { secretRef: { name: 'missing' } } } }
  assert.deepEqual(shownOf(gatewayBackend('a', unresolved)), [
    'Accepted False Invalid',
    'ResolvedRefs False RefNotFound'
  ])
  const place = { key: 'GatewayBackend/default/a', path: ['spec', 'static'] } as const
  const fault: Fault = { type: 'Accepted', reason: 'Invalid', message: 'is wrong', place }
  assert.deepEqual(shownOf(gatewayBackend('a', { static: static_ }), [fault]), [
    'Accepted False Invalid',
    'ResolvedRefs True ResolvedRefs'
  ])
})
