/** Clients that look too slow, and are not. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { STEP_SENDING } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { inTurn } from '#engine/socket/round.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'
import type { StackOptions } from '#engine/testing/stack.ts'
import { busy, type StillStack, withStillStack } from '#engine/testing/still-stack.ts'
import { ClientActivity } from './client-activity.ts'

const LONG = 'x'.repeat(8 * 1024 * 1024)
const ONE_STREAM = { maxConcurrentStreams: 1 }
const GET = 'GET /short HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'

type StandOptions = Partial<
  Pick<StackOptions, 'upstream' | 'spoken' | 'poolMax' | 'proxyProtocol' | 'connectTimeoutMs'>
>

/** A backend of four connections, in front of which the clock is the test's. */
async function withStand(run: (stand: StillStack) => Promise<void>, options: StandOptions = {}): Promise<void> {
  const origin = await startOrigin((response, { url }) => response.end(url === '/long' ? LONG : 'ok'))
  await withStillStack({ upstream: origin.port, poolMax: 4, ...options }, () => origin.close(), run)
}

async function readersThatDoNotRead(port: number): Promise<Socket[]> {
  const clients = await Promise.all(Array.from({ length: 4 }, () => rawClient(port)))
  for (const client of clients) {
    client.socket.pause()
    client.send(GET.replace('/short', '/long'))
  }
  return clients.map(({ socket }) => socket)
}

/** At the time `ms`, as turns have it. */
function atTime(t: TestContext, ms: number, run: () => void): void {
  const clock = t.mock.method(performance, 'now', () => ms)
  try {
    inTurn(run)
  } finally {
    clock.mock.restore()
  }
}

describe('expected activity of a client', () => {
  const exchange = (more: object = {}) =>
    ({
      step: STEP_SENDING,
      requestDone: true,
      slots: null,
      bytesSent: 0,
      request: new HeaderBlock(),
      response: null,
      tap: null,
      client: {},
      ...more
    }) as never

  it('reads what it was handed at 128 KiB a second, before anything is expected', (t) => {
    const activity = new ClientActivity()
    const sent = (bytesSent: number) => exchange({ bytesSent })
    atTime(t, 100_000, () => activity.begin())
    atTime(t, 101_000, () => activity.paused(sent(640 * 1024)))
    equal(activity.idleSince(sent(640 * 1024), false), 106_000)
    atTime(t, 103_000, () => activity.resumed(sent(640 * 1024)))
    equal(activity.idleSince(sent(640 * 1024), false), 0)
    // A single piece that meets a full buffer says nothing of how much lies in it.
    atTime(t, 103_001, () => activity.paused(sent(650 * 1024)))
    equal(activity.idleSince(sent(650 * 1024), false), 108_001)
    atTime(t, 110_000, () => activity.resumed(sent(650 * 1024)))
    atTime(t, 111_000, () => activity.paused(sent(100 * 1024 * 1024)))
    equal(activity.idleSince(sent(100 * 1024 * 1024), false), 139_000)
  })

  it('sends from when the backend takes more', (t) => {
    const activity = new ClientActivity()
    const sending = exchange({ requestDone: false, bodySent: true })
    atTime(t, 100_000, () => activity.begin())
    equal(activity.idleSince(sending, false), 100_000)
    equal(activity.idleSince(sending, true), 0)
    atTime(t, 109_000, () => activity.maySend(false))
    equal(activity.idleSince(sending, false), 109_000)
    const request = new HeaderBlock()
    request.append('Expect', '100-continue')
    const waiting = exchange({ requestDone: false, bodySent: false, request })
    atTime(t, 120_000, () => activity.begin())
    equal(activity.idleSince(waiting, false), 0)
    atTime(t, 125_000, () => activity.maySend(true))
    equal(activity.idleSince(waiting, false), 125_000)
  })

  it('sends nothing more while the backend answers, and reads the answer', (t) => {
    const activity = new ClientActivity()
    const both = exchange({ requestDone: false, bodySent: true, response: new HeaderBlock() })
    atTime(t, 100_000, () => activity.begin())
    equal(activity.idleSince(both, false), 0)
    atTime(t, 101_000, () => activity.paused(both))
    equal(activity.idleSince(both, false), 101_000)
  })
})

describe('clients that keep connections to a backend', () => {
  it('readers of HTTP/1 may read what was handed over; after half a minute another client gets on', async () => {
    await withStand(async ({ stack, pass }) => {
      const sockets = await readersThatDoNotRead(stack.port)
      await busy(stack)
      const early = exchangeRaw(stack.port, GET)
      for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
      pass(2_600)
      equal(stack.records.length, 0)
      pass(40_000)
      await early
      deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
      ok(stack.records.some(({ error }) => error === 'CLIENT_TOO_SLOW'))
      for (const socket of sockets) socket.destroy()
      await stack.recorded(6)
    })
  })

  it('readers give connections up to clients whose own begin with another PROXY header', async () => {
    const server = await rawServer((upstream) => {
      upstream.socket.on('data', () => {
        const body = upstream.received.includes('/long') ? LONG : 'ok'
        upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      })
    })
    try {
      await withStand(
        async ({ stack, pass }) => {
          const sockets = await readersThatDoNotRead(stack.port)
          await busy(stack)
          const other = exchangeRaw(stack.port, GET)
          for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
          pass(40_000)
          await stack.recorded(1)
          equal(stack.records[0]!.error, 'CLIENT_TOO_SLOW')
          deepEqual(statuses(await other), [200])
          deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
          for (const socket of sockets) socket.destroy()
          await stack.recorded(6)
        },
        { upstream: server.port, proxyProtocol: 'v1', connectTimeoutMs: 1_000_000 }
      )
    } finally {
      server.close()
    }
  })

  it('a client that waits for 100 Continue waits for the backend', async () => {
    const server = await rawServer(() => {})
    try {
      await withStand(
        async ({ stack, pass }) => {
          const clients = await Promise.all(Array.from({ length: 4 }, () => rawClient(stack.port)))
          const head = 'POST /up HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n'
          for (const client of clients) client.send(head)
          await busy(stack)
          const other = await rawClient(stack.port)
          other.send(GET)
          for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
          pass(4_000)
          equal(stack.records.length, 0)
          for (const client of [...clients, other]) client.close()
        },
        { upstream: server.port }
      )
    } finally {
      server.close()
    }
  })

  for (const version of ['HTTP1', 'HTTP2'] as const) {
    it(`who has a stream in both directions over ${version} may wait for the backend to speak`, async () => {
      const handle = (_request: unknown, response: unknown) => (response as ServerResponse).write('an event')
      const server = version === 'HTTP1' ? createServer(handle) : createHttp2({ settings: ONE_STREAM }, handle)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const upstream = (server.address() as AddressInfo).port
      try {
        await withStand(
          async ({ stack, pass }) => {
            const watcher = await rawClient(stack.port)
            watcher.send('POST /watch HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nwhat')
            await watcher.until(/an event/)
            const other = await rawClient(stack.port)
            other.send(GET)
            for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
            pass(4_000)
            equal(stack.records.length, 0)
            watcher.close()
            other.close()
            await stack.recorded(1)
          },
          { upstream, poolMax: 1, spoken: { version } }
        )
      } finally {
        server.close()
      }
    })
  }
})
