/** Answers that are not read, on a connection that others use too. */
import { deepEqual, ok } from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { mock, test } from 'node:test'
import { settingsFrame } from '#engine/http2/frame-writer.ts'
import { PREFACE } from '#engine/http2/protocol.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { H2Client } from '#engine/testing/h2-client.ts'
import { type Http2Origin, startHttp2Origin } from '#engine/testing/h2-origin.ts'
import { statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'

const LONG = Buffer.alloc(512 * 1024, 'x')
/** More than a connection's window has room for: 32 MiB of 256 KiB each. */
const KEEPERS = 2
const STREAMS_EACH = 70
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`

interface Stand {
  readonly stack: Stack
  readonly origin: Http2Origin
  /** Requests of /later that wait for an answer. */
  readonly later: ServerHttp2Stream[]
  pass(ms: number): void
}

async function withStand(poolMax: number, run: (stand: Stand) => Promise<void>): Promise<void> {
  const later: ServerHttp2Stream[] = []
  const origin = await startHttp2Origin((stream, { ':path': path }) => {
    if (path === '/later') {
      later.push(stream)
      return
    }
    stream.respond({ ':status': 200 })
    stream.end(path === '/long' ? LONG : 'ok')
  })
  let now = performance.now()
  const clock = mock.method(performance, 'now', () => now)
  const timers = new TimerWheel()
  const stack = await startStack({ upstream: origin.port, poolMax, timers, spoken: { version: 'HTTP2' } })
  const pass = (ms: number) => {
    now += ms
    timers.advance()
  }
  try {
    await run({ stack, origin, later, pass })
  } finally {
    stack.close()
    origin.close()
    clock.mock.restore()
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Clients with windows of nothing ask for more than the connection to the backend has room for. */
async function fill({ stack, origin }: Stand): Promise<{ leave(): void }> {
  const sockets = await Promise.all(
    Array.from({ length: KEEPERS }, async () => {
      const socket = connect({ port: stack.port, host: '127.0.0.1' })
      await once(socket, 'connect')
      const client = new H2Client(socket)
      client.send(PREFACE + settingsFrame([4, 0]))
      for (let i = 0; i < STREAMS_EACH; i++) client.get(2 * i + 1, '/long')
      return socket
    })
  )
  while (stack.upstream.counts().busy < KEEPERS * STREAMS_EACH) await turn()
  // Either the window is used up, or the others are on a connection of their own.
  const isFull = () => origin.sessions[0]!.state.remoteWindowSize! <= 16 * 1024 * 1024
  while (!isFull()) await turn()
  for (let i = 0; i < 2000; i++) await turn()
  return {
    leave() {
      for (const socket of sockets) socket.destroy()
    }
  }
}

test('a new exchange goes to another connection', async () => {
  await withStand(3, async (stand) => {
    const { leave } = await fill(stand)
    deepEqual(statuses(await exchangeRaw(stand.stack.port, get('/short'))), [200])
    deepEqual(
      stand.stack.records.map(({ error }) => error),
      [null]
    )
    leave()
    await stand.stack.recorded(1 + KEEPERS * STREAMS_EACH)
  })
})

test('an exchange that is under way waits for two seconds', async () => {
  await withStand(1, async (stand) => {
    const { stack, later, pass } = stand
    const client = await rawClient(stack.port)
    client.send(get('/later'))
    while (later.length === 0) await turn()
    const { leave } = await fill(stand)
    later[0]!.respond({ ':status': 200 })
    later[0]!.end('ok')
    await client.until('\r\n\r\n')
    for (let i = 0; i < 500; i++) await turn()
    deepEqual(stack.records, [])
    pass(2_300)
    await client.untilEnd()
    ok(client.received.endsWith('ok\r\n0\r\n\r\n'), client.received)
    const errors = stack.records.map(({ error }) => error)
    deepEqual([...new Set(errors)].sort(), ['CLIENT_TOO_SLOW', null])
    // Some of the others wait too: there was room for 128 of them.
    ok(errors.length < 40, `${errors.length} have gone`)
    leave()
    await stack.recorded(1 + KEEPERS * STREAMS_EACH)
  })
})
