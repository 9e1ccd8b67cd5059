/** WebSockets over HTTP/2 (RFC 8441) in front of a backend of HTTP/1.1. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { encodeFrame, TEXT } from '#engine/http/websocket.ts'
import { resetFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { answering, OK, upstream } from '#engine/testing/downstream-support.ts'
import { h2Client } from '#engine/testing/h2-client.ts'
import { startStack } from '#engine/testing/stack.ts'

const opened: { close(): void }[] = []
afterEach(() => {
  for (const one of opened.splice(0)) one.close()
})

const CONNECT: [string, string][] = [
  [':method', 'CONNECT'],
  [':protocol', 'websocket'],
  [':scheme', 'http'],
  [':path', '/chat?a=b'],
  [':authority', 'example.com'],
  ['sec-websocket-version', '13']
]
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n'

describe('WebSockets over HTTP/2', () => {
  test('node:http2 speaks to a server of the package ws', async () => {
    const http = createServer()
    const server = new WebSocketServer({ server: http })
    server.on('connection', (socket) => {
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
    })
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    opened.push({ close: () => http.close() && http.closeAllConnections() })
    const stack = await startStack({ upstream: (http.address() as AddressInfo).port })
    opened.push(stack)
    const session = connect(`http://127.0.0.1:${stack.port}`)
    await once(session, 'remoteSettings')
    equal(session.remoteSettings.enableConnectProtocol, true)
    const stream = session.request({
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': '/',
      'sec-websocket-version': '13'
    })
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    deepEqual([headers[':status'], headers['sec-websocket-accept']], [200, undefined])
    const text = 'hello '.repeat(20_000)
    stream.write(encodeFrame(TEXT, Buffer.from(text)))
    let got = Buffer.alloc(0)
    while (got.length < text.length + 10) got = Buffer.concat([got, ((await once(stream, 'data')) as [Buffer])[0]])
    equal(got.subarray(10).toString(), text)
    stream.end()
    await once(stream, 'close')
    session.close()
    equal((await stack.recorded(1))[0]!.status, 101)
  })

  test('frames before the response wait for it; each direction ends by itself', async () => {
    let head = ''
    const server = await upstream(async (peer) => {
      head = await peer.until('\r\n\r\n')
      peer.send(`${SWITCH}first`)
      await peer.until('early late')
      await peer.untilEnd()
      peer.send(' last')
      peer.socket.end()
    })
    const stack = await startStack({ upstream: server.port })
    opened.push(stack)
    const client = await h2Client(stack.port)
    opened.push(client)
    client.request(1, CONNECT, false)
    client.data(1, 'early ')
    await client.until(() => client.stream(1).body === 'first')
    client.data(1, 'late', true)
    await client.until(() => client.stream(1).ended)
    deepEqual([client.stream(1).status, client.stream(1).body, client.stream(1).reset], [200, 'first last', null])
    match(head, /^GET \/chat\?a=b HTTP\/1.1\r\nHost: example.com\r\n/)
    match(head, /\r\nsec-websocket-key: [A-Za-z0-9+/]{22}==\r\n/)
    match(head, /\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n$/)
    const [record] = await stack.recorded(1)
    deepEqual([record!.bytesReceived, record!.bytesSent], [10, 10])
  })

  test('a backend that does not switch answers for itself', async () => {
    const server = await answering(OK)
    const stack = await startStack({ upstream: server.port })
    opened.push(stack)
    const client = await h2Client(stack.port)
    opened.push(client)
    client.request(1, CONNECT, false)
    client.data(1, 'early ')
    await client.until(() => client.stream(1).reset !== null)
    const { status, body, reset } = client.stream(1)
    deepEqual([status, body, reset], [200, 'ok', 0])
  })

  test('either side that breaks off breaks the other', async () => {
    const left = Promise.withResolvers<void>()
    const server = await upstream(async (peer) => {
      const text = await peer.until('\r\n\r\n')
      peer.send(SWITCH)
      if (text.includes('x-reset')) {
        await peer.until('go')
        peer.socket.resetAndDestroy()
      }
      await peer.untilEnd()
      left.resolve()
    })
    const stack = await startStack({ upstream: server.port })
    opened.push(stack)
    const client = await h2Client(stack.port)
    opened.push(client)
    client.request(1, CONNECT, false)
    await client.until(() => client.stream(1).status === 200)
    client.send(resetFrame(1, 8))
    await left.promise
    client.request(3, [...CONNECT, ['x-reset', '1']], false)
    await client.until(() => client.stream(3).status === 200)
    client.data(3, 'go')
    await client.until(() => client.stream(3).reset !== null)
    equal((await stack.recorded(2)).length, 2)
  })

  test('windows hold back a backend that pours, and a client that does', async () => {
    const server = await upstream(async (peer) => {
      await peer.until('\r\n\r\n')
      peer.send(SWITCH)
      for (let i = 0; i < 32; i++) peer.socket.write(Buffer.alloc(1 << 20, 'a'))
    })
    const stack = await startStack({ upstream: server.port })
    opened.push(stack)
    const client = await h2Client(stack.port)
    opened.push(client)
    client.request(1, CONNECT, false)
    await client.until(() => client.bytes === 65_535)
    ok([...server.sockets][0]!.writableLength > 8 << 20)
    client.send(windowUpdateFrame(0, 64 << 20) + windowUpdateFrame(1, 64 << 20))
    await client.until(() => client.bytes === 32 << 20)
  })
})
