import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KindName, KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { objectKey } from '#engine/kubernetes/objects/object.ts'
import type { DataPlane } from '#engine/kubernetes/stream/index.ts'
import type { Condition } from '#engine/kubernetes/translation/parts.ts'
import { Refusals } from './refusals.ts'
import type { Status } from './status.ts'

const AT = 'binds[0].listeners[0].routes[0]'
const ACCEPTED = { type: 'Accepted', status: 'True' }
const entry = (field: 'parentRef' | 'ancestorRef', ref: object) => ({ [field]: ref, conditions: [ACCEPTED] })

/** Of each entry: whether a refusal by the data plane of demo/edge is said there. */
function marked(kind: KindName, field: 'parents' | 'ancestors', entries: readonly object[]): readonly boolean[] {
  const object: KubernetesObject = { apiVersion: 'v1', kind, metadata: { name: 'mine', namespace: 'demo' } }
  const refusals = new Refusals('demo/edge')
  const plane: DataPlane = {
    gateway: 'demo/edge',
    pod: 'edge-1',
    inForce: 0,
    refused: { version: 1, reason: `${AT}: is too long` }
  }
  refusals.find([plane], 1, () => [[AT, `${kind} demo/mine: spec`]])
  const key = objectKey(kind, 'demo', 'mine')
  const status: Status = { [field]: entries }
  const objects = { get: () => object, list: () => [], under: () => objects }
  const shown = refusals.statuses((of) => (of === key ? status : undefined), objects).get(key)?.[field] as readonly {
    readonly conditions: Condition[]
  }[]
  return shown.map(({ conditions }) =>
    conditions.some(({ type, status }) => `${type} ${status}` === 'Programmed False')
  )
}

test('a refusal is said at the parent whose data plane refuses, and at no other', () => {
  const refs = [{ name: 'edge' }, { name: 'edge', namespace: 'other' }, { name: 'inner' }]
  const sets = [{ kind: 'ListenerSet', name: 'edge' }]
  const entries = [...refs, ...sets].map((ref) => entry('parentRef', ref))
  assert.deepEqual(marked('HTTPRoute', 'parents', entries), [true, false, false, false])
})

test('of a policy it is said at that Gateway, and at what it acts on beside Gateways', () => {
  const refs = [
    { kind: 'Gateway', namespace: 'demo', name: 'edge' },
    { kind: 'Gateway', namespace: 'other', name: 'edge' },
    { kind: 'HTTPRoute', namespace: 'demo', name: 'shop' }
  ]
  const entries = refs.map((ref) => entry('ancestorRef', ref))
  assert.deepEqual(marked('GatewayPolicy', 'ancestors', entries), [true, false, true])
})
