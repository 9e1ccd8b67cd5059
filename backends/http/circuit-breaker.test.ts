/** What circuitBreaker bounds: requests, those that wait, connections, retries; for all workers together. */
import { deepEqual, equal, match } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { startGateway, type TestGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

/** A server that answers when it is told to. */
async function held(t: TestContext) {
  const waiting: ServerResponse[] = []
  let came: (() => void) | null = null
  let gone: (() => void) | null = null
  const origin = await startOrigin((response) => {
    waiting.push(response)
    came?.()
    response.on('close', () => {
      if (response.writableEnded) return
      waiting.splice(waiting.indexOf(response), 1)
      gone?.()
    })
  })
  t.after(() => origin.close())
  return {
    port: origin.port,
    /** Resolves when `count` requests wait. */
    async has(count: number): Promise<void> {
      while (waiting.length < count) {
        await new Promise<void>((resolve) => {
          came = resolve
        })
      }
    },
    /** Resolves when none waits any more, and the gateway has left. */
    async left(): Promise<void> {
      while (waiting.length > 0) {
        await new Promise<void>((resolve) => {
          gone = resolve
        })
      }
    },
    release(status = 200) {
      for (const response of waiting.splice(0)) response.writeHead(status).end()
    },
    releaseLast(status: number) {
      waiting.pop()!.writeHead(status).end()
    }
  }
}

const yaml = (port: number, limits: string, route = '{}') => `
binds: [{ port: 0, listeners: [{ routes: [{ policies: ${route}, backends: [{ backend: shop }] }] }] }]
backends: [{ name: shop, host: "127.0.0.1:${port}", policies: { circuitBreaker: ${limits} } }]
`

async function gate(t: TestContext, port: number, limits: string, options?: TestOptions, route?: string) {
  const gateway = await startGateway(yaml(port, limits, route), options)
  t.after(() => gateway.close())
  return gateway
}

const get = async ({ port }: TestGateway) =>
  await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
const statusOf = (answer: string) => answer.slice(9, 12)

test('requests beyond maxRequests are refused, in whichever worker, and there is room again when one is over', async (t) => {
  const server = await held(t)
  const addresses = SharedRows.create()
  const one = await gate(t, server.port, '{ maxRequests: 2 }', { addresses })
  const first = [get(one), get(one)]
  await server.has(2)
  const refused = await get(one)
  match(refused, /^HTTP\/1.1 503 [\s\S]*as much is under way to the backend as may be: try again/)
  match(one.metrics(), /weir_upstream_overflows_total\{destination="127.0.0.1:\d+",kind="requests"\} 1\n/)
  server.release()
  deepEqual((await Promise.all(first)).map(statusOf), ['200', '200'])
  const next = get(one)
  await server.has(1)
  server.release()
  equal(statusOf(await next), '200')
})

test('requests that wait for a connection are bounded apart', async (t) => {
  const server = await held(t)
  const gateway = await gate(t, server.port, '{ maxConnections: 1, maxPendingRequests: 1 }')
  const first = get(gateway)
  await server.has(1)
  const second = get(gateway)
  // It waits: the third one finds it waiting.
  const third = await get(gateway)
  equal(statusOf(third), '503')
  match(gateway.metrics(), /kind="pending_requests"\} 1\n/)
  match(gateway.metrics(), /kind="connections"\} \d+\n/)
  server.release()
  await server.has(1)
  server.release()
  deepEqual((await Promise.all([first, second])).map(statusOf), ['200', '200'])
  match(gateway.metrics(), /weir_upstream_connects_total\{result="ok"\} 1\n/)
})

test('with too many retries under way an exchange gets the answer that it has', async (t) => {
  const server = await held(t)
  const retry = '{ retry: { attempts: 1, codes: [503], backoff: 1ms } }'
  const gateway = await gate(t, server.port, '{ maxRetries: 1 }', {}, retry)
  const first = get(gateway)
  await server.has(1)
  server.release(503)
  // Its second attempt.
  await server.has(1)
  const second = get(gateway)
  await server.has(2)
  server.releaseLast(503)
  equal(statusOf(await second), '503')
  server.release(503)
  equal(statusOf(await first), '503')
  match(gateway.metrics(), /kind="retries"\} 1\n/)
  const third = get(gateway)
  await server.has(1)
  server.release(503)
  await server.has(1)
  server.release()
  equal(statusOf(await third), '200')
})

/** Of shop: each kind of bound, so that a count that stays refuses what comes next. */
const ONE = '{ maxConnections: 1, maxRequests: 1, maxPendingRequests: 1, maxRetries: 1 }'

/** Sends a request and leaves when the server has it. */
async function leave(gateway: TestGateway, server: Awaited<ReturnType<typeof held>>): Promise<void> {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await server.has(1)
  socket.destroy()
  await server.left()
}

test('clients that leave, and a reload, leave no counts behind, in two workers that share them', async (t) => {
  const server = await held(t)
  const addresses = SharedRows.create()
  const [one, other] = [
    await gate(t, server.port, ONE, { addresses, place: [0, 2] }),
    await gate(t, server.port, ONE, { addresses, place: [1, 2] })
  ]
  for (const gateway of [one, other, one, other]) await leave(gateway, server)
  await one.reload(yaml(server.port, ONE, '{ timeouts: { request: 20s } }'))
  for (const gateway of [other, one]) {
    const answer = get(gateway)
    await server.has(1)
    equal(statusOf(await get(one)), '503')
    equal(statusOf(await get(other)), '503')
    server.release()
    equal(statusOf(await answer), '200')
  }
})

test('two ways to one server have bounds of their own, and neither forgets what the other has under way', async (t) => {
  const server = await held(t)
  const route = (path: string, timeout: string) =>
    `{ matches: [{ path: { exact: ${path} } }], backends: [{ host: "127.0.0.1:${server.port}", policies:
      { circuitBreaker: { maxRequests: 1 }, tcp: { connectTimeout: ${timeout} } } }] }`
  const routes = (second: string) => `binds: [{ port: 0, listeners: [{ routes: [${route('/', '5s')}, ${second}] }] }]`
  const gateway = await startGateway(routes(route('/b', '6s')))
  t.after(() => gateway.close())
  const first = get(gateway)
  await server.has(1)
  // An endpoint that is made later begins at nothing, which is its own number only.
  await gateway.reload(routes(route('/b', '7s')))
  const sent = server.has(2).then(() => 'sent')
  equal(await Promise.race([get(gateway).then(statusOf), sent]), '503')
  server.release()
  equal(statusOf(await first), '200')
})

test('what clients name is one destination in metrics, so that they cannot fill memory', async (t) => {
  const servers = [await held(t), await held(t)]
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { circuitBreaker: { maxRequests: 1 } }
            backends: [{ dynamic: { allowAddresses: [127.0.0.0/8] } }]
`)
  t.after(() => gateway.close())
  for (const { port, has, release } of servers) {
    const ask = () =>
      exchangeRaw(gateway.port, `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`)
    const first = ask()
    await has(1)
    equal(statusOf(await ask()), '503')
    release()
    equal(statusOf(await first), '200')
  }
  match(gateway.metrics(), /^weir_upstream_overflows_total\{destination="dynamic",kind="requests"\} 2$/m)
})
