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

const routes = () => first.binds[0]!.listeners[0]!.routes

/** As it goes through a message. */
const send = <T>(value: T): T => structuredClone(value)

test('routes that follow each other as before are one run; backends that are gone are named', () => {
  const next = { ...first, binds: [bindOf([{ routes: [routeOf({ name: 'new' }), ...routes()] }])], backends: {} }
  const delta = encodeDelta(first, next)
  assert.deepEqual(
    delta.binds[0]!.listeners[0]!.routes.map((route) => ('name' in route ? route.name : route)),
    ['new', [0, 3]]
  )
  assert.deepEqual(delta.goneBackends, ['x', 'y'])
  assert.deepEqual(applyDelta(first, send(delta)), next)
  assert.throws(() => applyDelta(null, send(delta)), RangeError)
})

test('a receiver that holds nothing gets everything', () => {
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
    delta.binds[0]!.listeners[0]!.routes.map((route) => ('name' in route ? route.name : route)),
    [[2, 1], 'new', 'b', [0, 1]]
  )
  assert.deepEqual([delta.backends, delta.goneBackends], [{ y: backend(3) }, []])
  const got = applyDelta(previous, send(delta))
  assert.deepEqual(got, next)
  const [oldRoutes, newRoutes] = [previous, got].map(({ binds }) => binds[0]!.listeners[0]!.routes)
  assert.equal(newRoutes![0], oldRoutes![2])
  assert.equal(newRoutes![3], oldRoutes![0])
  assert.equal(got.backends.x, previous.backends.x)
  assert.equal(got.binds[0]!.listeners[0]!.policies, previous.binds[0]!.listeners[0]!.policies)
})

test('a list of routes that two listeners have, an entry that is there twice, and listeners of one name', () => {
  const both = [bindOf([{ name: 'p', routes: routes() }]), bindOf([{ name: 'p', routes: routes() }])]
  const before = { ...first, binds: [...both, bindOf([{ name: 'q', routes: routes() }])] }
  const [a, b, c] = routes()
  const next = { ...before, binds: [bindOf([{ name: 'q', routes: [c!, a!, a!, b!] }]), both[1]!] }
  const held = applyDelta(null, send(encodeDelta(null, before)))
  const got = applyDelta(held, send(encodeDelta(before, next)))
  assert.deepEqual(got, next)
  assert.deepEqual(applyDelta(got, send(encodeDelta(next, before))), before)
})
