import assert from 'node:assert/strict'
import { test } from 'node:test'
import { share } from '#engine/ir/share.ts'
import { bindOf, routeOf, snapshotOf } from '#engine/testing/snapshot.ts'
import { applyDelta, encodeDelta } from './snapshot-delta.ts'

const backend = (port: number) => ({ kind: 'static' as const, host: 'h', port, unixPath: null, policies: {} })

const first = snapshotOf(
  [bindOf([{ routes: [routeOf({ name: 'a' }), routeOf({ name: 'b' }), routeOf({ name: 'c' })] }])],
  {
    x: backend(1),
    y: backend(2)
  }
)

/** As it goes through a message. */
const send = <T>(value: T): T => structuredClone(value)

test('a worker that holds nothing gets everything', () => {
  assert.deepEqual(applyDelta(null, send(encodeDelta(null, first))), first)
})

test('a change to one route sends that route; the others stay the same objects on both sides', () => {
  const previous = applyDelta(null, send(encodeDelta(null, first)))
  const changed = { ...structuredClone(first), version: 2 }
  const routes = [
    routeOf({ name: 'c' }),
    routeOf({ name: 'new' }),
    routeOf({ name: 'b', hostnames: ['changed.example'] }),
    routeOf({ name: 'a' })
  ]
  const bind = bindOf([{ routes }])
  const next = share(first, { ...changed, binds: [bind], backends: { y: backend(3), x: backend(1) } })
  const delta = encodeDelta(first, next)
  assert.deepEqual(
    delta.binds[0]!.listeners[0]!.routes.map((route) => (typeof route === 'number' ? route : route.name)),
    [2, 'new', 'b', 0]
  )
  assert.deepEqual(delta.backends, { y: backend(3), x: null })
  const got = applyDelta(previous, send(delta))
  assert.deepEqual(got, next)
  const [oldRoutes, newRoutes] = [previous, got].map(({ binds }) => binds[0]!.listeners[0]!.routes)
  assert.equal(newRoutes![0], oldRoutes![2])
  assert.equal(newRoutes![3], oldRoutes![0])
  assert.equal(got.backends.x, previous.backends.x)
  assert.equal(got.binds[0]!.listeners[0]!.policies, previous.binds[0]!.listeners[0]!.policies)
})
