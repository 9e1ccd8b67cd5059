/** Clients that take every connection, or stream, that they can get, and read nothing: what is left for the others. */
import { deepEqual, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { settingsFrame } from '#engine/http2/frame-writer.ts'
import { PREFACE } from '#engine/http2/protocol.ts'
import { H2Client } from '#engine/testing/h2-client.ts'
import { startHttp2Origin } from '#engine/testing/h2-origin.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { RawClient } from '#engine/testing/raw.ts'
import { type StillStack, withStillStack } from '#engine/testing/still-stack.ts'

/** Connections of the pool, or streams of its one connection. */
const MAX = 64
const STREAMS = 40
/** Those that anybody may have. */
const FREE = MAX - MAX / 16 - 1
const LONG = Buffer.alloc(2 * 1024 * 1024, 'x')
const GET = 'GET /short HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'

const BACKENDS = {
  'connections of HTTP/1': async () => {
    const origin = await startOrigin((response, { url }) => response.end(url === '/long' ? LONG : 'ok'))
    return { port: origin.port, close: () => origin.close(), poolMax: MAX }
  },
  'streams of HTTP/2': async () => {
    const origin = await startHttp2Origin(
      (stream, { ':path': path }) => {
        stream.respond({ ':status': 200 })
        // No end, and no more than a bit: a server of Node with much to write forgets nothing that it has ended.
        if (path === '/long') stream.write('x'.repeat(1024))
        else stream.end('ok')
      },
      { maxConcurrentStreams: MAX }
    )
    const spoken = { version: 'HTTP2' as const }
    return { port: origin.port, close: () => origin.close(), poolMax: 1, spoken }
  }
}
type Backend = keyof typeof BACKENDS

async function withStand(backend: Backend, run: (stand: StillStack) => Promise<void>): Promise<void> {
  const { port, close, ...options } = await BACKENDS[backend]()
  await withStillStack({ upstream: port, ...options }, close, run)
}

const begun = (clients: readonly H2Client[]) =>
  clients.flatMap(({ streams }) => [...streams.values()]).filter(({ status }) => status > 0).length

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}

async function keeper(port: number, localAddress: string): Promise<H2Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  await once(socket, 'connect')
  const client = new H2Client(socket)
  client.send(PREFACE + settingsFrame([4, 0]))
  for (let i = 0; i < STREAMS; i++) client.get(1 + 2 * i, '/long')
  return client
}

async function statusesFor(port: number, localAddress: string): Promise<number[]> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  await once(socket, 'connect')
  const client = new RawClient(socket)
  client.send(GET)
  const answer = await client.untilEnd()
  client.close()
  return statuses(answer)
}

const KEEPERS = {
  'six connections of one address': () => '127.0.0.2',
  'six addresses': (i: number) => `127.0.0.${2 + i}`
}

for (const backend of Object.keys(BACKENDS) as Backend[]) {
  describe(`clients that keep ${backend}`, () => {
    for (const [name, addressOf] of Object.entries(KEEPERS)) {
      it(`${name}: others wait for them once, and then not at all`, async (_t) => {
        await withStand(backend, async ({ stack, pass }) => {
          const keepers = await Promise.all(Array.from({ length: 6 }, (_, i) => keeper(stack.port, addressOf(i))))
          while (begun(keepers) < FREE) await turns(1)
          let isAnswered = false
          const answer = statusesFor(stack.port, '127.0.0.1').finally(() => {
            isAnswered = true
          })
          while (!isAnswered) {
            await turns(100)
            pass(250)
          }
          deepEqual(await answer, [200])
          // Those behind the keepers are theirs. All are cut for them, and what is free then is shared out anew.
          while (begun(keepers) < 2 * FREE) {
            pass(250)
            await turns(100)
          }
          while (stack.upstream.counts().busy < FREE) await turns(1)
          const before = stack.records.length
          for (let i = 0; i < 5; i++) deepEqual(await statusesFor(stack.port, '127.0.0.1'), [200])
          // Somebody else behind the same address.
          for (let i = 0; i < 5; i++) deepEqual(await statusesFor(stack.port, '127.0.0.2'), [200])
          const errors = stack.records.slice(before).map(({ error }) => error)
          deepEqual(errors, Array(10).fill(null), 'nobody was cut for them')
          for (const { socket } of keepers) socket.destroy()
          await stack.recorded(6 * STREAMS + 11)
        })
      })
    }

    it('a single client may have fifteen of sixteen connections, and its other requests wait', async (_t) => {
      await withStand(backend, async ({ stack }) => {
        const socket = connect({ port: stack.port, host: '127.0.0.1' })
        await once(socket, 'connect')
        const client = new H2Client(socket)
        client.send(PREFACE + settingsFrame([4, 1024 * 1024]))
        for (let i = 0; i < MAX + 20; i++) client.get(1 + 2 * i, '/short')
        const records = await stack.recorded(MAX + 20)
        ok(records.every(({ status, error }) => status === 200 && error === null))
        socket.destroy()
      })
    })
  })
}
