import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Condition } from '#engine/kubernetes/translation/parts.ts'
import { type GatewayFacts, gatewayStatus } from './gateway-status.ts'

const gatewayOf = (addresses: readonly object[]): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge', namespace: 'demo', generation: 1 },
  spec: { addresses }
})

const good = (type: string): Condition => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  observedGeneration: 1
})

const FACTS: GatewayFacts = {
  addresses: [{ type: 'IPAddress', value: '192.0.2.1' }],
  addressSource: 'Service demo/edge',
  dataPlanes: [{ gateway: 'demo/edge', pod: 'edge-1', inForce: 2, refused: null }],
  version: 2,
  refusal: null,
  faults: []
}

/** Accepted and Programmed. */
function conditionsOf(addresses: readonly object[], facts: Partial<GatewayFacts> = {}): readonly string[] {
  const desired = { conditions: [good('Accepted'), good('Programmed')] }
  const { conditions } = gatewayStatus(gatewayOf(addresses), desired, { ...FACTS, ...facts })
  return (conditions as readonly Condition[]).map(({ status, reason }) => `${status} ${reason}`)
}

test('a Gateway is programmed when a data plane has it in force, and it has an address', () => {
  const [accepted, programmed] = ['True Accepted', 'True Programmed']
  assert.deepEqual(conditionsOf([]), [accepted, programmed])
  assert.deepEqual(conditionsOf([{ value: '192.0.2.1' }, { type: 'IPAddress' }]), [accepted, programmed])
  assert.deepEqual(conditionsOf([], { addresses: [] }), [accepted, 'False AddressNotAssigned'])
  assert.deepEqual(conditionsOf([], { version: 3 }), [accepted, 'False Pending'])
})

test('an address that the Gateway asks for and does not get cannot be used', () => {
  const expected = ['True Accepted', 'False AddressNotUsable']
  assert.deepEqual(conditionsOf([{ value: '192.0.2.1' }, { value: '192.0.2.2' }]), expected)
  assert.deepEqual(conditionsOf([{ type: 'Hostname', value: 'a.example' }]), expected)
  assert.deepEqual(conditionsOf([{ value: '192.0.2.2' }], { addresses: [] }), expected)
})
