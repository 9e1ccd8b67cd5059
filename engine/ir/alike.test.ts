import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bindOf, routeOf, snapshotOf, toBackend } from '#engine/testing/snapshot.ts'
import { withAlikeRoutes } from './alike.ts'
import type { RouteSpec, Snapshot } from './snapshot.ts'
import { applyDelta, encodeDelta } from './snapshot-delta.ts'

const SET = { response: { set: [{ name: 'x', value: '1' }] } }
const route = (name: string, policies: object = { headerModifiers: SET }): RouteSpec =>
  structuredClone(routeOf({ name, policies: { ...policies }, backends: [toBackend('b')] }))

/** As from MessagePack: no two parts are one object. */
const received = (...listeners: readonly (readonly RouteSpec[])[]): Snapshot =>
  applyDelta(
    null,
    withAlikeRoutes(encodeDelta(null, snapshotOf(listeners.map((routes, i) => bindOf([{ routes }], 8000 + i)))))
  )

const routesOf = ({ binds }: Snapshot) => binds.map(({ listeners }) => listeners[0]!.routes)

test('a rule at two listeners is one object, also for the next thread, and when it changes', () => {
  const snapshot = received([route('a'), route('b')], [route('a'), route('b')])
  const worker = applyDelta(null, structuredClone(encodeDelta(null, snapshot)))
  for (const [first, second] of [routesOf(snapshot), routesOf(worker)]) {
    assert.equal(new Set([...first!, ...second!]).size, 2)
    assert.equal(first![0]!.policies, first![1]!.policies)
  }
  const changed = received([route('a', { csrf: {} }), route('b')], [route('a', { csrf: {} }), route('b')])
  const next = applyDelta(
    worker,
    structuredClone(encodeDelta(snapshot, applyDelta(snapshot, encodeDelta(null, changed))))
  )
  assert.equal(new Set(routesOf(next).flat()).size, 2)
  assert.deepEqual(next.binds, changed.binds)
})

test('what differs stays apart', () => {
  const [first, second] = routesOf(
    received([route('a'), route('b', { x: Uint8Array.of(1) })], [route('a', { y: 1 }), route('b', { x: { 0: 1 } })])
  )
  assert.equal(new Set([...first!, ...second!]).size, 4)
  assert.deepEqual(
    second!.map(({ policies }) => policies),
    [{ y: 1 }, { x: { 0: 1 } }]
  )
})
