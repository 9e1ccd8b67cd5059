import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StaticBackend } from '#backends/http/config/snapshot.ts'
import { ConfigError } from '#engine/contract/config-error.ts'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { ServiceRef } from '#engine/contract/service.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import type { RouteSpec, Snapshot } from '#engine/ir/snapshot.ts'
import { z } from '#engine/schema/schema.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { runtimeBuilder } from '#engine/testing/runtimes.ts'
import { bindOf, routeOf, snapshotOf, toBackend } from '#engine/testing/snapshot.ts'
import { fakeUpstream } from '#engine/testing/upstream.ts'
import { policies } from '#policies/index.ts'

const host = (name: string, port = 80): StaticBackend => ({
  kind: 'static',
  host: name,
  port,
  unixPath: null,
  policies: {}
})

function build(snapshot: Snapshot, registry: readonly Policy[] = policies, state = newStateStore()) {
  const upstream = fakeUpstream()
  const failed: string[] = []
  const recorders: string[] = []
  const runtime = runtimeBuilder({
    policies: registry,
    services: { ...NO_SERVICES, state },
    upstream,
    recorderFor: ({ route, listener, port }) => {
      recorders.push(`${port} ${listener} ${route}`)
      return { record: () => {} }
    },
    fail: (_ex, code) => failed.push(code)
  })(snapshot)
  return { runtime, upstream, failed, recorders }
}

/** Routes and serves a request without the lifecycle in between. */
function serve({ runtime }: ReturnType<typeof build>, target = '/') {
  const ex = fakeExchange({ target })
  assert.equal(runtime.route(ex), null)
  ex.route!.serve(ex)
  return ex
}

function problemsOf(snapshot: Snapshot, registry?: readonly Policy[]): string[] {
  try {
    build(snapshot, registry)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems.map((problem) => `${problem.path}: ${problem.message}`)
  }
}

/** A policy whose hooks write their name into the request headers, and that counts its compilations. */
function tracer(name: string, section: Policy['section'] = 'traffic', usesMatches?: true) {
  const compiled: unknown[] = []
  const mark =
    (side: string): Hook =>
    (ex) => {
      ex.request.append('trace', `${name} ${side}`)
      return CONTINUE
    }
  const policy: Policy = {
    name,
    section,
    schema: z.unknown(),
    aliases: [],
    ...(usesMatches ? { usesMatches } : {}),
    compile: (config: unknown) => {
      compiled.push(config)
      return { filter: { onRequest: mark('request'), onResponse: mark('response') } }
    }
  }
  return { policy, compiled }
}

test('a single backend serves alone, and the route has its index', () => {
  const built = build(
    snapshotOf([bindOf([{ name: 'web', routes: [routeOf({ name: 'r', backends: [toBackend('b')] })] }])], {
      b: host('b.example')
    })
  )
  const ex = serve(built)
  assert.deepEqual(built.upstream.sent, ['b.example:80'])
  assert.equal(ex.upstreamHost, 'b.example')
  assert.equal(ex.backend, 'b')
  const { name, listener, port, requestHooks, responseHooks } = ex.route!
  assert.deepEqual([ex.listener!.name, ex.listener!.requestHooks, ex.listener!.responseHooks], ['web', null, null])
  assert.deepEqual(
    { name, listener, port, requestHooks, responseHooks },
    { name: 'r', listener: 'web', port: 80, requestHooks: null, responseHooks: null }
  )
  assert.deepEqual(built.recorders, ['80 web ', '80 web r'])
})

test('several backends share by weight; weight zero gets nothing', () => {
  const route = routeOf({ backends: [toBackend('a', 3), toBackend('b', 1), toBackend('c', 0)] })
  const built = build(snapshotOf([bindOf([{ routes: [route] }])], { a: host('a'), b: host('b'), c: host('c') }))
  for (let i = 0; i < 8; i++) serve(built)
  assert.deepEqual(built.upstream.sent.toSorted(), ['a:80', 'a:80', 'a:80', 'a:80', 'a:80', 'a:80', 'b:80', 'b:80'])
})

test('a route without usable backend fails with NO_BACKEND', () => {
  for (const backends of [[], [toBackend('a', 0)]]) {
    const built = build(snapshotOf([bindOf([{ routes: [routeOf({ backends })] }])], { a: host('a') }))
    serve(built)
    assert.deepEqual(built.failed, ['NO_BACKEND'])
  }
})

test('hooks run in registry order, response hooks the other way round', () => {
  const registry = ['one', 'two', 'three'].map((name) => tracer(name).policy)
  const route = routeOf({ policies: { three: 1, one: 1 } })
  const { runtime } = build(snapshotOf([bindOf([{ policies: { two: 1 }, routes: [route] }])]), registry)
  const ex = fakeExchange()
  runtime.route(ex)
  for (const hook of [...ex.route!.requestHooks!, ...ex.route!.responseHooks!]) assert.equal(hook(ex), CONTINUE)
  assert.equal(
    ex.request.getAll('trace'),
    'one request, two request, three request, three response, two response, one response'
  )
})

test('the route replaces a policy of its listener whole', () => {
  const listener = { policies: { timeouts: { request: 1000, backendRequest: 500 }, hostRewrite: 'None' } }
  const routes = [routeOf({ policies: { timeouts: { request: 2000 } } })]
  const { runtime } = build(snapshotOf([bindOf([{ ...listener, routes }])]))
  const ex = fakeExchange()
  runtime.route(ex)
  assert.deepEqual(ex.route!.settings, { requestTimeoutMs: 2000, backendTimeoutMs: 0, hostRewrite: 'none' })
})

test('a rewrite that decides about the host overrides hostRewrite', () => {
  const route = routeOf({
    policies: { hostRewrite: 'Auto', urlRewrite: { authority: 'none' } },
    backends: [toBackend('b')]
  })
  const built = build(snapshotOf([bindOf([{ routes: [route] }])], { b: host('b.example') }))
  assert.equal(serve(built).upstreamHost, null)
})

test('equal configurations are compiled once, per route only where matches matter', () => {
  const plain = tracer('plain')
  const matching = tracer('matching', 'traffic', true)
  const at = (prefix: string) => [{ path: { prefix }, headers: [], query: [] }]
  const routes = ['/a', '/b', '/a'].map((prefix) =>
    routeOf({ matches: at(prefix), policies: { plain: { x: 1 }, matching: { x: 1 } } })
  )
  routes.push(routeOf({ matches: at('/c'), policies: { plain: { x: 2 } } }))
  build(snapshotOf([bindOf([{ routes }])]), [plain.policy, matching.policy])
  assert.deepEqual(plain.compiled, [{ x: 1 }, { x: 2 }])
  assert.equal(matching.compiled.length, 2)
})

test('configurations that only look equal as JSON are compiled apart', () => {
  const { policy, compiled } = tracer('auth')
  class Secret {
    readonly value: string
    constructor(value: string) {
      this.value = value
    }
    toJSON(): string {
      return '<redacted>'
    }
  }
  const routes = ['a', 'b', 'a'].map((value) => routeOf({ policies: { auth: { key: new Secret(value) } } }))
  build(snapshotOf([bindOf([{ routes }])]), [policy])
  assert.equal(compiled.length, 2)
})

test('a backend is compiled once per host rewriting mode', () => {
  const routes = [
    routeOf({ backends: [toBackend('b')] }),
    routeOf({ backends: [toBackend('b')] }),
    routeOf({ backends: [toBackend('b')], policies: { hostRewrite: 'None' } })
  ]
  const { upstream } = build(snapshotOf([bindOf([{ routes }])], { b: host('b.example') }))
  assert.equal(upstream.endpoints.length, 2)
})

test('all problems are reported together, each with its place', () => {
  const { policy } = tracer('tcp', 'frontend')
  const exact = [{ path: { exact: '/x' }, headers: [], query: [] }]
  const routes = [
    routeOf({ policies: { urlRewrite: { path: { prefix: '/y' } } }, matches: exact }),
    routeOf({ policies: { nonsense: {}, tcp: {} }, backends: [toBackend('gone')] }),
    routeOf({ backends: [toBackend('b', 0, { hostRewrite: 'Auto' })] }),
    routeOf({ matches: [{ path: { regex: '(' }, headers: [], query: [] }], backends: [toBackend('c')] }),
    routeOf({ backends: [toBackend('toString')] })
  ]
  const snapshot = snapshotOf(
    [bindOf([{ policies: { requestRedirect: { path: { prefix: '/z' }, status: 302 } }, routes }])],
    {
      b: host('b'),
      c: { ...host('c'), policies: { timeouts: {} } }
    }
  )
  const at = 'binds[0].listeners[0]'
  assert.deepEqual(problemsOf(snapshot, [...policies, policy]), [
    `${at}.routes[0].policies.urlRewrite: path.prefix needs prefix matches, but matches[0] of the route is exact "/x"`,
    `${at}.policies.requestRedirect: path.prefix needs prefix matches, but matches[0] of the route is exact "/x"`,
    `${at}.routes[1].policies.nonsense: is not a policy of this version`,
    `${at}.routes[1].policies.tcp: applies to the whole gateway, not to a listener or route`,
    `${at}.routes[1].backends[0]: there is no backend "gone"`,
    `${at}.routes[2].backends[0].policies.hostRewrite: is not accepted on a backend`,
    `${at}.policies.requestRedirect: path.prefix needs prefix matches, but matches[0] of the route is regex "("`,
    'backends.c.policies.timeouts: is not accepted on a backend',
    `${at}.routes[4].backends[0]: there is no backend "toString"`,
    `${at}.routes[3].matches[0]: error parsing regexp: missing closing ): \`(\``
  ])
})

test('the runtime is frozen and describes itself', () => {
  const snapshot = snapshotOf(
    [
      bindOf([
        {
          routes: [
            routeOf({
              policies: { hostRewrite: 'Auto', headerModifiers: { request: { remove: ['x'] } } },
              backends: [toBackend('b')]
            })
          ]
        }
      ])
    ],
    { b: host('b') }
  )
  const { runtime } = build(structuredClone(snapshot))
  assert.ok(Object.isFrozen(runtime))
  assert.deepEqual(runtime.snapshot, snapshot)
  assert.deepEqual(structuredClone(runtime.describe()), {
    version: 1,
    hash: '000000000000',
    acceptedAt: '2025-01-01T00:00:00.000Z',
    routes: [
      {
        name: 'route',
        listener: 'listener0',
        port: 80,
        hostnames: [],
        matches: [{ path: { prefix: '/' }, headers: [], query: [] }],
        policies: ['headerModifiers', 'hostRewrite'],
        settings: { requestTimeoutMs: 0, backendTimeoutMs: 0, hostRewrite: 'auto' },
        backends: [{ backend: 'b', weight: 1 }]
      }
    ]
  })
})

test('a reload compiles what has changed, wherever it stands, and all when bodies of another size may be kept', () => {
  const { policy, compiled } = tracer('one')
  const state = newStateStore()
  const outer = {}
  const [a, b] = ['a', 'b'].map((name) => routeOf({ name, policies: { one: name } }))
  const run = (routes: RouteSpec[], around = outer, maxBufferBytes = 1) => {
    const snapshot = snapshotOf([bindOf([{ policies: around, routes }])])
    const http = { ...snapshot.frontend.http, maxBufferBytes }
    const gateway = { ...snapshot.gateway, policies: outer }
    compiled.length = 0
    build({ ...snapshot, gateway, frontend: { ...snapshot.frontend, http } }, [policy], state)
    return [...compiled]
  }
  assert.deepEqual(run([a!, b!]), ['a', 'b'])
  assert.deepEqual(run([a!, b!, routeOf({ name: 'c', policies: { one: 'c' } })]), ['c'])
  assert.deepEqual(run([a!, b!], { one: 'outer' }), [])
  assert.deepEqual(run([routeOf({ name: 'd', policies: { one: 'a' } }), b!]), [])
  assert.deepEqual(run([a!, b!], outer, 2), ['a', 'b'])
  // What has left the configuration is forgotten.
  assert.deepEqual(run([a!], outer, 2), [])
  assert.deepEqual(run([routeOf({ name: 'b', policies: { one: 'b' } })], outer, 2), ['b'])
})

test('a policy that works beside requests stays what it was, also through a configuration with a mistake', () => {
  const { policy, compiled } = tracer('one')
  const background: Policy = {
    ...policy,
    compile: (config: never, context) => ({
      ...policy.compile(config, context),
      background: { begin() {}, end() {} }
    })
  }
  const state = newStateStore()
  const snapshot = snapshotOf([bindOf([{ routes: [routeOf({ policies: { one: 1 } })] }])])
  const [first] = build(snapshot, [background], state).runtime.background!
  const wrong = snapshotOf([bindOf([{ routes: [routeOf({ policies: { unheard: 1 } })] }])])
  assert.throws(() => build(wrong, [background], state), ConfigError)
  const again = [
    snapshot,
    snapshotOf([bindOf([{ routes: [routeOf({ name: 'other', policies: { one: 1 } })] }])]),
    snapshotOf([bindOf([{ routes: [routeOf({ policies: {} })] }])]),
    snapshot
  ].map((next) => build(next, [background], state).runtime.background!)
  assert.deepEqual(
    again.map((all) => all.map((one) => one === first)),
    [[true], [true], [], [false]]
  )
  assert.equal(compiled.length, 2)
})

test('a refused configuration is refused again by the next reload', () => {
  const refusing: Policy = {
    ...tracer('one').policy,
    compile: () => {
      throw new Error('does not fit')
    }
  }
  const state = newStateStore()
  const snapshot = snapshotOf([bindOf([{ routes: [routeOf({ policies: { one: 1 } })] }])])
  for (let i = 0; i < 2; i++) assert.throws(() => build(snapshot, [refusing], state), ConfigError)
})

test('a policy asks the backends of the configuration as services, and is compiled anew when one changes', () => {
  const resolved: string[] = []
  const asking: Policy = {
    name: 'asking',
    section: 'traffic',
    schema: z.object(),
    aliases: [],
    compile: ({ ref }: { ref: ServiceRef }, { services }) => {
      resolved.push(services.grpc(ref).name)
      return {}
    }
  }
  const named = (name: string) => ({ asking: { ref: { name, at: ['backendRef', 'name'] } } })
  const snapshot = (name: string, backend: StaticBackend) =>
    snapshotOf([bindOf([{ routes: [routeOf({ policies: named(name), backends: [toBackend('app')] })] }])], {
      app: host('app'),
      authz: backend,
      dynamic: { kind: 'dynamic', policies: {} }
    })
  const state = newStateStore()
  const again = (snapshot: Snapshot) => build(snapshot, [asking], state)
  again(snapshot('authz', host('a')))
  again(snapshot('authz', host('a')))
  assert.deepEqual(resolved, ['authz'])
  again(snapshot('authz', host('b')))
  assert.deepEqual(resolved, ['authz', 'authz'])
  const path = 'binds[0].listeners[0].routes[0].policies.asking.backendRef.name'
  assert.throws(
    () => again(snapshot('autz', host('b'))),
    new ConfigError([{ path, message: 'there is no backend "autz" at the top of the file: did you mean "authz"?' }])
  )
  assert.throws(
    () => again(snapshot('dynamic', host('b'))),
    /"dynamic" is not one server that a policy could ask: name a backend with host or static/
  )
})
