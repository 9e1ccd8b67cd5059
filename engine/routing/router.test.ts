import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Problem } from '#engine/contract/config-error.ts'
import type { Route } from '#engine/contract/route.ts'
import type { RouteMatch, ValueMatch } from '#engine/ir/snapshot.ts'
import { routerOf } from '#engine/testing/build-router.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { type ReferenceListener, referenceRoute } from '#engine/testing/reference-router.ts'
import type { MatchSpec } from './candidate.ts'
import type { RouterRoute } from './misses.ts'
import { RouterCache } from './router-cache.ts'

const anything: MatchSpec = { path: { prefix: '/' }, headers: [], query: [] }
const on = (match: Partial<MatchSpec>): MatchSpec => ({ ...anything, ...match })
const route = (name: string, ...matches: readonly Partial<MatchSpec>[]): RouterRoute => ({
  name,
  hostnames: [],
  matches: matches.length === 0 ? [anything] : matches.map(on)
})
const hosted = (name: string, hostnames: readonly string[], match: Partial<MatchSpec> = {}): RouterRoute => ({
  name,
  hostnames,
  matches: [on(match)]
})
const listener = (hostname: string, ...routes: readonly RouterRoute[]) => ({ name: `on ${hostname}`, hostname, routes })
const exact = (name: string, value: string) => ({ name, value: { exact: value } })

/** Name of the route taken, or the code that says why there is none. */
function ask(listeners: readonly ReturnType<typeof listener>[], options: ExchangeOptions): string {
  const problems: Problem[] = []
  const router = routerOf([{ port: 80, listeners }], problems)
  assert.deepEqual(problems, [])
  const ex = fakeExchange(options)
  return router.route(ex) ?? ex.route!.name
}

interface Case {
  readonly is: string
  readonly routes: readonly RouterRoute[]
  readonly request: ExchangeOptions
  readonly takes: string
}

/** Where everything else has no route, and is not to be reached: one segment is not two to servers that decode. */
const projects = (regex: string) => [route('files', { path: { regex } })]

const cases: readonly Case[] = [
  {
    is: 'an expression that does not write %2F does not open what has no route',
    routes: projects('/projects/[^/]+/files'),
    request: { target: '/projects/group%2Fproj/files' },
    takes: 'PATH_AMBIGUOUS'
  },
  {
    is: 'an expression that writes %2F means names with slashes',
    routes: projects('/projects/(?:[^/]|%2F)+/files'),
    request: { target: '/projects/group%2fproj/files' },
    takes: 'files'
  },
  {
    is: 'a prefix that writes %2F means it',
    routes: [route('p', { path: { prefix: '/p/group%2Fproj' } })],
    request: { target: '/p/group%2Fproj/a' },
    takes: 'p'
  },
  {
    is: 'what writes %2F does not mean parameters',
    routes: projects('/projects/(?:[^/]|%2F)+/files'),
    request: { target: '/projects/group%2Fproj;x/files' },
    takes: 'PATH_AMBIGUOUS'
  },
  {
    is: 'what writes %2F does not open the route of another reading',
    routes: [...projects('/projects/(?:[^/]|%2F)+/files'), route('own', { path: { prefix: '/projects/group' } })],
    request: { target: '/projects/group%2Fproj/files' },
    takes: 'PATH_AMBIGUOUS'
  },
  {
    is: 'a path that leads to no route in one way of reading and to one in another is ambiguous',
    routes: [route('p', { path: { prefix: '/p' } }), route('p/g', { path: { prefix: '/p/g' } })],
    request: { target: '/p%2Fg/x' },
    takes: 'PATH_AMBIGUOUS'
  },
  {
    is: 'a path that leads to no route in any way of reading is not found',
    routes: [route('p', { path: { prefix: '/p' } })],
    request: { target: '/q%2Fg/x' },
    takes: 'ROUTE_NOT_FOUND'
  },
  {
    is: 'an exact path beats a prefix of the same length',
    routes: [route('prefix', { path: { prefix: '/a' } }), route('exact', { path: { exact: '/a' } })],
    request: { target: '/a' },
    takes: 'exact'
  },
  {
    is: 'an exact path does not cover what lies below',
    routes: [route('exact', { path: { exact: '/a' } }), route('all')],
    request: { target: '/a/' },
    takes: 'all'
  },
  {
    is: 'the longest prefix wins over order',
    routes: [route('short', { path: { prefix: '/a' } }), route('long', { path: { prefix: '/a/b' } })],
    request: { target: '/a/b/c' },
    takes: 'long'
  },
  {
    is: 'a prefix ends at a segment',
    routes: [route('a', { path: { prefix: '/a' } })],
    request: { target: '/ab' },
    takes: 'ROUTE_NOT_FOUND'
  },
  {
    is: 'a final slash of a prefix means nothing',
    routes: [route('a', { path: { prefix: '/a/' } })],
    request: { target: '/a' },
    takes: 'a'
  },
  {
    is: 'a prefix covers its final slash',
    routes: [route('a', { path: { prefix: '/a' } })],
    request: { target: '/a/' },
    takes: 'a'
  },
  {
    is: 'a shorter prefix serves what a longer one refuses by its conditions',
    routes: [route('a', { path: { prefix: '/a' } }), route('post', { path: { prefix: '/a/b' }, method: 'POST' })],
    request: { target: '/a/b' },
    takes: 'a'
  },
  {
    is: 'a prefix beats an expression',
    routes: [route('regex', { path: { regex: '/a/.*' } }), route('prefix', { path: { prefix: '/a' } })],
    request: { target: '/a/b' },
    takes: 'prefix'
  },
  {
    is: 'an expression must cover the whole path',
    routes: [route('regex', { path: { regex: '/v[0-9]+' } })],
    request: { target: '/v1/x' },
    takes: 'ROUTE_NOT_FOUND'
  },
  {
    is: 'alternatives of an expression are anchored as a whole',
    routes: [route('regex', { path: { regex: '/a|/ab' } })],
    request: { target: '/ab' },
    takes: 'regex'
  },
  {
    is: 'a method beats none',
    routes: [route('any'), route('get', { method: 'GET' })],
    request: { method: 'GET' },
    takes: 'get'
  },
  {
    is: 'a method beats any number of headers',
    routes: [route('headers', { headers: [exact('x', '1'), exact('y', '1')] }), route('get', { method: 'GET' })],
    request: {
      headers: [
        ['x', '1'],
        ['y', '1']
      ]
    },
    takes: 'get'
  },
  {
    is: 'more headers beat fewer',
    routes: [
      route('one', { headers: [exact('x', '1')] }),
      route('two', { headers: [exact('x', '1'), exact('y', '2')] })
    ],
    request: {
      headers: [
        ['X', '1'],
        ['Y', '2']
      ]
    },
    takes: 'two'
  },
  {
    is: 'a header beats any number of query parameters',
    routes: [
      route('query', { query: [exact('q', '1'), exact('r', '1')] }),
      route('header', { headers: [exact('x', '1')] })
    ],
    request: { target: '/?q=1&r=1', headers: [['x', '1']] },
    takes: 'header'
  },
  {
    is: 'more query parameters beat fewer',
    routes: [route('one', { query: [exact('q', '1')] }), route('two', { query: [exact('q', '1'), exact('r', '1')] })],
    request: { target: '/?r=1&q=1' },
    takes: 'two'
  },
  {
    is: 'between equals the first of the configuration wins',
    routes: [route('first', { path: { prefix: '/a' } }), route('second', { path: { prefix: '/a/' } })],
    request: { target: '/a' },
    takes: 'first'
  },
  {
    is: 'repeated headers are joined with a comma',
    routes: [route('joined', { headers: [exact('x', '1,2')] })],
    request: {
      headers: [
        ['x', '1'],
        ['X', ' 2 ']
      ]
    },
    takes: 'joined'
  },
  {
    is: 'a missing header is not an empty one',
    routes: [route('empty', { headers: [{ name: 'x', value: { regex: '.*' } }] })],
    request: {},
    takes: 'ROUTE_NOT_FOUND'
  },
  {
    is: 'the host header is the authority',
    routes: [route('host', { headers: [exact('host', 'example.com:8080')] })],
    request: { authority: 'example.com:8080' },
    takes: 'host'
  },
  {
    is: 'pseudo headers are those of the request line',
    routes: [route('path', { headers: [exact(':path', '/a?b'), exact(':method', 'PUT'), exact(':scheme', 'http')] })],
    request: { method: 'PUT', target: '/a?b' },
    takes: 'path'
  },
  {
    is: 'any value of a repeated parameter counts',
    routes: [route('q', { query: [exact('q', 'b c')] })],
    request: { target: '/?q=a&q=b+c&q=d' },
    takes: 'q'
  },
  {
    is: 'parameters are decoded, names too, and broken escapes stay as they are',
    routes: [route('q', { query: [exact('ä', '%zz/')] })],
    request: { target: '/?%C3%A4=%zz%2f' },
    takes: 'q'
  },
  {
    is: 'a parameter without "=" is empty',
    routes: [route('q', { query: [exact('q', '')] })],
    request: { target: '/?a&q' },
    takes: 'q'
  },
  {
    is: 'OPTIONS * is below no prefix',
    routes: [route('all')],
    request: { method: 'OPTIONS', target: '*' },
    takes: 'ROUTE_NOT_FOUND'
  },
  {
    is: 'an exact host name beats a wildcard, whatever the paths are',
    routes: [hosted('wild', ['*.example.com'], { path: { exact: '/a' } }), hosted('exact', ['a.example.com'])],
    request: { authority: 'a.example.com', target: '/a' },
    takes: 'exact'
  },
  {
    is: 'the longest wildcard wins',
    routes: [hosted('com', ['*.com']), hosted('example', ['*.example.com'])],
    request: { authority: 'x.y.example.com' },
    takes: 'example'
  },
  {
    is: 'a less specific host serves paths that a more specific one lacks',
    routes: [
      hosted('any', []),
      hosted('exact', ['a.com', 'b.com'], { path: { prefix: '/a' } }),
      hosted('wild', ['*.com'], { path: { prefix: '/w' } })
    ],
    request: { authority: 'a.com', target: '/w' },
    takes: 'wild'
  },
  {
    is: 'a wildcard does not cover the bare domain',
    routes: [hosted('wild', ['*.example.com'])],
    request: { authority: 'example.com' },
    takes: 'ROUTE_NOT_FOUND'
  }
]

for (const { is, routes, request, takes } of cases) {
  test(is, () => assert.equal(ask([listener('*', ...routes)], request), takes))
}

test('the listener is chosen by host alone, and its routes are the only ones', () => {
  const listeners = [
    listener('*', route('any')),
    listener('*.example.com', route('wild', { path: { prefix: '/w' } })),
    listener('a.example.com', route('exact', { path: { prefix: '/e' } }))
  ]
  assert.equal(ask(listeners, { authority: 'other.org' }), 'any')
  assert.equal(ask(listeners, { authority: '' }), 'any')
  assert.equal(ask(listeners, { authority: 'b.example.com', target: '/w' }), 'wild')
  assert.equal(ask(listeners, { authority: 'b.example.com', target: '/x' }), 'ROUTE_NOT_FOUND')
  assert.equal(ask(listeners, { authority: 'a.example.com', target: '/w' }), 'ROUTE_NOT_FOUND')
})

test('the port and a final dot of the authority do not matter', () => {
  const listeners = [listener('example.com', route('name')), listener('[::1]', route('v6'))]
  for (const authority of ['example.com', 'example.com:8080', 'example.com.', 'example.com.:80']) {
    assert.equal(ask(listeners, { authority }), 'name')
  }
  assert.equal(ask(listeners, { authority: '[::1]:8080' }), 'v6')
  assert.equal(ask(listeners, { authority: '[::1]' }), 'v6')
  assert.equal(ask(listeners, { authority: 'example.org' }), 'LISTENER_NOT_FOUND')
})

test('binds are distinguished by port; port 0 serves all other ports', () => {
  const router = routerOf([
    { port: 80, listeners: [listener('*', route('http'))] },
    { port: 0, listeners: [listener('*', route('any port'))] }
  ])
  for (const [port, name] of [
    [80, 'http'],
    [40123, 'any port']
  ] as const) {
    const ex = fakeExchange({ port })
    assert.equal(router.route(ex), null)
    assert.equal(ex.route!.name, name)
  }
  const closed = routerOf([{ port: 80, listeners: [] }])
  assert.equal(closed.route(fakeExchange({ port: 81 })), 'LISTENER_NOT_FOUND')
})

test('the index of the match that was taken is set', () => {
  const router = routerOf([
    { port: 80, listeners: [listener('*', route('r', { path: { exact: '/x' } }, { path: { prefix: '/y' } }))] }
  ])
  const ex = fakeExchange({ target: '/y/z' })
  router.route(ex)
  assert.equal(ex.matchIndex, 1)
  assert.deepEqual(ex.route!.matches[1], { kind: 'prefix', path: '/y' })
})

test('headers that a filter added are seen', () => {
  const router = routerOf([{ port: 80, listeners: [listener('*', route('r', { headers: [exact('x', '1,2')] }))] }])
  const ex = fakeExchange({ headers: [['x', '1']] })
  ex.request.append('X', '2')
  assert.equal(router.route(ex), null)
})

test('every mistake is reported with its place', () => {
  const problems: Problem[] = []
  const bad = listener(
    '*',
    route('a', { path: { regex: '(' } }, { path: { exact: 'x' } }),
    route('b', { headers: [{ name: 'x', value: { regex: '[' } }] })
  )
  routerOf([{ port: 80, listeners: [bad, listener('*')] }], problems)
  assert.deepEqual(problems.map((problem) => problem.path).toSorted(), [
    'binds[0].listeners[0].routes[0].matches[0]',
    'binds[0].listeners[0].routes[0].matches[1]',
    'binds[0].listeners[0].routes[1].matches[0]',
    'binds[0].listeners[1].hostname'
  ])
  const first = problems.find(({ path }) => path === 'binds[0].listeners[0].routes[0].matches[0]')
  assert.match(first!.message, /missing closing/)
})

test('a path of nothing but slashes and a host of nothing but dots cost no more than their length', () => {
  const router = routerOf([
    { port: 80, listeners: [listener('*', hosted('deep', ['*.b'], { path: { prefix: '/////////x' } }), route('all'))] }
  ])
  const ex = fakeExchange({ target: '/'.repeat(60_000), authority: '.'.repeat(60_000) })
  const started = process.cpuUsage()
  for (let i = 0; i < 20; i++) router.route(ex)
  assert.equal(ex.route!.name, 'all')
  // Quadratic work on 60 kB would take seconds; this leaves three orders of magnitude.
  assert.ok(process.cpuUsage(started).user < 1_000_000)
})

// --- against the reference ---

const segment = fc.constantFrom('', 'a', 'b', 'ab', 'api', 'v1', '%C3%A9', 'a%40b', 'a@b')
const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`)
const ways = fc.constantFrom('%2F', '%2f', '//', ';a/', '/', '\\', '%5C', '/./', '/%2e%2E/', '%00', '%FF')
const sent = fc.oneof(
  path,
  fc.tuple(path, ways, segment).map(([start, way, end]) => start + way + end)
)
const value: fc.Arbitrary<ValueMatch> = fc.oneof(
  fc.constantFrom('1', '2', '1,2', 'a b', '').map((text) => ({ exact: text })),
  fc.constantFrom('[0-9]', '.*', '1.*').map((source) => ({ regex: source }))
)
const named = (names: readonly string[]) => fc.record({ name: fc.constantFrom(...names), value })
const match: fc.Arbitrary<RouteMatch> = fc
  .record({
    path: fc.oneof(
      path.map((text) => ({ exact: text })),
      path.map((text) => ({ prefix: text })),
      fc.constantFrom('/a.*', '/[ab]/.*', '.*/v1', '/').map((source) => ({ regex: source }))
    ),
    method: fc.option(fc.constantFrom('GET', 'POST'), { nil: undefined, freq: 2 }),
    headers: fc.array(named(['x', 'y']), { maxLength: 2 }),
    query: fc.array(named(['q', 'r']), { maxLength: 2 })
  })
  .map(({ method, ...rest }) => (method === undefined ? rest : { ...rest, method }))
const hostname = fc.constantFrom('*', '*.com', '*.example.com', 'example.com', 'a.example.com', 'b.a.example.com')
const anyRoute = fc.record({
  name: fc.constant('r'),
  hostnames: fc.oneof(fc.constant([]), fc.array(hostname, { maxLength: 2 })),
  matches: fc.array(match, { minLength: 1, maxLength: 3 })
})
const request: fc.Arbitrary<ExchangeOptions> = fc
  .record({
    path: sent,
    query: fc.constantFrom('', '?q=1', '?q=2&q=1', '?r=1,2&q', '?q=a+b&r=%31', '?q=%zz&r=%ff', '?&&=&q=1=2'),
    method: fc.constantFrom('GET', 'POST', 'PUT'),
    authority: fc.constantFrom('example.com', 'a.example.com', 'b.a.example.com', 'x.com', 'com', 'org', ''),
    headers: fc.array(fc.tuple(fc.constantFrom('x', 'X', 'y'), fc.constantFrom('1', '2', 'a b', '')), { maxLength: 3 })
  })
  .map(({ path: p, query, ...rest }) => ({ ...rest, target: p + query }))

function compareWithReference(
  listeners: readonly (ReferenceListener & ReturnType<typeof listener>)[],
  requests: readonly ExchangeOptions[]
): void {
  const router = routerOf([{ port: 80, listeners }])
  for (const options of requests) {
    const ex = fakeExchange(options)
    const answer = referenceRoute(listeners, ex)
    const code = router.route(ex)
    if (typeof answer === 'string') assert.equal(code, answer)
    else {
      assert.equal(code, null)
      assert.equal(ex.route!.name, `${answer.listener}/${answer.route}`)
      assert.equal(ex.matchIndex, answer.match)
    }
  }
}

test('any configuration answers as the reference does', () => {
  const listeners = fc.uniqueArray(fc.record({ hostname, routes: fc.array(anyRoute, { maxLength: 8 }) }), {
    maxLength: 3,
    selector: (l) => l.hostname
  })
  fc.assert(
    fc.property(listeners, fc.array(request, { maxLength: 12 }), (specs, requests) => {
      compareWithReference(specs.map(withNames), requests)
    }),
    { numRuns: 500 }
  )
})

test('5,000 routes answer as the reference does', () => {
  const routes = fc.sample(anyRoute, { numRuns: 5_000, seed: 1 }).map((spec, i) => ({
    ...spec,
    // Most routes of a large configuration have a path of their own.
    matches: i % 5 === 0 ? spec.matches : [{ ...spec.matches[0]!, path: { prefix: `/api/${i % 700}/${i}` } }]
  }))
  const requests = fc.sample(request, { numRuns: 100, seed: 2 })
  const deep = requests.map((options, i) => ({ ...options, target: `/api/${(i * 43) % 700}/${i * 43}/x?q=1` }))
  compareWithReference([withNames({ hostname: '*', routes }, 0)], [...requests, ...deep])
})

function withNames(spec: ReferenceListener, l: number) {
  return listener(spec.hostname, ...spec.routes.map((r, i) => ({ ...r, name: `${l}/${i}` })))
}

test('a router that takes over from the one before routes as one that is made from nothing', () => {
  const hostnames = ['a.com', 'b.a.com', '*.a.com', '*']
  const spec = fc.record({
    name: fc.constantFrom('1', '2', '3', '4'),
    hostnames: fc.subarray(hostnames),
    matches: fc.array(
      fc.constantFrom('/', '/x', '/x/y').map((prefix) => on({ path: { prefix } })),
      { minLength: 1 }
    )
  })
  const specs = fc.array(spec, { minLength: 1, maxLength: 6 })
  // The same objects come and go, and stand elsewhere.
  const lists = specs.chain((all) => fc.array(fc.shuffledSubarray(all), { minLength: 2, maxLength: 8 }))
  const hosts = ['a.com', 'b.a.com', 'c.a.com', 'other']
  const check = fc.property(lists, (rounds) => {
    const cache = new RouterCache()
    const made = new Map<RouterRoute, Route>()
    for (const routes of rounds) {
      const binds = [{ port: 80, listeners: [listener('*', ...routes)] }]
      const [next, fresh] = [routerOf(binds, [], cache, made), routerOf(binds, [], undefined, made)]
      for (const authority of hosts) {
        for (const target of ['/', '/x', '/x/y/z']) {
          const [one, other] = [fakeExchange({ authority, target }), fakeExchange({ authority, target })]
          assert.equal(next.route(one), fresh.route(other))
          assert.deepEqual([one.route?.name, one.matchIndex], [other.route?.name, other.matchIndex])
        }
      }
    }
  })
  fc.assert(check, { numRuns: 200 })
})
