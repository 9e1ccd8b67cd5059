import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import fc from 'fast-check'
import type { StaticBackend } from '#backends/http/config/snapshot.ts'
import type { Route } from '#engine/contract/route.ts'
import { Places } from '#engine/ir/places.ts'
import type { RouteSpec, Snapshot } from '#engine/ir/snapshot.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { runtimeBuilder } from '#engine/testing/runtimes.ts'
import { bindOf, routeOf, snapshotOf, toBackend } from '#engine/testing/snapshot.ts'
import type { Runtime } from './runtime.ts'

const host = (name: string): StaticBackend => ({ kind: 'static', host: name, port: 80, unixPath: null, policies: {} })

const named = (name: string, backend = 'b', more: Partial<RouteSpec> = {}): RouteSpec =>
  routeOf({
    name,
    matches: [{ path: { prefix: `/${name}` }, headers: [], query: [] }],
    backends: [toBackend(backend)],
    ...more
  })

function routed(runtime: Runtime, target: string): Route {
  const ex = fakeExchange({ target })
  assert.equal(runtime.route(ex), null)
  return ex.route!
}

const BACKENDS = { b: host('b'), c: host('c') }
const POLICIES = { headerModifiers: { request: { remove: ['x'] } } }

/** Routes, with the rest as it is in all configurations: the same objects. */
function configurations() {
  const base = snapshotOf([bindOf([{}])], BACKENDS)
  const [bind] = base.binds
  const [listener] = bind!.listeners
  return (routes: readonly RouteSpec[], more: Partial<Snapshot> = {}, own: object = {}): Snapshot => ({
    ...base,
    binds: [{ ...bind!, listeners: [{ ...listener!, ...own, routes }] }],
    ...more
  })
}

test('a route that does not change is the same object in the next runtime, wherever it stands', () => {
  const build = runtimeBuilder()
  const of = configurations()
  const [first, second, third] = [named('first'), named('second'), named('third')]
  const before = build(of([first, second]))
  const after = build(of([third, first, named('second', 'c')]))
  assert.equal(routed(after, '/first'), routed(before, '/first'))
  assert.notEqual(routed(after, '/second'), routed(before, '/second'))
  assert.equal(routed(after, '/third').name, 'third')
  assert.deepEqual(
    after.describe().routes.map(({ name }) => name),
    ['third', 'first', 'second']
  )
})

test('routes with the same policies share what is made of them', () => {
  const of = configurations()
  const alike = (name: string) => named(name, 'b', { policies: structuredClone(POLICIES) })
  const runtime = runtimeBuilder()(of([alike('one'), named('plain'), alike('other')]))
  const [one, plain, other] = ['/one', '/plain', '/other'].map((target) => routed(runtime, target))
  for (const part of ['requestHooks', 'hookOwners', 'settings'] as const) assert.equal(other![part], one![part])
  assert.notEqual(plain!.requestHooks, one!.requestHooks)
  assert.equal(plain!.settings, one!.settings)
})

test('a route that moves knows its new place', () => {
  const build = runtimeBuilder()
  const of = configurations()
  const own = named('own', 'b', { policies: POLICIES })
  const at = (index: number) => `binds[0].listeners[0].routes[${index}].policies.headerModifiers`
  const places = (index: number, line: number) => Places.of([[at(index), `weir.yaml:${line}:1`]])
  const before = routed(build(of([own]), { places: places(0, 3) }), '/own')
  const sourceOf = (route: Route) => route.placesOf!('headerModifiers').map((path) => route.sourceOf!(path))
  assert.deepEqual(sourceOf(before), ['weir.yaml:3:1'])
  const after = routed(build(of([named('new'), own]), { places: places(1, 9) }), '/own')
  assert.equal(after, before)
  assert.deepEqual(after.placesOf!('headerModifiers'), [at(1)])
  assert.deepEqual(sourceOf(after), ['weir.yaml:9:1'])
})

test('what a route was made of makes it another one: its backend, policies around it, limits', () => {
  const route = named('r')
  const changes: Readonly<Record<string, (snapshot: Snapshot) => Snapshot>> = {
    'another backend of the name': (snapshot) => ({ ...snapshot, backends: { ...BACKENDS, b: host('elsewhere') } }),
    'policies of the gateway': (snapshot) => ({
      ...snapshot,
      gateway: { ...snapshot.gateway, policies: POLICIES }
    }),
    'policies before routing': (snapshot) => ({
      ...snapshot,
      gateway: { ...snapshot.gateway, preRouting: POLICIES }
    }),
    'larger buffers': (snapshot) => ({
      ...snapshot,
      frontend: { ...snapshot.frontend, http: { ...snapshot.frontend.http, maxBufferBytes: 7 } }
    }),
    'an access log': (snapshot) => ({
      ...snapshot,
      gateway: { ...snapshot.gateway, frontend: { accessLog: { filter: 'true', add: [], remove: [], otlp: null } } }
    })
  }
  for (const [what, change] of Object.entries(changes)) {
    const build = runtimeBuilder()
    const of = configurations()
    const before = routed(build(of([route])), '/r')
    assert.equal(routed(build(of([route])), '/r'), before, what)
    assert.notEqual(routed(build(change(of([route]))), '/r'), before, what)
  }
})

test('the backend of a mirror that changes makes the route another one', () => {
  const build = runtimeBuilder()
  const of = configurations()
  const route = named('r', 'b', { policies: { requestMirror: [{ backend: 'c', share: 1 }] } })
  const before = routed(build(of([route])), '/r')
  const after = routed(build(of([route], { backends: { ...BACKENDS, c: host('elsewhere') } })), '/r')
  assert.notEqual(after.mirrors![0]!.serve, before.mirrors![0]!.serve)
})

test('one spec at two listeners is a route of each', () => {
  const build = runtimeBuilder()
  const route = named('r')
  const listeners = [
    { name: 'a', hostname: 'a.example', routes: [route] },
    { name: 'b', hostname: 'b.example', routes: [route] }
  ]
  const snapshot = snapshotOf([bindOf(listeners)], BACKENDS)
  const found = (runtime: Runtime) =>
    ['a.example', 'b.example'].map((authority) => {
      const ex = fakeExchange({ target: '/r', authority })
      assert.equal(runtime.route(ex), null)
      return ex.route!
    })
  const before = found(build(snapshot))
  assert.deepEqual(
    before.map(({ listener }) => listener),
    ['a', 'b']
  )
  assert.deepEqual(found(build({ ...snapshot })), before)
})

test('a route does not move with a configuration that is refused', () => {
  const build = runtimeBuilder()
  const of = configurations()
  const own = named('own', 'b', { policies: POLICIES })
  const route = routed(build(of([own])), '/own')
  assert.throws(() => build(of([named('bad', 'missing'), own])))
  assert.deepEqual(route.placesOf!('headerModifiers'), ['binds[0].listeners[0].routes[0].policies.headerModifiers'])
})

test('a configuration with a mistake takes nothing from the one that is kept', () => {
  const build = runtimeBuilder()
  const of = configurations()
  const route = named('r')
  const before = routed(build(of([route])), '/r')
  assert.throws(() => build(of([route, named('bad', 'missing')])))
  assert.equal(routed(build(of([route])), '/r'), before)
})

test('what a backend does beside requests is the same work while the backend stays', () => {
  const build = runtimeBuilder()
  const of = configurations()
  const group = { ...host('b'), hosts: [{ host: 'b', port: 80, unixPath: null, weight: 1 }] }
  const before = build(of([named('r')], { backends: { b: group, c: host('c') } }))
  const after = build(of([named('r'), named('more')], { backends: { b: group, c: host('c') } }))
  assert.equal(before.background!.length, 1)
  assert.deepEqual(after.background, before.background)
  assert.equal(after.background![0], before.background![0])
})

test('routes that stay keep nothing of the configurations before', () => {
  class Configuration {}
  const build = runtimeBuilder()
  const of = configurations()
  // Each stays from the configuration that it comes with, and one goes with each.
  const staying: RouteSpec[] = []
  for (let i = 0; i < 50; i++) {
    staying.push(named(`stays-${i}`, 'b', { backends: [] }))
    build(Object.assign(new Configuration(), of([...staying, named(`goes-${i}`, 'b', { backends: [] })])))
  }
  assert.ok(queryObjects(Configuration, { format: 'count' }) <= 2)
})

type Change =
  | { readonly kind: 'put'; readonly at: number; readonly route: number; readonly form: number }
  | { readonly kind: 'remove' | 'swap'; readonly at: number }
  | { readonly kind: 'backend' | 'refused' }

/** Routes of one name in several forms: backends, policies, mirrors, hosts. */
function formOf(route: number, form: number): RouteSpec {
  const mirror = { backend: 'c', share: 1 }
  const policies = [{}, POLICIES, { requestMirror: [mirror] }, { headerModifiers: { response: { remove: ['y'] } } }]
  return named(`r${route}`, form % 2 === 0 ? 'b' : 'c', {
    policies: policies[form % policies.length]!,
    hostnames: form % 3 === 0 ? [] : [`${form % 3}.example`]
  })
}

const changes: fc.Arbitrary<readonly Change[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('put' as const), at: fc.nat(12), route: fc.nat(9), form: fc.nat(11) }),
    fc.record({ kind: fc.constantFrom('remove' as const, 'swap' as const), at: fc.nat(12) }),
    fc.record({ kind: fc.constantFrom('backend' as const, 'refused' as const) })
  ),
  { maxLength: 40 }
)

function changed(routes: readonly RouteSpec[], change: Change): readonly RouteSpec[] {
  if (change.kind === 'remove') return routes.toSpliced(change.at, 1)
  if (change.kind === 'swap') return [...routes.slice(change.at), ...routes.slice(0, change.at)]
  if (change.kind !== 'put') return routes
  const fresh = formOf(change.route, change.form)
  const rest = routes.filter(({ name }) => name !== fresh.name)
  return rest.toSpliced(change.at, 0, fresh)
}

/** All that can be seen of a runtime. */
function seen(runtime: Runtime) {
  const targets = Array.from({ length: 10 }, (_, i) => `/r${i}`)
  const found = targets.flatMap((target) =>
    ['other.example', '1.example', '2.example'].map((authority) => {
      const ex = fakeExchange({ target, authority })
      if (runtime.route(ex) !== null) return null
      const { route } = ex
      return [route!.name, route!.mirrors?.length, route!.placesOf!('headerModifiers'), route!.requestHooks?.length]
    })
  )
  return { ...runtime.describe(), found, background: runtime.background!.length }
}

test('after any changes a runtime is as one that is built from nothing', () => {
  fc.assert(
    fc.property(changes, (all) => {
      const build = runtimeBuilder()
      const of = configurations()
      let routes: readonly RouteSpec[] = []
      let backends: Snapshot['backends'] = BACKENDS
      for (const change of all) {
        routes = changed(routes, change)
        if (change.kind === 'backend') {
          const hosts = [{ host: 'b', port: 80, unixPath: null, weight: 1 }]
          backends = { ...backends, b: { ...host('b'), hosts } as Snapshot['backends'][string] }
        }
        if (change.kind === 'refused') assert.throws(() => build(of([...routes, named('bad', 'missing')])))
        const snapshot = of(routes, { backends })
        assert.deepEqual(seen(build(snapshot)), seen(runtimeBuilder()(snapshot)))
      }
    }),
    { numRuns: 60 }
  )
})
