/** Active checks over HTTP, gRPC and TCP: once for the process, and as long as the servers are configured. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { startGateway, type TestGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

interface Checked extends Origin {
  isHealthy: boolean
  /** Resolves at the next check. */
  nextCheck(): Promise<void>
  readonly checks: number
}

async function checked(t: TestContext): Promise<Checked> {
  let wake: (() => void) | null = null
  const origin = await startOrigin((response, { url }) => {
    response.writeHead(url === '/well' && !made.isHealthy ? 503 : 200).end()
    if (url === '/well') wake?.()
  })
  const made: Checked = {
    ...origin,
    isHealthy: true,
    nextCheck: () =>
      new Promise((resolve) => {
        wake = resolve
      }),
    get checks() {
      return origin.seen.filter(({ url }) => url === '/well').length
    }
  }
  t.after(() => origin.close())
  return made
}

const HTTP = '{ http: { path: /well }, interval: 100ms, unhealthyThreshold: 2 }'

const config = (ports: readonly number[], active: string) => `
binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ backend: shop }] }] }] }]
backends: [{ name: shop, hosts: [${ports.map((port) => `"127.0.0.1:${port}"`).join()}], policies: { health: { active: ${active}, panicThreshold: 0 } } }]
`

async function start(t: TestContext, yaml: string, options?: TestOptions): Promise<TestGateway> {
  const gateway = await startGateway(yaml, options)
  t.after(() => gateway.close())
  return gateway
}

const get = async ({ port }: TestGateway) =>
  (await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')).slice(9, 12)

const requests = ({ seen }: Origin) => seen.filter(({ url }) => url === '/').length

test('one that is not well gets no requests, until it is well again', async (t) => {
  const [a, b] = [await checked(t), await checked(t)]
  b.isHealthy = false
  const gateway = await start(t, config([a.port, b.port], HTTP))
  // The first check decides alone. Behind the second one its outcome is known.
  for (let i = 0; i < 2; i++) await b.nextCheck()
  for (let i = 0; i < 6; i++) equal(await get(gateway), '200')
  deepEqual([requests(a), requests(b)], [6, 0])
  match(gateway.metrics(), /weir_upstream_checks_total\{destination="shop",result="failed"\} \d/)
  b.isHealthy = true
  for (let i = 0; i < 2; i++) await b.nextCheck()
  for (let i = 0; i < 6; i++) await get(gateway)
  ok(requests(b) > 0)
  equal(b.seen.find(({ url }) => url === '/well')!.headers.includes('weir-health-check'), true)
})

test('workers share the checks, and they end with the configuration that has them', async (t) => {
  const one = await checked(t)
  const addresses = SharedRows.create()
  const yaml = config([one.port], HTTP.replace('100ms', '200ms'))
  const gateways = [await start(t, yaml, { addresses }), await start(t, yaml, { addresses })]
  for (let i = 0; i < 4; i++) await one.nextCheck()
  const total = gateways.map((gateway) => Number(/checks_total\{[^}]*"ok"\} (\d+)/.exec(gateway.metrics())?.[1] ?? 0))
  ok(total[0]! + total[1]! <= one.checks, `${total} of ${one.checks}`)
  const other = await checked(t)
  for (const gateway of gateways) await gateway.reload(config([other.port], HTTP))
  const before = one.checks
  for (let i = 0; i < 6; i++) await other.nextCheck()
  // One may have been under way.
  ok(one.checks <= before + 1, `${one.checks} ${before}`)
})

test('a server of gRPC is nextCheck by its protocol', async (t) => {
  let status = 2
  let wake: (() => void) | null = null
  const server = createServer()
  server.on('stream', (stream, { ':path': path }) => {
    equal(path, '/grpc.health.v1.Health/Check')
    stream.resume()
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, status]))
    wake?.()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const nextCheck = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => sessions.push(session))
  t.after(() => {
    server.close()
    for (const session of sessions) session.destroy()
  })
  const { port } = server.address() as AddressInfo
  const gateway = await start(t, config([port], '{ grpc: {}, interval: 100ms, unhealthyThreshold: 1 }'))
  for (let i = 0; i < 2; i++) await nextCheck()
  match(gateway.metrics(), /checks_total\{destination="shop",result="failed"\} [1-9]/)
  status = 1
  for (let i = 0; i < 3; i++) await nextCheck()
  match(gateway.metrics(), /checks_total\{destination="shop",result="ok"\} [1-9]/)
})

test('one that takes no connection is found by TCP, before a request goes there', async (t) => {
  const [good, gone] = [await checked(t), await checked(t)]
  gone.close()
  const gateway = await start(t, config([good.port, gone.port], '{ tcp: {}, interval: 100ms }'))
  const tellsOf = (result: string) => new RegExp(`checks_total\\{destination="shop",result="${result}"\\} [1-9]`)
  // Each request is one turn of the loop and more.
  while (!tellsOf('ok').test(gateway.metrics()) || !tellsOf('failed').test(gateway.metrics())) await get(gateway)
  const failed = /connects_total\{result="failed"\} (\d+)/.exec(gateway.metrics())?.[1]
  for (let i = 0; i < 6; i++) equal(await get(gateway), '200')
  equal(/connects_total\{result="failed"\} (\d+)/.exec(gateway.metrics())?.[1], failed)
})

test('one of the workers reports the addresses by state, as long as the configuration has them', async (t) => {
  const [good, bad] = [await checked(t), await checked(t)]
  bad.isHealthy = false
  const addresses = SharedRows.create()
  const yaml = config([good.port, bad.port], HTTP)
  const gateways = [
    await start(t, yaml, { addresses, place: [0, 2] }),
    await start(t, yaml, { addresses, place: [1, 2] })
  ]
  const all = () => gateways.flatMap((gateway) => gateway.metrics().match(/^weir_upstream_addresses\{.*/gm) ?? [])
  const line = (state: string, count: number) => `weir_upstream_addresses{destination="shop",state="${state}"} ${count}`
  const expected = [line('ejected', 0), line('healthy', 1), line('unhealthy', 1), line('unreachable', 0)]
  while (!all().includes(expected[2]!)) await bad.nextCheck()
  // Both have looked by then.
  for (let i = 0; i < 12; i++) await bad.nextCheck()
  deepEqual(all(), expected)
  for (const gateway of gateways) await gateway.reload(config([good.port], HTTP).replaceAll('shop', 'store'))
  while (!all().some((text) => text.includes('"store"'))) await good.nextCheck()
  ok(!all().some((text) => text.includes('"shop"')))
})
