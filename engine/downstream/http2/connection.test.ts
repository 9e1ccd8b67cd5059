/** HTTP/2 towards clients, against node:http2's client, against raw frames, over both socket layers. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { goawayFrame, pingFrame, resetFrame, settingsFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { PREFACE } from '#engine/http2/protocol.ts'
import { answering, manyTurns, OK, upstream } from '#engine/testing/downstream-support.ts'
import { type H2Client, h2Client, requestFields } from '#engine/testing/h2-client.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'

const opened: { close(): void }[] = []
afterEach(() => {
  for (const one of opened.splice(0)) one.close()
})

for (const sockets of ['handles', 'net'] as const) {
  const stackFor = async (options: StackOptions): Promise<Stack> => {
    const stack = await startStack({ sockets, ...options })
    opened.push(stack)
    return stack
  }
  const clientOf = async (stack: Stack, settings?: number[]): Promise<H2Client> => {
    const client = await h2Client(stack.port, settings)
    opened.push(client)
    return client
  }

  describe(`HTTP/2 over ${sockets}`, () => {
    test('a request and its answer, in the words of HTTP/1 behind', async () => {
      let seen = ''
      const server = await upstream(async (peer) => {
        seen = await peer.until('\r\n\r\n')
        peer.send('HTTP/1.1 200 OK\r\nX-One: A\r\nConnection: X-Two\r\nX-Two: b\r\nContent-Length: 2\r\n\r\nok')
      })
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      client.get(1, '/%61/../b?c=d', ['cookie', 'a=1'], ['x-a', '\xe9'], ['te', 'trailers'], ['cookie', 'b=2'])
      const { status, fields, body } = await client.answer(1)
      deepEqual(
        [status, body, fields],
        [
          200,
          'ok',
          [
            ['x-one', 'A'],
            ['content-length', '2']
          ]
        ]
      )
      equal(seen, 'GET /b?c=d HTTP/1.1\r\nHost: example.com\r\nx-a: \xe9\r\ncookie: a=1; b=2\r\n\r\n')
      const [record] = await stack.recorded(1)
      deepEqual([record!.status, record!.bytesSent, record!.error], [200, 2, null])
    })

    test('node:http2 is served: a hundred requests at once, bodies of a megabyte both ways', async () => {
      const origin = createServer((req, res) => req.pipe(res))
      origin.listen(0, '127.0.0.1')
      await once(origin, 'listening')
      opened.push({ close: () => origin.close() && origin.closeAllConnections() })
      const stack = await stackFor({ upstream: (origin.address() as AddressInfo).port })
      const session = connect(`http://127.0.0.1:${stack.port}`)
      const sent = randomBytes(1 << 20)
      const send = async (body: Buffer, sized: boolean) => {
        const more = sized ? { 'content-length': body.length } : {}
        const stream = session.request({ ':method': 'POST', ':path': '/', ...more })
        stream.end(body)
        const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
        equal(headers[':status'], 200)
        const got: Buffer[] = []
        for await (const piece of stream) got.push(piece as Buffer)
        ok(Buffer.concat(got).equals(body))
      }
      await Promise.all(Array.from({ length: 100 }, (_, i) => send(sent.subarray(0, i * 997), i % 2 === 0)))
      await Promise.all([send(sent, true), send(sent, false), send(sent, true)])
      equal(stack.connections.opened, 1)
      session.close()
      await once(session, 'close')
    })

    test('HEAD, 204 and 304 have no body; interim answers and trailers pass both ways', async () => {
      let seen = ''
      const answers = [
        'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n',
        'HTTP/1.1 204 No Content\r\n\r\n',
        'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n',
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' +
          'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n'
      ]
      const server = await upstream(async (peer) => {
        for (let n = 1; n <= 4; n++) {
          seen = await peer.until(n === 4 ? '\r\n0\r\nx-check: 2\r\n\r\n' : new RegExp(`(?:[\\s\\S]*?\r\n\r\n){${n}}`))
          peer.send(answers[n - 1]!)
        }
      })
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      client.request(1, requestFields('HEAD', '/'))
      deepEqual((await client.answer(1)).fields, [['content-length', '5000']])
      for (const [id, status] of [
        [3, 204],
        [5, 304]
      ] as const) {
        client.get(id)
        const got = await client.answer(id)
        deepEqual([got.status, got.body], [status, ''])
      }
      client.request(7, [...requestFields('POST', '/'), ['te', 'trailers']], false)
      client.data(7, 'body')
      client.request(7, [
        ['x-check', '2'],
        ['host', 'x']
      ])
      const { interim, body, trailers } = await client.answer(7)
      deepEqual([interim, body, trailers], [[103], 'ok', [['x-sum', '1']]])
      match(seen, /Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nx-check: 2\r\n\r\n$/)
    })

    test('the preface may come in pieces, and HTTP/1 may begin like it', async () => {
      const server = await answering(OK)
      const stack = await stackFor({ upstream: server.port })
      const client = await rawClient(stack.port)
      opened.push(client)
      for (const byte of PREFACE + settingsFrame([])) {
        client.send(byte)
        await new Promise(setImmediate)
      }
      await client.until('\0\0\0\x04\x01\0\0\0\0')
      for (const cut of [1, 2, 3, 4, 20]) {
        const text = 'PROPFIND / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
        const other = await rawClient(stack.port)
        other.send(text.slice(0, cut))
        await manyTurns()
        other.send(text.slice(cut))
        match(await other.untilEnd(), /^HTTP\/1.1 200 OK/)
        other.close()
      }
      const wrong = await rawClient(stack.port)
      wrong.send('PRI * HTTP/1.1\r\n\r\n')
      match(await wrong.untilEnd(), /\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01$/)
      wrong.close()
    })

    test('a client that stops reading stops the backend, and goes on where it stopped', async () => {
      const MB = 1 << 20
      const server = await upstream(async (peer) => {
        await peer.until('\r\n\r\n')
        peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${64 * MB}\r\n\r\n`)
        for (let i = 0; i < 64; i++) peer.socket.write(Buffer.alloc(MB, 'a'))
      })
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      client.get(1)
      await client.until(() => client.bytes === 65_535)
      await manyTurns()
      const [socket] = [...server.sockets]
      ok(socket!.writableLength > 40 * MB, `${socket!.writableLength} bytes wait where they come from`)
      equal(client.bytes, 65_535)
      client.send(windowUpdateFrame(0, 1000) + windowUpdateFrame(1, 500))
      await client.until(() => client.bytes === 66_035)
      client.send(windowUpdateFrame(0, 128 * MB) + windowUpdateFrame(1, 128 * MB))
      await client.until(() => client.bytes >= 64 * MB)
    })

    test('streams that wait for the same window take turns', async () => {
      const server = await answering(`HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n${'a'.repeat(200_000)}`)
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack, [4, 1 << 20])
      for (const id of [1, 3, 5, 7]) client.get(id)
      await client.until(() => client.bytes === 65_535 && [1, 3, 5, 7].every((id) => client.stream(id).status === 200))
      await manyTurns()
      const before = [1, 3, 5, 7].map((id) => client.stream(id).body.length)
      client.send(windowUpdateFrame(0, 16_384 * 8))
      await client.until(() => client.bytes === 65_535 + 16_384 * 8)
      const grown = [1, 3, 5, 7].map((id, i) => client.stream(id).body.length - before[i]!)
      ok(
        grown.every((bytes, i) => bytes > 0 || before[i]! > 50_000),
        `${before} then ${grown}`
      )
    })

    test('a backend that does not read stops the client by its window', async () => {
      const server = await upstream((peer) => {
        peer.socket.pause()
      })
      const stack = await stackFor({ upstream: server.port, frontend: { http2: SMALL } })
      const session = connect(`http://127.0.0.1:${stack.port}`)
      const stream = session.request({ ':method': 'POST', ':path': '/' })
      stream.on('error', () => {})
      session.on('error', () => {})
      const total = 64 << 20
      stream.end(Buffer.alloc(total))
      await manyTurns()
      const [record] = [...server.sockets]
      ok(record !== undefined)
      ok(stream.writableLength > 0)
      ok((session.state.remoteWindowSize ?? 0) <= SMALL.connectionWindowBytes)
      session.destroy()
      equal((await stack.recorded(1))[0]!.error, 'CLIENT_GONE')
      ok((await stack.recorded(1))[0]!.bytesReceived < total / 2)
    })

    test('a reset cancels the request upstream, the connection goes on', async () => {
      const left = Promise.withResolvers<void>()
      const server = await upstream(async (peer) => {
        if (/slow/.test(await peer.until('\r\n\r\n'))) {
          await peer.untilEnd()
          left.resolve()
        } else peer.send(OK)
      })
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      client.get(1, '/slow')
      while (server.accepted() === 0) await manyTurns()
      client.send(resetFrame(1, 8))
      await left.promise
      deepEqual(
        (await stack.recorded(1)).map(({ error }) => error),
        ['CLIENT_GONE']
      )
      client.get(3)
      equal((await client.answer(3)).status, 200)
    })

    test('a backend that breaks off resets its stream alone', async () => {
      const server = await upstream(async (peer) => {
        const text = await peer.until('\r\n\r\n')
        if (!/broken/.test(text)) peer.send(OK)
        else peer.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
      })
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      client.get(1, '/broken')
      client.get(3)
      deepEqual([(await client.answer(1)).reset, (await client.answer(3)).body], [2, 'ok'])
    })

    test('drain: streams that are open or already sent are served; then the connection ends', async () => {
      const slow = Promise.withResolvers<() => void>()
      const server = await upstream(async (peer) => {
        if (/slow/.test(await peer.until('\r\n\r\n'))) slow.resolve(() => peer.send(OK))
        else peer.send(OK)
      })
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      client.get(1, '/slow')
      const release = await slow.promise
      stack.bind.drain()
      await client.until(() => client.goaways.length === 1)
      deepEqual(client.goaways, [{ last: 0x7fffffff, code: 0 }])
      client.get(3)
      equal((await client.answer(3)).status, 200)
      client.send(pingFrame(true, client.pings[0]!))
      await client.until(() => client.goaways.length === 2)
      deepEqual(client.goaways[1], { last: 3, code: 0 })
      client.get(5)
      equal((await client.answer(5)).reset, 7, 'REFUSED_STREAM')
      release()
      equal((await client.answer(1)).body, 'ok')
      await client.untilEnd()
      equal(stack.bind.connections(), 0)
    })

    test('an idle connection gets GOAWAY when the bind drains', async () => {
      const server = await answering(OK)
      const stack = await stackFor({ upstream: server.port })
      const session = connect(`http://127.0.0.1:${stack.port}`)
      const stream = session.request({ ':path': '/' })
      await once(stream, 'response')
      stream.resume()
      await once(stream, 'end')
      stack.bind.drain()
      await once(session, 'close')
      equal(stack.bind.connections(), 0)
    })

    test('more streams than allowed are refused, each by itself', async () => {
      const server = await upstream(() => {})
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      for (let id = 1; id <= 203; id += 2) client.get(id)
      deepEqual([(await client.answer(201)).reset, (await client.answer(203)).reset], [7, 7])
      equal(client.stream(199).reset, null)
      equal(client.settings[client.settings.indexOf(3) + 1], 100)
    })

    test('a client that says goodbye is answered', async () => {
      const server = await answering(OK)
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      client.get(1)
      client.send(goawayFrame(0, 0))
      equal((await client.answer(1)).status, 200)
    })
  })
}

const SMALL = {
  windowBytes: 65_535,
  connectionWindowBytes: 65_535,
  frameBytesMax: 16_384,
  pingIntervalMs: 0,
  pingTimeoutMs: 20_000
}
