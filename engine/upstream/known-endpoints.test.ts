/** Endpoints are forgotten when no configuration has them, on a clock of the test's own. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointOptions } from '#engine/contract/endpoint.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { createUpstream } from './client.ts'
import { KnownEndpoints } from './known-endpoints.ts'
import { MeshTls } from './mesh.ts'

const KEPT_MS = 5_000

function bench() {
  let now = 1_000_000
  const known = new KnownEndpoints<{ total: number }>(() => now)
  const pass = (ms: number) => {
    now += ms
    known.look()
  }
  return { known, pass }
}

test('of a thousand configurations with destinations of their own, those of the last one are left', () => {
  const { known, pass } = bench()
  let ended = () => {}
  for (let i = 0; i < 1_000; i++) {
    const works = [0, 1, 2].map((n) => known.addConfigured(`service-${i}-${n}`, { total: 0 }))
    for (const work of works) work.begin()
    ended()
    ended = () => works.forEach((work) => void work.end())
    pass(KEPT_MS)
  }
  equal(known.size, 3)
  deepEqual([...known.values()].length, 3)
})

test('one is kept while a configuration has it, a connection to it lasts, or it may come back', () => {
  const { known, pass } = bench()
  const endpoint = { total: 0 }
  const work = known.addConfigured('a', endpoint)
  // Two backends of one configuration have it.
  for (let i = 0; i < 2; i++) work.begin()
  work.end()
  pass(10 * KEPT_MS)
  equal(known.get('a'), endpoint)
  work.end()
  pass(KEPT_MS - 1)
  equal(known.get('a'), endpoint)
  work.begin()
  pass(10 * KEPT_MS)
  equal(known.get('a'), endpoint)
  endpoint.total = 1
  work.end()
  pass(10 * KEPT_MS)
  equal(known.get('a'), endpoint)
  endpoint.total = 0
  pass(0)
  equal(known.get('a'), undefined)
  // It is compiled once and begins again: nothing else stands in its place.
  work.begin()
  equal(known.get('a'), endpoint)
})

test('what was made for a configuration that is refused goes too', () => {
  const { known, pass } = bench()
  known.addConfigured('a', { total: 0 })
  pass(KEPT_MS - 1)
  equal(known.size, 1)
  pass(1)
  equal(known.size, 0)
})

test('what clients name leaves room, and nothing that a configuration has goes for it', () => {
  const { known, pass } = bench()
  const works = Array.from({ length: 9_000 }, (_, i) => known.addConfigured(`service-${i}`, { total: 0 }))
  for (const work of works) work.begin()
  const busy = { total: 1 }
  known.addNamed('busy', busy)
  for (let i = 0; i < 20_000; i++) known.addNamed(`named-${i}`, { total: 0 })
  pass(KEPT_MS)
  equal(known.size <= 9_000 + 8_192, true, String(known.size))
  equal(known.get('busy'), busy)
  equal(known.get('named-0'), undefined)
  notEqual(known.get('named-19999'), undefined)
  equal(
    works.every((_, i) => known.get(`service-${i}`) !== undefined),
    true
  )
})

test('the upstream of a worker forgets destinations of HTTP and of TCP', () => {
  let now = 1_000_000
  const upstream = createUpstream({
    sockets: {} as never,
    mesh: new MeshTls(),
    llhttp: llhttp(),
    timers: new TimerWheel(),
    events: {} as ServerEvents,
    idleTimeoutMs: 1,
    poolMax: 1,
    requestsPerConnectionMax: 0,
    observer: { connected() {}, connectFailed() {}, retried() {} },
    lists: null,
    rows: new SharedRows(SharedRows.create(), () => now),
    worker: { index: 0, count: 1 }
  })
  const to = { host: '192.0.2.1', port: 80, unixPath: null }
  const options: EndpointOptions = { guarded: false, allow: [], connectTimeoutMs: 1_000, tls: null }
  const all = () => [upstream.endpoint(to, options), upstream.stream(to, options)] as const
  const before = all()
  for (const { background } of before) background!.begin()
  now += 10 * KEPT_MS
  upstream.look()
  deepEqual(
    all().map((one, i) => one === before[i]),
    [true, true]
  )
  for (const { background } of before) background!.end()
  now += KEPT_MS
  upstream.look()
  deepEqual(
    all().map((one, i) => one === before[i]),
    [false, false]
  )
})
