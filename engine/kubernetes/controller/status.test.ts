import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusToWrite, statusWithoutUs } from './status.ts'

const NOW = '2026-11-23T10:00:00Z'
const BEFORE = '2026-01-01T00:00:00Z'
const OURS = 'weir.dev/gateway-controller'
const condition = (type: string, status: string, lastTransitionTime?: string) => ({
  type,
  status,
  reason: 'Reason',
  message: '',
  observedGeneration: 1,
  ...(lastTransitionTime === undefined ? {} : { lastTransitionTime })
})
const parent = (name: string, controllerName: string, ...conditions: ReturnType<typeof condition>[]) => ({
  parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name },
  controllerName,
  conditions
})

test('what changes has the time of now, and what does not has its own', () => {
  const current = { conditions: [condition('Accepted', 'True', BEFORE), condition('Programmed', 'False', BEFORE)] }
  const desired = { conditions: [condition('Accepted', 'True'), condition('Programmed', 'True')] }
  assert.deepEqual(statusToWrite(current, desired, NOW, OURS), {
    conditions: [condition('Accepted', 'True', BEFORE), condition('Programmed', 'True', NOW)]
  })
})

test('a status that stands so is not written', () => {
  const current = {
    conditions: [condition('Accepted', 'True', BEFORE)],
    listeners: [
      { name: 'web', attachedRoutes: 1, supportedKinds: [], conditions: [condition('Accepted', 'True', BEFORE)] }
    ]
  }
  const desired = {
    conditions: [condition('Accepted', 'True')],
    listeners: [{ name: 'web', attachedRoutes: 1, supportedKinds: [], conditions: [condition('Accepted', 'True')] }]
  }
  assert.equal(statusToWrite(current, desired, NOW, OURS), null)
  assert.equal(statusToWrite({}, { parents: [] }, NOW, OURS), null)
  const later = { conditions: [{ ...condition('Accepted', 'True'), observedGeneration: 2 }] }
  assert.deepEqual(statusToWrite(current, later, NOW, OURS), {
    conditions: [{ ...condition('Accepted', 'True', BEFORE), observedGeneration: 2 }]
  })
})

test('what other controllers say of a route stays, where it stands', () => {
  const other = parent('theirs', 'example.com/controller', condition('Accepted', 'True', BEFORE))
  const own = parent('kept', OURS, condition('Accepted', 'True', BEFORE))
  const current = { parents: [parent('old', OURS), own, other] }
  const desired = {
    parents: ['edge', 'kept'].map((name) => ({
      ...parent(name, OURS, condition('Accepted', 'True')),
      parentRef: { name }
    }))
  }
  const written = statusToWrite(current, desired, NOW, OURS)
  assert.deepEqual(written, { parents: [own, other, parent('edge', OURS, condition('Accepted', 'True', NOW))] })
  assert.equal(statusToWrite(written!, desired, '2027-01-01T00:00:00Z', OURS), null)
})

test('ancestors of others are not pushed out by ours', () => {
  const others = Array.from({ length: 15 }, (_, i) => ({
    ...parent(`${i}`, 'example.com/controller'),
    ancestorRef: {}
  }))
  const own = ['a', 'b'].map((name) => ({ ancestorRef: { name }, controllerName: OURS, conditions: [] }))
  const { ancestors } = statusToWrite({ ancestors: others }, { ancestors: own }, NOW, OURS) as { ancestors: unknown[] }
  assert.equal(ancestors.length, 16)
  assert.deepEqual(ancestors.slice(0, 15), others)
})

test('our entries go from an object that nothing is said of', () => {
  const other = parent('theirs', 'example.com/controller')
  assert.deepEqual(statusWithoutUs({ parents: [parent('edge', OURS), other] }, OURS), { parents: [other] })
  assert.equal(statusWithoutUs({ parents: [other] }, OURS), null)
  assert.equal(statusWithoutUs({}, OURS), null)
})
