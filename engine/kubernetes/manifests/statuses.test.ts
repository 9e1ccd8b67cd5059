import assert from 'node:assert/strict'
import { test } from 'node:test'
import { complaintsOf } from './statuses.ts'

const condition = (type: string, status: string, reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1
})

test('conditions that are as they should be say nothing, whatever their polarity', () => {
  const conditions = [condition('Accepted', 'True', 'Accepted'), condition('Conflicted', 'False', 'NoConflicts')]
  const pending = condition('Programmed', 'False', 'Pending', 'no data plane yet')
  const listeners = [{ name: 'http', conditions: [...conditions, pending] }]
  assert.deepEqual(complaintsOf({ conditions: [...conditions, pending], listeners }), [])
  assert.deepEqual(complaintsOf(undefined), [])
})

test('what is refused, and what a part of refers to, have the path that the message begins with', () => {
  const parents = [
    {
      parentRef: { name: 'edge', sectionName: 'http' },
      conditions: [
        condition('Accepted', 'False', 'UnsupportedValue', 'spec.rules[0].filters[1]: is no filter of weir'),
        condition('ResolvedRefs', 'False', 'BackendNotFound', 'there is no Service demo/shop')
      ]
    }
  ]
  assert.deepEqual(complaintsOf({ parents }), [
    {
      message: 'parent Gateway edge section http: Accepted is False (UnsupportedValue): is no filter of weir',
      path: ['spec', 'rules', 0, 'filters', 1],
      isRefused: true
    },
    {
      message:
        'parent Gateway edge section http: ResolvedRefs is False (BackendNotFound): there is no Service demo/shop',
      path: [],
      isRefused: false
    }
  ])
})

test('what may be elsewhere is missing, and no mistake', () => {
  const refusedFor = (message: string) =>
    complaintsOf({ conditions: [condition('Accepted', 'False', 'Invalid', message)] })[0]!.isRefused
  assert.equal(refusedFor('spec.policies.auth.secretRef: there is no Secret demo/key'), false)
  assert.equal(refusedFor('there is no listener https'), true)
})

test('one cause is told once: what is not accepted is not programmed either, also at the next parent', () => {
  const bad = condition('Conflicted', 'True', 'HostnameConflict', 'listener b has the same hostname')
  const conditions = [bad, condition('Programmed', 'False', 'Invalid', 'see Conflicted')]
  const listeners = [
    { name: 'a', conditions },
    { name: 'b', conditions }
  ]
  assert.deepEqual(
    complaintsOf({ listeners }).map(({ message, path }) => [message, path]),
    [['listener a: Conflicted is True (HostnameConflict): listener b has the same hostname', ['spec', 'listeners', 0]]]
  )
  const lost = complaintsOf({ conditions: [condition('Programmed', 'False', 'Invalid', 'no port is free')] })
  assert.deepEqual(
    lost.map(({ isRefused }) => isRefused),
    [false]
  )
})
