/** A backend with several servers: shares, names, changes while connections are open, and one that is away. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

const config = (hosts: string, policies = '{}', route = '{}') => `
binds:
  - port: 0
    listeners: [{ routes: [{ policies: ${route}, backends: [{ backend: shop }] }] }]
backends: [{ name: shop, hosts: ${hosts}${policies === '{}' ? '' : `, policies: ${policies}`} }]
`

const get = (port: number, lines = '') =>
  exchangeRaw(port, `GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n${lines}\r\n`)

async function origins(t: TestContext, count: number): Promise<Origin[]> {
  const all = Array.from({ length: count }, () => startOrigin((response) => response.end('ok')))
  const started = await Promise.all(all)
  t.after(() => {
    for (const origin of started) origin.close()
  })
  return started
}

async function start(t: TestContext, yaml: string): Promise<TestGateway> {
  const gateway = await startGateway(yaml)
  t.after(() => gateway.close())
  return gateway
}

const seen = (all: readonly Origin[]) => all.map((origin) => origin.seen.length)
const listOf = (all: readonly Origin[]) => `[${all.map(({ port }) => `"127.0.0.1:${port}"`).join()}]`

test('all hosts get requests, by their weights', async (t) => {
  const [a, b] = (await origins(t, 2)) as [Origin, Origin]
  const hosts = `["127.0.0.1:${a.port}", { host: "127.0.0.1:${b.port}", weight: 3 }]`
  const gateway = await start(t, config(hosts, '{ loadBalancing: { policy: RoundRobin } }'))
  for (let i = 0; i < 40; i++) match(await get(gateway.port), /^HTTP\/1.1 200/)
  ok(Math.abs(a.seen.length - 10) <= 2, String(seen([a, b])))
})

test('each host is sent its own name where names are rewritten, the next one too when a connection has died', async (t) => {
  const all = await origins(t, 2)
  const hosts = `["localhost:${all[0]!.port}", "127.0.0.1:${all[1]!.port}"]`
  const gateway = await start(t, config(hosts, '{ loadBalancing: { policy: RoundRobin } }'))
  // A name that is still being looked up is passed over.
  while (all.some((origin) => origin.seen.length < 3)) await get(gateway.port)
  const names = all.map((origin) => [...new Set(origin.seen.map(({ headers }) => headers[1]))])
  deepEqual(names, [[`localhost:${all[0]!.port}`], [`127.0.0.1:${all[1]!.port}`]])
})

test('what has one hash goes to one host', async (t) => {
  const all = await origins(t, 3)
  const policy = `{ loadBalancing: { policy: ConsistentHash, hash: 'request.headers["x-user"]' } }`
  const gateway = await start(t, config(listOf(all), policy))
  for (let i = 0; i < 12; i++) await get(gateway.port, 'X-User: ann\r\n')
  deepEqual(seen(all).toSorted(), [0, 0, 12])
})

test('a host that is away is left out, without a failed request', async (t) => {
  const all = await origins(t, 3)
  all[1]!.close()
  const gateway = await start(t, config(listOf(all)))
  for (let i = 0; i < 9; i++) match(await get(gateway.port), /^HTTP\/1.1 200/)
  equal(all[0]!.seen.length + all[2]!.seen.length, 9)
})

test('hosts come and go with a reload, and connections to those that stay live on', async (t) => {
  const all = await origins(t, 3)
  const policy = '{ loadBalancing: { policy: RoundRobin } }'
  const gateway = await start(t, config(listOf(all.slice(0, 2)), policy))
  for (let i = 0; i < 4; i++) await get(gateway.port)
  const connects = () => /weir_upstream_connects_total\{result="ok"\} (\d+)/.exec(gateway.metrics())?.[1]
  equal(connects(), '2')
  await gateway.reload(config(listOf([all[0]!, all[2]!]), policy))
  for (let i = 0; i < 4; i++) await get(gateway.port)
  deepEqual(seen(all), [4, 2, 2])
  equal(connects(), '3')
})

test('a retry goes to another host', async (t) => {
  const [good] = (await origins(t, 1)) as [Origin]
  const bad = await startOrigin((response) => response.writeHead(503).end())
  t.after(() => bad.close())
  const gateway = await start(
    t,
    config(listOf([bad, good]), '{}', '{ retry: { attempts: 1, codes: [503], backoff: 1ms } }')
  )
  for (let i = 0; i < 6; i++) match(await get(gateway.port), /^HTTP\/1.1 200/)
  equal(good.seen.length, 6)
})
