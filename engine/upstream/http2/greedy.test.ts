/** Servers of HTTP/2 that make the gateway keep things: nothing that they can repeat may grow. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE } from '#engine/contract/filter.ts'
import { frame, literals, OK_HEAD, SETTINGS_FRAME, startFrameServer } from '#engine/testing/h2-origin.ts'
import { answer, withServer } from '#engine/testing/h2-stack.ts'
import { statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'

const DATA = 0
const HEADERS = 1
const END_HEADERS = 4
const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const post = (bytes: number): string =>
  `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n${'a'.repeat(bytes)}`

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
}

describe('servers of HTTP/2 that make us keep things', () => {
  it('exchanges that waited for a window are forgotten when they end', () => {
    // Its windows stay as they are: all of them are used up by the first request.
    const silent = startFrameServer(() => {})
    const seen: WeakRef<Exchange>[] = []
    const note = (ex: Exchange): typeof CONTINUE => {
      seen.push(new WeakRef(ex))
      return CONTINUE
    }
    return withServer(silent, { requestHooks: [note], settings: { requestTimeoutMs: 60 } }, async (stack) => {
      for (let round = 0; round < 10; round++) {
        const answers = await Promise.all(Array.from({ length: 10 }, () => exchangeRaw(stack.port, post(70_000))))
        deepEqual(answers.flatMap(statuses), Array(10).fill(504))
      }
      await new Promise((resolve) => setImmediate(resolve))
      collectGarbage()
      const alive = seen.filter((ref) => ref.deref() !== undefined).length
      ok(alive < 30, `${alive} of ${seen.length} are kept`)
    })
  })

  for (const [name, useless] of [
    ['PING', frame(6, 0, 0, '12345678')],
    ['SETTINGS', SETTINGS_FRAME]
  ] as const) {
    it(`a server that pays for ${name} with bytes of a body, and reads no answers, is left`, async () => {
      let sent = 0
      const server = await rawServer(({ socket }) => {
        socket.once('data', () => {
          socket.pause()
          socket.write(SETTINGS_FRAME + frame(HEADERS, END_HEADERS, 1, OK_HEAD), 'latin1')
          const some = Buffer.from((frame(DATA, 0, 1, 'a') + useless.repeat(4)).repeat(1000), 'latin1')
          const pour = () => {
            while (!socket.destroyed && sent < 400e6) {
              sent += some.length
              if (!socket.write(some)) return
            }
          }
          socket.on('drain', pour)
          pour()
        })
      })
      await withServer(Promise.resolve(server), {}, async (stack) => {
        const received = await exchangeRaw(stack.port, GET)
        ok(!received.endsWith('0\r\n\r\n'))
        equal(stack.records[0]!.error, 'UPSTREAM_PROTOCOL')
        ok(sent < 100e6, `${sent} bytes`)
      })
    })
  }

  it('a server that answers without reading is left for another connection', async () => {
    const sockets: Socket[] = []
    const server = await rawServer(({ socket }) => {
      sockets.push(socket)
      socket.once('data', () => {
        socket.pause()
        socket.write(SETTINGS_FRAME, 'latin1')
      })
    })
    const long = `GET / HTTP/1.1\r\nHost: a.test\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`
    await withServer(Promise.resolve(server), {}, async (stack) => {
      const client = await rawClient(stack.port)
      for (let i = 0; sockets.length < 2; i++) {
        ok(i < 2000, 'still on the first connection')
        client.received = ''
        client.send(long)
        while (stack.upstream.counts().busy === 0) await new Promise((resolve) => setImmediate(resolve))
        if (sockets.length === 1) sockets[0]!.write(answer(2 * i + 1), 'latin1')
        else sockets[1]!.write(answer(1), 'latin1')
        await client.until('\r\n\r\n')
      }
      client.close()
    })
  })

  it('bytes that break their stream are given back to the connection', async () => {
    // More than a connection's window, in answers that are each longer than they said.
    const much = 'a'.repeat(16_384)
    const head = literals([
      [':status', '200'],
      ['content-length', '1']
    ])
    const lying = startFrameServer(({ type, stream }, client) => {
      if (type !== HEADERS) return
      client.send(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, 0, stream, much))
    })
    await withServer(lying, {}, async (stack, server) => {
      for (let i = 0; i < 220; i++) {
        await Promise.all(Array.from({ length: 10 }, () => exchangeRaw(stack.port, GET)))
      }
      equal(server.accepted(), 1)
    })
  })
})
