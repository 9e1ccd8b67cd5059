/** Hosts that fail are left out: by status, by silence, for all workers; and not when too few would be left. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { startGateway, type TestGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

type Reply = (response: ServerResponse) => void
const good: Reply = (response) => response.end('ok')
const bad: Reply = (response) => response.writeHead(500).end()
const silent: Reply = () => {}

async function start(t: TestContext, replies: readonly Reply[]): Promise<Origin[]> {
  const all = await Promise.all(replies.map((reply) => startOrigin(reply)))
  t.after(() => {
    for (const origin of all) origin.close()
  })
  return all
}

async function gate(t: TestContext, hosts: readonly Origin[], policies: string, options?: TestOptions, route = '{}') {
  const list = hosts.map(({ port }) => `"127.0.0.1:${port}"`).join()
  const gateway = await startGateway(
    `binds: [{ port: 0, listeners: [{ routes: [{ policies: ${route}, backends: [{ backend: shop }] }] }] }]
backends: [{ name: shop, hosts: [${list}], policies: ${policies} }]`,
    options
  )
  t.after(() => gateway.close())
  return gateway
}

const get = async ({ port }: TestGateway) =>
  (await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')).slice(9, 12)

async function many(gateway: TestGateway, count: number): Promise<string[]> {
  const statuses = []
  for (let i = 0; i < count; i++) statuses.push(await get(gateway))
  return statuses
}

const RULE = '{ loadBalancing: { policy: RoundRobin }, health: { ejection: { consecutive5xx: 3, baseTime: 300s } } }'

test('a host that answers 500 is left out after so many, and counted', async (t) => {
  const origins = await start(t, [good, bad, good])
  const gateway = await gate(t, origins, RULE)
  await many(gateway, 12)
  equal(origins[1]!.seen.length, 3)
  deepEqual([...new Set(await many(gateway, 10))], ['200'])
  match(gateway.metrics(), /weir_upstream_ejections_total\{destination="shop",reason="consecutive_5xx"\} 1\n/)
})

test('workers count together', async (t) => {
  const origins = await start(t, [good, bad, good])
  const addresses = SharedRows.create()
  const one = await gate(t, origins, RULE, { addresses })
  const other = await gate(t, origins, RULE, { addresses })
  await many(one, 6)
  equal(origins[1]!.seen.length, 2)
  await many(other, 6)
  equal(origins[1]!.seen.length, 3)
  deepEqual([...new Set([...(await many(one, 6)), ...(await many(other, 6))])], ['200'])
})

test('one that does not answer in time is a failure, and the requests that wait end', async (t) => {
  const origins = await start(t, [good, silent])
  // Long enough for the one that does answer, also on a slow machine.
  const route = '{ timeouts: { backendRequest: 1s } }'
  const gateway = await gate(t, origins, RULE, {}, route)
  const statuses = await many(gateway, 10)
  equal(statuses.filter((status) => status === '504').length, 3)
  deepEqual([...new Set(await many(gateway, 5))], ['200'])
})

test('with too few left all are used again', async (t) => {
  const origins = await start(t, [good, bad, bad, bad])
  const policies = RULE.replace('baseTime', 'maxEjectedPercent: 100, baseTime')
  const gateway = await gate(t, origins, policies)
  await many(gateway, 12)
  deepEqual(
    origins.map(({ seen }) => seen.length),
    [3, 3, 3, 3]
  )
  ok((await many(gateway, 12)).includes('500'))
  const brave = await gate(t, origins, policies.replace('ejection:', 'panicThreshold: 0, ejection:'))
  await many(brave, 12)
  deepEqual([...new Set(await many(brave, 12))], ['200'])
})

test('a backend of a route whose only server is left out gives its share to the others', async (t) => {
  const [worst, other] = (await start(t, [bad, good])) as [Origin, Origin]
  const gateway = await startGateway(`
policies: { health: { eviction: { consecutiveFailures: 2, duration: 300s } } }
binds:
  - port: 0
    listeners: [{ routes: [{ backends: [{ host: "127.0.0.1:${worst.port}" }, { host: "127.0.0.1:${other.port}" }] }] }]
`)
  t.after(() => gateway.close())
  await many(gateway, 20)
  equal(worst.seen.length, 2)
})

test('a condition that fails says nothing against the server, and is counted', async (t) => {
  const origins = await start(t, [bad, bad])
  // There is no such header field.
  const policies = `{ health: { ejection: { consecutive5xx: 1, unhealthyCondition: 'response.headers["x-none"] == "1"' } } }`
  const gateway = await gate(t, origins, policies)
  deepEqual([...new Set(await many(gateway, 8))], ['500'])
  match(gateway.metrics(), /^weir_expression_failures_total\{policy="health"\} 8$/m)
  ok(!gateway.metrics().includes('weir_upstream_ejections_total{'))
})

test('an ejection in the middle of retries: those that follow go elsewhere', async (t) => {
  const origins = await start(t, [bad, bad, good])
  const retry = '{ retry: { attempts: 6, codes: [500], backoff: 1ms } }'
  const policies = RULE.replace('consecutive5xx: 3', 'consecutive5xx: 1, maxEjectedPercent: 100').replace(
    'ejection:',
    'panicThreshold: 0, ejection:'
  )
  const gateway = await gate(t, origins, policies, {}, retry)
  // Each bad one fails one attempt of the first exchanges, and none after that.
  deepEqual([...new Set(await many(gateway, 12))], ['200'])
  deepEqual(
    origins.map(({ seen }) => seen.length),
    [1, 1, 12]
  )
})

test('with all left out a reload that brings another host makes it the one that is used', async (t) => {
  const origins = await start(t, [bad, bad, good])
  const [first, second, third] = origins as [Origin, Origin, Origin]
  for (const panicThreshold of [0, 50]) {
    const policies = (hosts: readonly Origin[]) => `
binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ backend: shop }] }] }] }]
backends:
  - name: shop
    hosts: [${hosts.map(({ port }) => `"127.0.0.1:${port}"`).join()}]
    policies:
      loadBalancing: { policy: RoundRobin }
      health: { panicThreshold: ${panicThreshold}, ejection: { consecutive5xx: 1, baseTime: 300s, maxEjectedPercent: 100 } }`
    const gateway = await startGateway(policies([first, second]))
    t.after(() => gateway.close())
    await many(gateway, 4)
    // Nothing else can be reached: they are tried.
    equal(await get(gateway), '500')
    const under = many(gateway, 20)
    await gateway.reload(policies([first, second, third]))
    await under
    const before = third.seen.length
    const statuses = await many(gateway, 9)
    // Of three one is usable: less than half, so that with a threshold of 50 all share the load.
    const expected = panicThreshold === 0 ? 9 : 3
    equal(third.seen.length - before, expected)
    equal(statuses.filter((status) => status === '200').length, expected)
    await gateway.reload(policies([third]))
    deepEqual([...new Set(await many(gateway, 4))], ['200'])
    // Those that come back are still left out.
    await gateway.reload(policies([third, first]))
    const again = first.seen.length
    await many(gateway, 6)
    if (panicThreshold === 0) equal(first.seen.length, again)
  }
})
