/** The account of kept messages: nothing is left on it, however exchanges end; beyond it they are refused. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { after, afterEach, describe, test } from 'node:test'
import { collectRequest, collectResponse } from '#engine/contract/body.ts'
import { collectRequestPrefix, collectResponsePrefix } from '#engine/contract/body-prefix.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { type Exchange, STEP_SENDING } from '#engine/contract/exchange.ts'
import { CONTINUE } from '#engine/contract/filter.ts'
import { lookAtUnsent, useHeldBytes } from '#engine/contract/held-bytes.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, type RawClient, rawClient } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'
import { WorkerHeldBytes } from '#engine/workers/held-bytes.ts'
import { SharedState } from '#engine/workers/shared.ts'

const MIB = 1024 * 1024
/** More than the kernel takes of a client that does not read. */
const BIG_BYTES = 12_000_000
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const opened: { close(): void }[] = []
afterEach(() => {
  for (const one of opened.splice(0)) one.close()
})
after(() => useHeldBytes(null))

function accountOf(max: number): WorkerHeldBytes {
  const account = new WorkerHeldBytes(SharedState.create(1), 0, max)
  useHeldBytes(account)
  return account
}

async function stackFor(options: Partial<StackOptions> = {}): Promise<Stack> {
  const origin = await startOrigin((response, { url, body }) => {
    if (url === '/cut') response.destroy()
    else if (url === '/stream') response.write(`begun ${body.length}`)
    else if (url === '/long') response.end('x'.repeat(300_000))
    else if (url === '/big') response.end('x'.repeat(BIG_BYTES))
    else response.end(body)
  })
  const stack: Stack = await startStack({
    upstream: origin.port,
    requestHooks: [collectRequest(MIB)],
    responseHooks: [collectResponse(MIB, (ex, code) => stack.fail(ex, code))],
    ...options
  })
  opened.push(stack, origin)
  return stack
}

const post = (path: string, length: number, more = '') =>
  `POST ${path} HTTP/1.1\r\nHost: a.test\r\n${more}Content-Length: ${length}\r\n\r\n`

/** What clients have been handed is given back when somebody looks, which a worker does twice a second. */
async function emptied(account: WorkerHeldBytes): Promise<void> {
  while (account.bytes > 0) {
    await turn()
    lookAtUnsent()
  }
  equal(account.bytes, 0)
}

interface Clients {
  read(): void
  leave(): void
}

/** They ask for BIG_BYTES each, one after the other. */
async function zeroWindows(port: number, count: number): Promise<Clients> {
  const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } })
  session.on('error', () => {})
  for (let n = 0; n < count; n++) {
    const stream = session.request({ ':path': '/big', ':authority': 'a.test' })
    stream.on('error', () => {}).resume()
    await once(stream, 'response')
  }
  return { read: () => session.settings({ initialWindowSize: 16 * MIB }), leave: () => session.destroy() }
}

async function silentClients(port: number, count: number): Promise<Clients> {
  const all: Socket[] = []
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write('GET /big HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await once(socket, 'readable')
    all.push(socket)
  }
  return {
    read() {
      for (const socket of all) socket.resume()
    },
    leave() {
      for (const socket of all) socket.destroy()
    }
  }
}

describe('bodies that are kept', () => {
  test('are refused with 503 and Retry-After when there are too many, and there is room again when they are gone', async () => {
    const account = accountOf(4 * MIB)
    const stack = await stackFor()
    const clients: RawClient[] = []
    for (let n = 0; n < 12; n++) {
      const client = await rawClient(stack.port)
      client.send(post('/', 900_000) + 'a'.repeat(500_000))
      clients.push(client)
    }
    while (stack.records.length < 4) await turn()
    deepEqual(new Set(stack.records.map(({ error }) => error)), new Set(['BUFFERS_FULL']))
    const refused = clients.find(({ received }) => received !== '')!
    match(refused.received, /^HTTP\/1\.1 503 [\s\S]*\r\nRetry-After: 1\r\n/i)
    ok(account.bytes <= 4 * MIB + 65_536, `${account.bytes} are kept`)
    ok(account.refused > 0)
    for (const client of clients) client.close()
    await stack.recorded(12)
    equal(account.bytes, 0)
    deepEqual(statuses(await exchangeRaw(stack.port, `${post('/', 5, 'Connection: close\r\n')}hello`)), [200])
  })

  for (const [version, ask] of [
    ['HTTP/2 without a window', zeroWindows],
    ['HTTP/1 that are not read', silentClients]
  ] as const) {
    test(`answers over ${version} stay on the account until they are taken`, async () => {
      const account = accountOf(64 * MIB)
      const stack = await stackFor({ responseHooks: [collectResponse(16 * MIB, (ex, code) => stack.fail(ex, code))] })
      const clients = await ask(stack.port, 6)
      await stack.recorded(6)
      await turn()
      await turn()
      deepEqual(
        stack.records.map(({ error }) => error).filter((error) => error !== null),
        ['BUFFERS_FULL', 'BUFFERS_FULL'],
        'four fit'
      )
      lookAtUnsent()
      ok(account.bytes >= 40 * MIB, `${account.bytes} are kept`)
      clients.read()
      await emptied(account)
      // Nor is anything left of those that never read.
      const others = await ask(stack.port, 3)
      await stack.recorded(9)
      await turn()
      await turn()
      lookAtUnsent()
      ok(account.bytes >= 30 * MIB, `${account.bytes} are kept`)
      others.leave()
      await emptied(account)
      clients.leave()
    })
  }

  test('a body above the total bound is too large: 413', async () => {
    const account = accountOf(100_000)
    const stack = await stackFor()
    deepEqual(statuses(await exchangeRaw(stack.port, post('/', 200_000, 'Connection: close\r\n'))), [413])
    equal(account.bytes, 0)
  })

  test('answers too', async () => {
    const account = accountOf(200_000)
    const stack = await stackFor({ requestHooks: [] })
    deepEqual(statuses(await exchangeRaw(stack.port, post('/long', 0, 'Connection: close\r\n'))), [503])
    equal(account.bytes, 0)
  })

  test('a body is not kept for retries where there is no room, and the request goes on', async () => {
    const account = accountOf(100_000)
    const retry = { attempts: 1, codes: new Set([503]), backoffMs: 0, precondition: null, condition: null }
    const budget = { percent: 100, minPerSecond: 10 }
    const stack = await stackFor({ requestHooks: [], responseHooks: [], retry: { ...retry, budget } })
    const answer = await exchangeRaw(stack.port, post('/', 500_000, 'Connection: close\r\n') + 'a'.repeat(500_000))
    deepEqual(statuses(answer), [200])
    ok(account.refused > 0)
    equal(account.bytes, 0)
  })

  test('a request is kept until its answer begins: streams that go on for hours keep nothing', async () => {
    const account = accountOf(2 * MIB)
    const exchanges: Exchange[] = []
    const note = (ex: Exchange): typeof CONTINUE => {
      exchanges.push(ex)
      return CONTINUE
    }
    const retry = { attempts: 1, codes: new Set([503]), backoffMs: 0, precondition: null, condition: null }
    const more = { requestHooks: [collectRequest(MIB), note], responseHooks: [] }
    const stack = await stackFor({ ...more, retry: { ...retry, budget: { percent: 100, minPerSecond: 100 } } })
    const clients: RawClient[] = []
    for (let n = 0; n < 6; n++) {
      const client = await rawClient(stack.port)
      clients.push(client)
      client.send(post('/stream', 600_000) + 'a'.repeat(600_000))
      await client.until(/begun 600000/)
      equal(account.bytes, 0)
    }
    deepEqual(
      exchanges.map(({ requestBytes, step }) => [requestBytes, step]),
      Array(6).fill([null, STEP_SENDING])
    )
    for (const client of clients) client.close()
    await stack.recorded(6)
    equal(account.bytes, 0)
  })

  test('and is sent once more as long as it has not begun', async () => {
    const account = accountOf(2 * MIB)
    let refusals = 1
    const origin = await startOrigin((response, { body }) => {
      response.statusCode = refusals-- > 0 ? 503 : 200
      response.end(String(body.length))
    })
    const retry = { attempts: 1, codes: new Set([503]), backoffMs: 0, precondition: null, condition: null }
    const more = { upstream: origin.port, responseHooks: [] }
    const stack = await stackFor({ ...more, retry: { ...retry, budget: { percent: 100, minPerSecond: 100 } } })
    const answer = await exchangeRaw(stack.port, post('/', 600_000, 'Connection: close\r\n') + 'a'.repeat(600_000))
    match(answer, /\r\n\r\n600000$/)
    equal(account.bytes, 0)
    origin.close()
  })

  test('a body that is read at the end is kept until then', async () => {
    const account = accountOf(2 * MIB)
    const stack = await stackFor({ responseHooks: [], keepsRequest: true })
    const client = await rawClient(stack.port)
    client.send(post('/stream', 600_000) + 'a'.repeat(600_000))
    await client.until(/begun 600000/)
    equal(account.bytes, 600_000)
    client.close()
    await stack.recorded(1)
    equal(account.bytes, 0)
  })

  test('beginnings of bodies count as bodies do', async () => {
    const account = accountOf(4 * MIB)
    const stack = await stackFor({ requestHooks: [collectRequestPrefix(MIB)], responseHooks: [] })
    const clients = await Promise.all(Array.from({ length: 12 }, () => rawClient(stack.port)))
    for (const client of clients) client.send(post('/', 900_000) + 'a'.repeat(500_000))
    while (stack.records.length < 4) await turn()
    deepEqual(new Set(stack.records.map(({ error }) => error)), new Set(['BUFFERS_FULL']))
    ok(account.bytes <= 4 * MIB + 65_536, `${account.bytes} are kept`)
    for (const client of clients) client.close()
    await stack.recorded(12)
    equal(account.bytes, 0)
  })

  test('beginnings of answers too', async () => {
    const account = accountOf(200_000)
    const stack: Stack = await stackFor({
      requestHooks: [],
      responseHooks: [collectResponsePrefix(MIB, (ex, code) => stack.fail(ex, code))]
    })
    deepEqual(statuses(await exchangeRaw(stack.port, post('/long', 0, 'Connection: close\r\n'))), [503])
    equal(account.bytes, 0)
  })

  test('a body that is collected in part and then in whole counts once', async () => {
    const account = accountOf(MIB)
    const fail = (ex: Exchange, code: ErrorCode) => stack.fail(ex, code)
    const stack: Stack = await stackFor({
      requestHooks: [collectRequestPrefix(500_000), collectRequest(MIB)],
      responseHooks: [collectResponsePrefix(250_000, fail), collectResponse(MIB, fail)]
    })
    const answer = await exchangeRaw(stack.port, post('/long', 600_000, 'Connection: close\r\n') + 'a'.repeat(600_000))
    deepEqual(statuses(answer), [200])
    equal(account.bytes, 0)
  })

  test('bodies that stand still do not keep the room of others', async (t) => {
    const account = accountOf(MIB)
    const stack = await stackFor()
    const slow = await Promise.all(Array.from({ length: 2 }, () => rawClient(stack.port)))
    for (const client of slow) client.send(post('/', 600_000) + 'a'.repeat(480_000))
    while (account.bytes < 960_000) await turn()
    const send = () => exchangeRaw(stack.port, `${post('/', 300_000, 'Connection: close\r\n')}${'b'.repeat(300_000)}`)
    deepEqual(statuses(await send()), [503])
    const { now } = performance
    t.mock.method(performance, 'now', () => now.call(performance) + 3_000)
    deepEqual(statuses(await send()), [503])
    for (const client of slow) await client.until('408')
    equal(account.bytes, 0)
    deepEqual(statuses(await send()), [200])
    for (const client of slow) client.close()
  })

  test('nor do those that get a byte now and then', async (t) => {
    const account = accountOf(MIB)
    const stack = await stackFor()
    const slow = await Promise.all(Array.from({ length: 2 }, () => rawClient(stack.port)))
    for (const client of slow) client.send(post('/', 600_000) + 'a'.repeat(480_000))
    while (account.bytes < 960_000) await turn()
    const { now } = performance
    let passed = 0
    t.mock.method(performance, 'now', () => now.call(performance) + passed)
    for (let n = 1; n <= 4; n++) {
      passed += 700
      for (const client of slow) client.send('a')
      while (account.bytes < 960_000 + 2 * n) await turn()
    }
    const send = () => exchangeRaw(stack.port, `${post('/', 300_000, 'Connection: close\r\n')}${'b'.repeat(300_000)}`)
    deepEqual(statuses(await send()), [503])
    for (const client of slow) await client.until('408')
    deepEqual(statuses(await send()), [200])
    for (const client of slow) client.close()
  })

  test('one client cannot take all: the rest is for clients that keep less than half', async () => {
    const account = accountOf(4 * MIB)
    const stack = await stackFor()
    const greedy = await Promise.all(Array.from({ length: 12 }, () => rawClient(stack.port)))
    for (const client of greedy) client.send(post('/', 900_000) + 'a'.repeat(450_000))
    while (stack.records.length < 4) await turn()
    const other = connect({ port: stack.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    other.setEncoding('latin1')
    other.write(`${post('/', 200_000, 'Connection: close\r\n')}${'b'.repeat(200_000)}`)
    let answer = ''
    for await (const text of other) answer += text
    deepEqual(statuses(answer), [200])
    for (const client of greedy) client.close()
    await stack.recorded(13)
    equal(account.bytes, 0)
  })

  test('clients behind a trusted proxy are counted one by one', async () => {
    const account = accountOf(4 * MIB)
    const stack = await stackFor({ frontend: { proxyProtocol: { version: 'v1', mode: 'strict' } } })
    const from = (address: string) => `PROXY TCP4 ${address} 10.0.0.1 40000 80\r\n`
    const greedy = await Promise.all(Array.from({ length: 12 }, () => rawClient(stack.port)))
    for (const client of greedy) client.send(from('192.0.2.1') + post('/', 900_000) + 'a'.repeat(450_000))
    while (stack.records.length < 4) await turn()
    const message = `${post('/', 200_000, 'Connection: close\r\n')}${'b'.repeat(200_000)}`
    deepEqual(statuses(await exchangeRaw(stack.port, from('192.0.2.1') + message)), [503])
    deepEqual(statuses(await exchangeRaw(stack.port, from('192.0.2.2') + message)), [200])
    for (const client of greedy) client.close()
    await stack.recorded(14)
    equal(account.bytes, 0)
  })

  test('random exchanges that end at random points leave nothing behind', async () => {
    const random = xorshift32(18)
    const account = accountOf(3 * MIB)
    const retry = {
      attempts: 2,
      codes: new Set([502, 503]),
      backoffMs: 0,
      precondition: null,
      condition: null
    }
    const budget = { percent: 100, minPerSecond: 1000 }
    const waits = (ex: Exchange) =>
      ex.path === '/waits' ? new Promise<number>((resolve) => setImmediate(resolve, 0)) : 0
    const stack = await stackFor({ retry: { ...retry, budget } })
    const plain = await stackFor({ requestHooks: [], responseHooks: [], retry: { ...retry, budget } })
    const waiting = await stackFor({ requestHooks: [collectRequest(MIB), waits as never] })
    const stacks = [stack, plain, waiting]
    let begun = 0
    let peak = 0
    await Promise.all(
      Array.from({ length: 60 }, async () => {
        for (let n = 0; n < 5; n++) {
          const client = await rawClient(stacks[Math.floor(random() * 3)]!.port)
          const path = ['/', '/cut', '/long', '/waits'][Math.floor(random() * 4)]!
          const length = Math.floor(random() * random() * 600_000)
          const text = post(path, length, 'Connection: close\r\n') + 'b'.repeat(length)
          const stop = random() < 0.5 ? text.length : Math.floor(random() * text.length)
          begun += stop >= text.indexOf('\r\n\r\n') + 4 ? 1 : 0
          client.send(text.slice(0, stop))
          const patience = random() < 0.3 ? Math.floor(random() * 20) : -1
          if (stop === text.length && patience < 0) await client.untilEnd()
          else for (let i = 0; i < patience; i++) await turn()
          peak = Math.max(peak, account.bytes)
          client.close()
        }
      })
    )
    while (stacks.reduce((sum, { records }) => sum + records.length, 0) < begun) await turn()
    while (stacks.some(({ connections }) => connections.opened > connections.closed)) await turn()
    await emptied(account)
    ok(peak > MIB, `${peak} were kept at a time`)
  })
})
