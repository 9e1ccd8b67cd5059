/** Who a client was is known at RECORD, however its connection has ended. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, describe, test } from 'node:test'
import { h2Client } from '#engine/testing/h2-client.ts'
import { rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'
import { UWS_STACK } from '#engine/testing/transports.ts'

const TRANSPORTS: Record<string, Partial<StackOptions>> = {
  'node over handles': { transport: 'node', sockets: 'handles' },
  'node over net': { transport: 'node', sockets: 'net' },
  uws: UWS_STACK
}

const HEAD = 'HTTP/1.1 200 OK\r\n'
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const KEY = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
const ACCEPT = 'Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n'

/** What the client sends, what it waits for, how the backend answers, and how the client goes. */
const ENDS: Record<string, { request: string; until: string; answer: string; goes: (socket: Socket) => void }> = {
  'the client goes on': {
    ...{ request: 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n', until: 'hi', answer: `${HEAD}Content-Length: 2\r\n\r\nhi` },
    goes: () => {}
  },
  'reset while the answer is on its way': {
    ...{ request: 'GET /b HTTP/1.1\r\nHost: a\r\n\r\n', until: 'hi', answer: `${HEAD}Content-Length: 9\r\n\r\nhi` },
    goes: (socket) => socket.resetAndDestroy()
  },
  'closed while the answer is on its way': {
    ...{ request: 'GET /c HTTP/1.1\r\nHost: a\r\n\r\n', until: 'hi', answer: `${HEAD}Content-Length: 9\r\n\r\nhi` },
    goes: (socket) => socket.end()
  },
  'reset within the request': {
    ...{ request: 'POST /d HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n', until: '100' },
    ...{ answer: 'HTTP/1.1 100 Continue\r\n\r\n', goes: (socket) => socket.resetAndDestroy() }
  },
  'a WebSocket that is reset': {
    ...{ request: `GET /e HTTP/1.1\r\nHost: a\r\n${UPGRADE}${KEY}\r\n`, until: 'Switching' },
    ...{ answer: `HTTP/1.1 101 Switching Protocols\r\n${UPGRADE}${ACCEPT}\r\n` },
    goes: (socket) => socket.resetAndDestroy()
  },
  'another upgrade that is closed': {
    ...{ request: 'GET /f HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n', until: 'Switching' },
    ...{ answer: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n' },
    goes: (socket) => socket.end()
  }
}

/** Of uws: it passes on WebSockets and no other upgrade; it tells neither the client's port nor its own address. */
const addressOf = (transport: string, port: number) => `127.0.0.1:${transport === 'uws' ? 0 : port}`
const isServed = (transport: string, end: string) => transport !== 'uws' || end !== 'another upgrade that is closed'
const ownAddress = (transport: string) => (transport === 'uws' ? '' : '127.0.0.1')

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  describe(`who the client was, ${name}`, () => {
    const closing: (() => void)[] = []
    after(() => {
      for (const close of closing) close()
    })

    async function open(answer: string): Promise<Stack> {
      const server = await rawServer((gateway) => {
        void gateway.until('\r\n\r\n').then(() => gateway.send(answer))
        void gateway.untilEnd().then(() => gateway.socket.end())
      })
      const stack = await startStack({ ...transport, upstream: server.port })
      closing.push(
        () => server.close(),
        () => stack.close()
      )
      return stack
    }

    for (const [end, { request, until, answer, goes }] of Object.entries(ENDS).filter(([end]) => isServed(name, end)))
      test(end, async () => {
        const stack = await open(answer)
        const client = await rawClient(stack.port)
        const port = client.socket.localPort!
        closing.push(() => client.close())
        client.send(request)
        await client.until(until)
        goes(client.socket)
        const [record] = await stack.recorded(1)
        assert.equal(record!.source, addressOf(name, port))
        assert.equal(record!.destination, ownAddress(name))
      })

    if (name !== 'uws')
      test('HTTP/2 that is reset', async () => {
        const stack = await open(`${HEAD}Content-Length: 9\r\n\r\nhi`)
        const client = await h2Client(stack.port)
        const port = client.socket.localPort!
        client.get(1, '/g')
        await client.until(() => client.streams.get(1)?.body === 'hi')
        client.socket.resetAndDestroy()
        const [record] = await stack.recorded(1)
        assert.equal(record!.source, `127.0.0.1:${port}`)
        assert.equal(record!.destination, '127.0.0.1')
      })
  })
}
