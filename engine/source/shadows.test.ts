import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bind } from '#engine/ir/snapshot.ts'
import { good, warningsOf } from '#engine/standalone/testing/fakes.ts'
import { routerOf } from '#engine/testing/build-router.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'

/** Warnings of one listener with these routes, without what stands before the path. */
function warned(routes: readonly object[], hostname = '*', more: readonly object[] = []): string[] {
  const file = { binds: [{ port: 80, listeners: [{ name: 'it', hostname, routes }, ...more] }] }
  return warningsOf(JSON.stringify(file)).map((text) => text.replace(/^\S+ binds\[0\]\.listeners\[\d\]\./, ''))
}

const at = (path: object, more: object = {}) => ({ path, ...more })
const prefix = (pathPrefix: string, more: object = {}) => at({ pathPrefix }, more)
const route = (name: string, ...matches: object[]) => ({ name, ...(matches.length === 0 ? {} : { matches }) })
const never = (r: number, by: string) =>
  `routes[${r}]: is never chosen: others take every request that it matches, such as the route "${by}"`
const header = (name: string, exact: string) => ({ name, value: { exact } })

test('a route whose matches a route before it has is never chosen', () => {
  assert.deepEqual(warned([route('a'), route('b')]), [never(1, 'a')])
  assert.deepEqual(warned([route('a', prefix('/x')), route('b', prefix('/x/'))]), [never(1, 'a')])
  const both = { headers: [header('X-A', '1'), header('x-b', '2')], method: 'GET' }
  const turned = { method: 'GET', headers: [header('x-b', '2'), header('x-a', '1')] }
  assert.deepEqual(warned([route('a', prefix('/', both)), route('b', prefix('/', turned))]), [never(1, 'a')])
  assert.deepEqual(
    warned([
      route('a', at({ exact: '/x' })),
      route('b', at({ regex: '/r' })),
      route('c', at({ exact: '/x' }), at({ regex: '/r' }))
    ]),
    [never(2, 'a')]
  )
})

test('a route that still gets some requests has no warning', () => {
  const query = [{ name: 'q', value: { exact: '1' } }]
  for (const routes of [
    [route('a', prefix('/x')), route('b', prefix('/x'), prefix('/y'))],
    [route('a'), route('b', at({ exact: '/' }))],
    [route('a', prefix('/x')), route('b', prefix('/x', { method: 'GET' }))],
    [route('a', prefix('/x', { method: 'GET' })), route('b', prefix('/x'))],
    [route('a', prefix('/x', { headers: [header('a', '1')] })), route('b', prefix('/x', { query }))],
    [
      route('a', prefix('/x', { headers: [header('a', '1')] })),
      route('b', prefix('/x', { headers: [header('a', '2')] }))
    ],
    [
      route('a', prefix('/x', { headers: [header('a', '1')] })),
      route('b', prefix('/x', { headers: [header('a', '1'), header('b', '1')] }))
    ],
    [{ ...route('a'), hostnames: ['a.test'] }, route('b')],
    [
      { ...route('a'), hostnames: ['a.test'] },
      { ...route('b'), hostnames: ['a.test', 'b.test'] }
    ],
    [route('a', prefix('/x'), prefix('/x'))],
    [route('a'), route('b', at({ regex: '.*' }))]
  ]) {
    assert.deepEqual(warned(routes), [], JSON.stringify(routes))
  }
})

test('an expression beside a prefix for every path is never asked, in whatever order', () => {
  const all = route('all')
  const some = route('some', at({ regex: '/a/[0-9]+' }))
  assert.deepEqual(warned([some, all]), [never(0, 'all')])
  assert.deepEqual(warned([all, some]), [never(1, 'all')])
  assert.deepEqual(warned([some, { ...all, hostnames: ['a.test'] }]), [])
  assert.deepEqual(warned([{ ...some, hostnames: ['a.test'] }, all]), [])
})

test('a narrow listener has more specific host names take what the wider ones could', () => {
  const own = { ...route('own'), hostnames: ['a.test'] }
  const wide = { ...route('wide'), hostnames: ['*.test', '*'] }
  assert.deepEqual(warned([wide, own], 'a.test'), [never(0, 'own')])
  assert.deepEqual(warned([wide, own], '*.test'), [])
  assert.deepEqual(warned([wide, { ...own, ...route('own', prefix('/x')) }], 'a.test'), [])
})

test('a host name that a more precise listener takes has a warning, and so has one outside the listener', () => {
  const precise = { name: 'precise', hostname: 'a.x.test', routes: [] }
  const below = { name: 'below', hostname: '*.y.test', routes: [] }
  const hostnames = ['a.x.test', 'b.x.test', '*.z.y.test', '*.x.test', 'other']
  const gone = (i: number, name: string) =>
    `routes[0].hostnames[${i}]: is never a host of this listener: requests for it go to the listener "${name}"`
  assert.deepEqual(warned([{ hostnames }], '*.test', [precise, below]), [
    'routes[0].hostnames[4]: "other" is never a host of this listener, which serves "*.test"',
    gone(0, 'precise'),
    gone(2, 'below')
  ])
})

/** A small world in which much collides: what is told must be true of the router itself. */
test('no request ever reaches a route with the warning that it is never chosen', () => {
  let state = 7
  const pick = <T>(list: readonly T[]): T => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return list[Math.floor((state / 2 ** 31) * list.length)]!
  }
  const HOSTS = ['a.test', 'b.a.test', '*.test', '*.a.test', '*']
  const PATHS = [
    { exact: '/' },
    { exact: '/x' },
    { pathPrefix: '/' },
    { pathPrefix: '/x' },
    { pathPrefix: '/x/' },
    { regex: '/x.*' },
    { regex: '.*' }
  ]
  const EXTRAS = [
    {},
    {},
    {},
    { method: 'GET' },
    { headers: [header('h', '1')] },
    { headers: [header('h', '1')], method: 'GET' }
  ]
  const REQUESTS = ['a.test', 'b.a.test', 'c.a.test', 'c.test', 'other'].flatMap((authority) =>
    ['/', '/x', '/x/y', '/xy', '/z', '*'].flatMap((target) =>
      ['GET', 'OPTIONS'].flatMap((method) =>
        [[], [['h', '1'] as const]].map((headers) => ({ authority, target, method, headers }))
      )
    )
  )
  let reported = 0
  let missed = 0
  for (let round = 0; round < 400; round++) {
    const listeners = [...new Set([pick(HOSTS), pick(HOSTS)])].map((hostname, l) => ({
      name: `l${l}`,
      hostname,
      routes: Array.from({ length: 4 }, (_, r) => ({
        name: `l${l}r${r}`,
        ...(pick([true, false]) ? { hostnames: [...new Set([pick(HOSTS), pick(HOSTS)])] } : {}),
        matches: Array.from({ length: pick([1, 2]) }, () => ({ path: pick(PATHS), ...pick(EXTRAS) }))
      }))
    }))
    const text = JSON.stringify({ binds: [{ port: 80, listeners }] })
    const reached = reachedBy(good(text).binds, REQUESTS)
    const lines = warningsOf(text).filter((line) => line.includes('is never chosen'))
    const dead = lines.map((line) => /listeners\[(\d)\]\.routes\[(\d)\]: is never/.exec(line)!)
    for (const [, l, r] of dead) assert.ok(!reached.has(`l${l}r${r}`), `l${l}r${r} of ${text}`)
    reported += dead.length
    missed += listeners.length * 4 - reached.size - dead.length
  }
  assert.ok(reported > 300, String(reported))
  assert.ok(missed < 2 * reported, String(missed))
})

function reachedBy(binds: readonly Bind[], requests: readonly Parameters<typeof fakeExchange>[0][]): Set<string> {
  const router = routerOf(binds)
  const names = requests.map((request) => {
    const ex = fakeExchange(request)
    router.route(ex)
    return ex.route?.name ?? ''
  })
  return new Set(names.filter((name) => name !== ''))
}
