/** WebSockets through both transports, with the `ws` package as client and as server. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws'
import { manyTurns } from '#engine/testing/downstream-support.ts'
import { rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'
import { UWS_STACK } from '#engine/testing/transports.ts'

const TRANSPORTS: Record<string, Partial<StackOptions>> = {
  'node over handles': { transport: 'node', sockets: 'handles' },
  'node over net': { transport: 'node', sockets: 'net' },
  uws: UWS_STACK
}

interface Pair {
  readonly client: WebSocket
  readonly server: WebSocket
  readonly stack: Stack
}

const MB = 1024 * 1024
const MESSAGES = 48

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  describe(name, () => {
    const closing: (() => void)[] = []
    after(() => {
      for (const close of closing) close()
    })

    async function open(port: number): Promise<Stack> {
      const stack = await startStack({ ...transport, upstream: port })
      closing.push(() => stack.close())
      return stack
    }

    async function startServer(): Promise<{ server: WebSocketServer; port: number }> {
      const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: true })
      await once(server, 'listening')
      closing.push(() => {
        for (const client of server.clients) client.terminate()
        server.close()
      })
      return { server, port: (server.address() as AddressInfo).port }
    }

    /** A client and a server that are connected through a stack. */
    async function connect(protocols: string[] = [], options: ClientOptions = {}): Promise<Pair> {
      const { server: listener, port } = await startServer()
      const stack = await open(port)
      const accepted = once(listener, 'connection')
      const client = new WebSocket(`ws://127.0.0.1:${stack.port}/chat?a=b`, protocols, options)
      await once(client, 'open')
      const [server] = (await accepted) as [WebSocket]
      return { client, server, stack }
    }

    test('an open one is a connection of its bind: a drain leaves it, a cut ends both sides', async () => {
      const { client, server, stack } = await connect()
      assert.equal(stack.bind.connections(), 1)
      stack.bind.drain()
      await manyTurns()
      server.send('still here')
      await once(client, 'message')
      assert.equal(stack.bind.connections(), 1)
      assert.equal(stack.connections.closed, 0)
      const ends = [once(client, 'close'), once(server, 'close')]
      stack.bind.closeAll()
      await Promise.all(ends)
      await stack.recorded(1)
      assert.equal(stack.bind.connections(), 0)
      assert.equal(stack.connections.closed, 1)
    })

    test('text and binary of every length form pass both ways', async () => {
      const { client, server } = await connect()
      server.on('message', (data: Buffer, isBinary: boolean) => server.send(data, { binary: isBinary }))
      for (const size of [0, 1, 125, 126, 127, 65_535, 65_536, 2 * MB + 3]) {
        const binary = randomBytes(size)
        client.send(binary)
        const [echo, isBinary] = (await once(client, 'message')) as [Buffer, boolean]
        assert.equal(isBinary, true)
        assert.equal(Buffer.compare(echo, binary), 0, `${size} bytes`)
        const text = 'ü'.repeat(size / 2)
        client.send(text)
        const [message, wasBinary] = (await once(client, 'message')) as [Buffer, boolean]
        assert.equal(wasBinary, false)
        assert.equal(message.toString(), text)
      }
      client.close()
      await once(client, 'close')
    })

    test('messages in fragments arrive whole, with pings between them', async () => {
      const { client, server } = await connect([], { perMessageDeflate: false })
      for (const [from, to] of [
        [client, server],
        [server, client]
      ] as const) {
        const arrived = once(to, 'message')
        from.send('one ', { fin: false })
        from.ping('still here')
        from.send('two ', { fin: false })
        from.send('', { fin: false })
        from.send('three', { fin: true })
        const [data, isBinary] = (await arrived) as [Buffer, boolean]
        assert.deepEqual([data.toString(), isBinary], ['one two three', false])
      }
      client.close()
      await once(client, 'close')
    })

    test('pings are answered, to both sides', async () => {
      const { client, server } = await connect()
      for (const side of [client, server]) {
        const pong = once(side, 'pong')
        side.ping('are you there')
        const [payload] = (await pong) as [Buffer]
        assert.equal(payload.toString(), 'are you there')
      }
      client.close()
      await once(client, 'close')
    })

    test('close codes and reasons pass both ways', async () => {
      for (const [code, reason] of [
        [1000, 'done'],
        [1001, ''],
        [4321, 'because']
      ] as const) {
        const one = await connect()
        const atServer = once(one.server, 'close')
        one.client.close(code, reason)
        assert.deepEqual((await atServer).map(String), [String(code), reason])
        const [record] = await one.stack.recorded(1)
        assert.deepEqual([record!.status, record!.error], [101, null])

        const other = await connect()
        const atClient = once(other.client, 'close')
        other.server.close(code, reason)
        assert.deepEqual((await atClient).map(String), [String(code), reason])
        await other.stack.recorded(1)
      }
      const bare = await connect()
      const atServer = once(bare.server, 'close')
      bare.client.close()
      assert.equal((await atServer)[0], 1005)
    })

    test('a side that breaks off is seen by the other as abnormal', async () => {
      const one = await connect()
      const atServer = once(one.server, 'close')
      one.client.terminate()
      assert.equal((await atServer)[0], 1006)
      await one.stack.recorded(1)

      const other = await connect()
      const atClient = once(other.client, 'close')
      other.server.terminate()
      assert.equal((await atClient)[0], 1006)
      await other.stack.recorded(1)
    })

    test('the subprotocol is what the server chose', async () => {
      const { client, server } = await connect(['chat', 'other'])
      assert.deepEqual([client.protocol, server.protocol], ['chat', 'chat'])
      client.close()
      await once(client, 'close')
    })

    test('a server that refuses the upgrade answers as HTTP', async () => {
      const upstream = await rawServer(async (peer) => {
        await peer.until('\r\n\r\n')
        peer.send('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nX-Why: no\r\n\r\nno')
      })
      closing.push(() => upstream.close())
      const stack = await open(upstream.port)
      const client = new WebSocket(`ws://127.0.0.1:${stack.port}/`)
      client.on('error', () => {})
      const [, response] = (await once(client, 'unexpected-response')) as [
        unknown,
        { statusCode: number; headers: object }
      ]
      assert.equal(response.statusCode, 401)
      assert.ok('x-why' in response.headers)
      client.terminate()
    })

    test('a client that leaves before the upgrade cancels it', async () => {
      const left = Promise.withResolvers<void>()
      const came = Promise.withResolvers<void>()
      const upstream = await rawServer((peer) => {
        peer.until('\r\n\r\n').then(() => came.resolve(), came.reject)
        peer.untilEnd().then(() => left.resolve(), left.reject)
      })
      closing.push(() => upstream.close())
      const stack = await open(upstream.port)
      const client = await rawClient(stack.port)
      const key = randomBytes(16).toString('base64')
      const upgrade = 'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n'
      const head = `${upgrade}Sec-WebSocket-Key: ${key}\r\n`
      client.send(`GET / HTTP/1.1\r\nHost: a\r\n${head}\r\n`)
      await came.promise
      client.close()
      await left.promise
      const [record] = await stack.recorded(1)
      assert.equal(record!.error, 'CLIENT_GONE')
    })

    test('a client that does not read holds the server back', async () => {
      const { client, server } = await connect([], { perMessageDeflate: false })
      client.pause()
      const message = randomBytes(MB)
      for (let i = 0; i < MESSAGES; i++) server.send(message)
      await manyTurns()
      // What nobody took is still with the server.
      assert.ok(server.bufferedAmount > (MESSAGES / 2) * MB, `only ${server.bufferedAmount} bytes were held back`)
      let got = 0
      const whole = Promise.withResolvers<void>()
      client.on('message', (data: Buffer) => {
        assert.equal(data.length, MB)
        if (++got === MESSAGES) whole.resolve()
      })
      client.resume()
      await whole.promise
      client.close()
      await once(client, 'close')
    })
  })
}
