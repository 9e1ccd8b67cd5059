/** Turns of clients that wait for a connection, and clients that keep one without using it. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { clientKey } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE } from '#engine/contract/filter.ts'
import { frameHead, settingsFrame } from '#engine/http2/frame-writer.ts'
import { DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, WINDOW_UPDATE } from '#engine/http2/protocol.ts'
import { H2Client } from '#engine/testing/h2-client.ts'
import { type Frame, type FrameClient, frame, OK_HEAD, startFrameServer } from '#engine/testing/h2-origin.ts'
import { answer } from '#engine/testing/h2-stack.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'
import { busy, type StillStack, withStillStack } from '#engine/testing/still-stack.ts'
import { FairQueue } from './fair-queue.ts'
import { STREAM_WINDOW } from './http2/settings.ts'

const waiterOf = (remoteAddress: string, name: string) => ({ name, ex: { client: { remoteAddress } as never } })
type Waiter = ReturnType<typeof waiterOf>
const names = (waiting: FairQueue<Waiter>) => {
  const all: string[] = []
  for (let one = waiting.next(1, 1); one !== undefined; one = waiting.next(1, 1)) all.push(one.name)
  return all
}

describe('turns of clients', () => {
  it('a client with many requests gets one turn per round', () => {
    const waiting = new FairQueue<Waiter>(() => [])
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) equal(waiting.add(waiterOf(name[0]!, name)), null)
    equal(waiting.size, 6)
    deepEqual(names(waiting), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    equal(waiting.size, 0)
  })

  it('when there are too many, the newest of whoever has most goes', () => {
    const waiting = new FairQueue<Waiter>(() => [], 3)
    for (const name of ['a1', 'a2', 'b1']) equal(waiting.add(waiterOf(name[0]!, name)), null)
    equal(waiting.add(waiterOf('c', 'c1'))?.name, 'a2')
    const [a4, b2] = [waiterOf('a', 'a4'), waiterOf('b', 'b2')]
    equal(waiting.add(a4), a4)
    equal(waiting.add(b2), b2)
    equal(waiting.remove(b2), false)
    deepEqual(names(waiting), ['a1', 'b1', 'c1'])
  })

  it('clients that keep fewer connections go first, by address and then by connection', () => {
    const holder = (address: string, port: number) => ({
      exchange: { client: { remoteAddress: address, remotePort: port } as never }
    })
    const holders = [holder('a', 1), holder('a', 1), holder('b', 3)]
    const waiting = new FairQueue<Waiter>(() => holders)
    for (const [address, port, name] of [
      ['a', 1, 'a1'],
      ['a', 2, 'a2'],
      ['b', 3, 'b3'],
      ['c', 4, 'c4'],
      ['c', 4, 'c4 too']
    ] as const) {
      waiting.add({ name, ex: holder(address, port).exchange })
    }
    const order: string[] = []
    for (let i = 0; i < 5; i++) {
      const next = waiting.next(10, 10)!
      order.push(next.name)
      waiting.acquired({ exchange: next.ex })
    }
    deepEqual(order, ['c4', 'b3', 'c4 too', 'a2', 'a1'])
  })

  it('of the last sixteenth whoever keeps as many as are left gets none', () => {
    const exchange = (address: string, port: number) => ({
      client: { remoteAddress: address, remotePort: port } as never
    })
    const holders = Array.from({ length: 60 }, () => ({ exchange: exchange('a', 1) as ReturnType<typeof exchange> }))
    const waiting = new FairQueue<Waiter>(() => holders)
    const mayTake = (address: string, port: number, left: number) => waiting.mayTake(exchange(address, port), left, 64)
    equal(mayTake('a', 1, 5), true)
    equal(mayTake('a', 1, 4), false)
    equal(mayTake('b', 2, 4), true)
    equal(mayTake('b', 2, 1), true)
    equal(mayTake('b', 2, 0), false)
    // Others of that address have what is above the last thirty-second.
    equal(mayTake('a', 3, 3), true)
    equal(mayTake('a', 3, 2), false)
    const kept = { exchange: exchange('b', 2) }
    waiting.acquired(kept)
    equal(mayTake('b', 2, 1), false)
    equal(mayTake('b', 2, 2), true)
    waiting.released(kept)
    equal(mayTake('b', 2, 1), true)
    // It counts no more once there is room, and anew when somebody asks.
    for (const holder of holders.splice(0, 40)) waiting.released(holder)
    equal(mayTake('a', 1, 4), false)
    holders.length = 0
    equal(mayTake('a', 1, 4), false)
  })

  it('a waiter that has left gets no turn', () => {
    const waiting = new FairQueue<Waiter>(() => [])
    const one = waiterOf('a', 'a1')
    waiting.add(one)
    ok(waiting.remove(one))
    deepEqual(names(waiting), [])
  })

  it('a network of IPv6 is one client', () => {
    const of = (remoteAddress: string) => clientKey({ client: { remoteAddress } as never })
    equal(of('2001:db8:1:2:3::1'), of('2001:db8:1:2:ffff::9'))
    equal(of('2001:db8::1'), of('2001:db8:0:0:9::'))
    ok(of('2001:db8:1:2::') !== of('2001:db8:1:3::'))
    ok(of('192.0.2.1') !== of('192.0.2.2'))
  })
})

const LONG = 'x'.repeat(8 * 1024 * 1024)
const GET = 'GET /short HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'

const BACKENDS = {
  'four connections of HTTP/1': async () => {
    const origin = await startOrigin((response, { url }) => response.end(url === '/long' ? LONG : 'ok'))
    return { origin, poolMax: 4 }
  },
  'four streams of HTTP/2': async () => {
    const send = (client: FrameClient, stream: number, bytes: number) => {
      for (let left = bytes; left > 0; left -= 16_384)
        client.send(frame(DATA, 0, stream, LONG.slice(0, Math.min(left, 16_384))))
    }
    const serve = ({ type, flags, stream, payload }: Frame, client: FrameClient) => {
      // An answer without end, unless a body is to come first; what comes when those four are there is answered.
      if (type === WINDOW_UPDATE && stream > 0) send(client, stream, Buffer.from(payload, 'latin1').readUInt32BE())
      if (type !== HEADERS) return
      if (stream > 7) client.send(answer(stream))
      else if ((flags & END_STREAM) !== 0) {
        client.send(frame(HEADERS, END_HEADERS, stream, OK_HEAD))
        send(client, stream, STREAM_WINDOW)
      }
    }
    const origin = await startFrameServer(serve, settingsFrame([3, 4]), true)
    return { origin, poolMax: 1, spoken: { version: 'HTTP2' as const } }
  }
}
type Backend = keyof typeof BACKENDS

async function withStand(backend: Backend, run: (stand: StillStack) => Promise<void>, waits = false): Promise<void> {
  const { origin, ...options } = await BACKENDS[backend]()
  const hook = ({ path }: Exchange) => (waits && path === '/long' ? new Promise<typeof CONTINUE>(() => {}) : CONTINUE)
  await withStillStack({ upstream: origin.port, ...options, responseHooks: [hook] }, () => origin.close(), run)
}

const KEEPERS: Record<string, (port: number) => Promise<Socket[]>> = {
  'windows of nothing by HTTP/2': async (port) => {
    const socket = connect({ port, host: '127.0.0.1' })
    await once(socket, 'connect')
    const client = new H2Client(socket)
    client.send(PREFACE + settingsFrame([4, 0]))
    for (let id = 1; id < 9; id += 2) client.get(id, '/long')
    return [socket]
  },
  'bodies that do not come': async (port) => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => rawClient(port)))
    for (const client of clients) client.send('POST /up HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\na')
    return clients.map(({ socket }) => socket)
  },
  'DATA that does not come': async (port) => {
    const socket = connect({ port, host: '127.0.0.1' })
    await once(socket, 'connect')
    const client = new H2Client(socket)
    client.send(PREFACE + settingsFrame([]))
    for (let id = 1; id < 9; id += 2) {
      client.request(
        id,
        [
          [':method', 'POST'],
          [':scheme', 'http'],
          [':path', '/up'],
          [':authority', 'a.test']
        ],
        false
      )
      client.send(`${frameHead(1, 0, 0, id)}a`)
    }
    return [socket]
  }
}

for (const backend of Object.keys(BACKENDS) as Backend[]) {
  describe(`clients that keep ${backend}`, () => {
    for (const [name, keep] of Object.entries(KEEPERS)) {
      it(`${name}: another client waits for seconds, not for a 503`, async () => {
        await withStand(backend, async ({ stack, pass }) => {
          const sockets = await keep(stack.port)
          for (const socket of sockets) socket.on('error', () => {})
          await busy(stack)
          deepEqual(stack.records, [])
          const answered = exchangeRaw(stack.port, GET)
          // Nobody is given up at once.
          for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
          equal(stack.records.length, 0)
          // Two for the piece of an answer that was handed over, and two without a sign of life.
          pass(4_400)
          deepEqual(statuses(await answered), [200])
          deepEqual(stack.records.map(({ error }) => error).sort(), ['CLIENT_TOO_SLOW', null])
          for (const socket of sockets) socket.destroy()
          await stack.recorded(5)
        })
      })
    }

    it('no stream is evicted while no other client waits', async () => {
      await withStand(backend, async ({ stack, pass }) => {
        const [socket] = await KEEPERS['windows of nothing by HTTP/2']!(stack.port)
        await busy(stack)
        pass(20_000)
        equal(stack.records.length, 0)
        socket!.destroy()
        await stack.recorded(4)
      })
    })

    it('nor for what a hook keeps', async () => {
      await withStand(
        backend,
        async ({ stack, pass }) => {
          const [socket] = await KEEPERS['windows of nothing by HTTP/2']!(stack.port)
          await busy(stack)
          const answered = exchangeRaw(stack.port, GET)
          while (stack.connections.opened < 2) await new Promise((resolve) => setImmediate(resolve))
          for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
          pass(4_000)
          equal(stack.records.length, 0)
          pass(2_000)
          deepEqual(statuses(await answered), [503])
          socket!.destroy()
          await stack.recorded(5)
        },
        true
      )
    })
  })
}

it('unread WebSockets have left the pool, and are not evicted', async () => {
  const upgraded: Socket[] = []
  const server = await rawServer(({ socket }) => {
    socket.on('data', (bytes: Buffer) => {
      if (!bytes.includes('Upgrade')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      else {
        upgraded.push(socket)
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n')
        socket.write(LONG)
      }
    })
  })
  const stack = await startStack({ upstream: server.port, poolMax: 4 })
  const ask = 'GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n'
  const own = `${ask}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
  const clients = await Promise.all(Array.from({ length: 8 }, () => rawClient(stack.port)))
  for (const client of clients) {
    client.send(own)
    await client.until('101 Switching')
    client.socket.pause()
  }
  equal(upgraded.length, 8)
  deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
  for (const client of clients) client.socket.destroy()
  await stack.recorded(9)
  stack.close()
  server.close()
})
