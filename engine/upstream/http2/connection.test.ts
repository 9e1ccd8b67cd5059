/** HTTP/2 towards servers that behave: what is sent, what comes back, how connections are shared. */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { describe, it } from 'node:test'
import { windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { type Http2Origin, startFrameServer, startHttp2Origin } from '#engine/testing/h2-origin.ts'
import { answer, withServer } from '#engine/testing/h2-stack.ts'
import { statuses } from '#engine/testing/origin.ts'
import { dechunk, exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const post = (body: string) =>
  `POST /p?q=1 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`

for (const sockets of ['handles', 'net'] as const) {
  const start = (origin: Http2Origin, options: Partial<StackOptions> = {}): Promise<Stack> =>
    startStack({ upstream: origin.port, sockets, spoken: { version: 'HTTP2' }, ...options })

  async function withOrigin(
    origin: Promise<Http2Origin>,
    options: Partial<StackOptions>,
    run: (stack: Stack, origin: Http2Origin) => Promise<void>
  ): Promise<void> {
    const server = await origin
    const stack = await start(server, options)
    try {
      await run(stack, server)
      equal(stack.upstream.counts().busy, 0)
    } finally {
      stack.close()
      server.close()
    }
  }

  describe(`HTTP/2 towards servers, over ${sockets}`, () => {
    it('a request arrives as it was sent, without what belongs to a connection', () =>
      withOrigin(startHttp2Origin(), {}, async (stack, { seen }) => {
        const request =
          'POST /p?q=1 HTTP/1.1\r\nHost: a.test:81\r\nX-One: 1\r\nx-one: 2\r\nConnection: close, x-hop\r\nX-Hop: 1\r\n' +
          'TE: gzip\r\nKeep-Alive: 5\r\nContent-Length: 5\r\n\r\nhello'
        const answer = await exchangeRaw(stack.port, request)
        deepEqual(statuses(answer), [200])
        equal(dechunk(answer), 'hello')
        const { headers, body } = seen[0]!
        deepEqual(
          [headers[':method'], headers[':scheme'], headers[':path'], headers[':authority']],
          ['POST', 'http', '/p?q=1', 'a.test:81']
        )
        equal(headers['x-one'], '1, 2')
        equal(headers['content-length'], '5')
        equal(body, 'hello')
        const names = ['connection', 'x-hop', 'te', 'keep-alive', 'host', 'transfer-encoding']
        for (const name of names) equal(headers[name], undefined, name)
      }))

    it('trailers pass both ways, and interim answers', () =>
      withOrigin(
        startHttp2Origin((stream) => {
          stream.additionalHeaders({ ':status': 103, link: '</a>' })
          stream.respond({ ':status': 200, 'x-a': 'b' }, { waitForTrailers: true })
          stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1', 'set-cookie': 'no' }))
          stream.resume().on('end', () => stream.end('ok'))
        }),
        {},
        async (stack, { seen }) => {
          const request =
            'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n' +
            '5\r\nhello\r\n0\r\nX-Check: 2\r\nAuthorization: no\r\n\r\n'
          const answer = await exchangeRaw(stack.port, request)
          deepEqual(statuses(answer), [103, 200])
          match(answer, /link: <\/a>/)
          match(answer, /2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n$/)
          doesNotMatch(answer, /set-cookie/)
          deepEqual(Object.entries(seen[0]!.trailers), [['x-check', '2']])
          equal(seen[0]!.headers['transfer-encoding'], undefined)
        }
      ))

    it('answers without a body keep a client of HTTP/1.1 connected', () =>
      withOrigin(
        startHttp2Origin((stream, headers) => {
          const path = String(headers[':path'])
          const more = path === '/304' ? { 'content-length': 5 } : {}
          stream.respond(
            { ':status': path === '/304' ? 304 : path === '/204' ? 204 : 200, ...more },
            { endStream: true }
          )
        }),
        {},
        async (stack) => {
          const client = await rawClient(stack.port)
          for (const path of ['/', '/204', '/304']) {
            client.send(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`)
            await client.until(new RegExp(`(HTTP/1.1 [^]*\r\n\r\n){${path === '/' ? 1 : path === '/204' ? 2 : 3}}$`))
          }
          client.send('HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
          deepEqual(statuses(await client.untilEnd()), [200, 204, 304, 200])
        }
      ))

    it('a long body passes both ways, whatever the windows', () =>
      withOrigin(startHttp2Origin(undefined, { initialWindowSize: 1000 }), {}, async (stack, { seen }) => {
        const body = 'abcdefgh'.repeat(200_000)
        const answer = await exchangeRaw(stack.port, post(body))
        equal(dechunk(answer), body)
        equal(seen[0]!.body.length, body.length)
      }))

    it('a long body passes to a server that opens its windows in small steps', () => {
      let bytes = 0
      const server = startFrameServer(({ type, flags, stream, payload }, client) => {
        if (type !== 0) return
        const before = Math.floor(bytes / 100)
        bytes += payload.length
        const steps = Math.floor(bytes / 100) - before
        client.send((windowUpdateFrame(stream, 100) + windowUpdateFrame(0, 100)).repeat(steps))
        if ((flags & 1) !== 0) client.send(answer(stream))
      })
      return withServer(server, {}, async (stack) => {
        deepEqual(statuses(await exchangeRaw(stack.port, post('a'.repeat(500_000)))), [200])
        equal(bytes, 500_000)
      })
    })

    it('exchanges share one connection', async () => {
      const open: ServerHttp2Stream[] = []
      const origin = startHttp2Origin((stream) => {
        open.push(stream)
        if (open.length < 20) return
        for (const one of open) {
          one.respond({ ':status': 200 })
          one.end('ok')
        }
      })
      await withOrigin(origin, {}, async (stack, { sessions }) => {
        const answers = await Promise.all(Array.from({ length: 20 }, () => exchangeRaw(stack.port, GET)))
        deepEqual(answers.flatMap(statuses), Array(20).fill(200))
        equal(sessions.length, 1)
        deepEqual(stack.upstream.counts(), { idle: 1, busy: 0 })
      })
    })

    it('no more streams than the server takes; others wait, or get a connection of their own', async () => {
      let most = 0
      let now = 0
      const origin = startHttp2Origin(
        (stream) => {
          most = Math.max(most, ++now)
          setImmediate(() => {
            now--
            stream.respond({ ':status': 200 })
            stream.end('ok')
          })
        },
        { maxConcurrentStreams: 3 }
      )
      await withOrigin(origin, { poolMax: 1 }, async (stack, { sessions }) => {
        const answers = await Promise.all(Array.from({ length: 30 }, () => exchangeRaw(stack.port, GET)))
        deepEqual(answers.flatMap(statuses), Array(30).fill(200))
        ok(most <= 3, `${most} at a time`)
        equal(sessions.length, 1)
        ok(stack.records.every(({ attempts }) => attempts === 1))
      })
    })

    it('a second connection when the first one is full', async () => {
      const open: ServerHttp2Stream[] = []
      const origin = startHttp2Origin(
        (stream) => {
          open.push(stream)
          if (open.length < 4) return
          for (const one of open) {
            one.respond({ ':status': 200 })
            one.end('ok')
          }
        },
        { maxConcurrentStreams: 2 }
      )
      await withOrigin(origin, {}, async (stack, { sessions }) => {
        const answers = await Promise.all(Array.from({ length: 4 }, () => exchangeRaw(stack.port, GET)))
        deepEqual(answers.flatMap(statuses), Array(4).fill(200))
        equal(sessions.length, 2)
      })
    })

    it('a client that leaves resets its stream and nothing else', async () => {
      const opened = Promise.withResolvers<ServerHttp2Stream>()
      const origin = startHttp2Origin((stream, headers) => {
        if (headers[':path'] === '/slow') opened.resolve(stream)
        else stream.respond({ ':status': 200 }, { endStream: true })
      })
      await withOrigin(origin, {}, async (stack, { sessions }) => {
        const client = await rawClient(stack.port)
        client.send('GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n')
        const stream = await opened.promise
        const closed = once(stream, 'close')
        client.close()
        await closed
        equal(stream.rstCode, 8)
        await stack.recorded(1)
        deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
        equal(sessions.length, 1)
      })
    })

    it('a client that does not read stops its stream alone', async () => {
      let written = 0
      const blocked = Promise.withResolvers<void>()
      const origin = startHttp2Origin((stream, headers) => {
        stream.respond({ ':status': 200 })
        if (headers[':path'] !== '/long') {
          stream.end('ok')
          return
        }
        const chunk = Buffer.alloc(64 * 1024, 97)
        const more = () => {
          while (written < 64 * 1024 * 1024) {
            written += chunk.length
            if (!stream.write(chunk)) break
          }
        }
        stream.on('drain', more)
        more()
        const watch = setInterval(() => {
          // The window of the stream and what the kernel takes, and no more comes.
          if (stream.writableNeedDrain) blocked.resolve()
        }, 50)
        stream.on('close', () => clearInterval(watch))
      })
      await withOrigin(origin, {}, async (stack) => {
        const client = await rawClient(stack.port)
        client.socket.pause()
        client.send('GET /long HTTP/1.1\r\nHost: a.test\r\n\r\n')
        await blocked.promise
        for (let i = 0; i < 3; i++) deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
        ok(written < 32 * 1024 * 1024, `${written} bytes`)
        client.close()
        await stack.recorded(4)
      })
    })

    it('a server that stops reading one stream stops its client alone', async () => {
      const opened = Promise.withResolvers<ServerHttp2Stream>()
      const origin = startHttp2Origin((stream, headers) => {
        if (headers[':method'] === 'GET') {
          stream.respond({ ':status': 200 })
          stream.end('ok')
          return
        }
        stream.pause()
        opened.resolve(stream)
      })
      await withOrigin(origin, {}, async (stack) => {
        const client = await rawClient(stack.port)
        const total = 48 * 1024 * 1024
        client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${total}\r\n\r\n`)
        const chunk = Buffer.alloc(1024 * 1024, 97)
        let sent = 0
        const more = () => {
          while (sent < total) {
            sent += chunk.length
            if (!client.socket.write(chunk)) return
          }
        }
        client.socket.on('drain', more)
        more()
        const stream = await opened.promise
        for (let i = 0; i < 3; i++) deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
        ok(sent < total, `${sent} bytes taken`)
        stream.close(8)
        client.close()
        await stack.recorded(4)
      })
    })

    it('a connection is replaced after its share of requests, and closed when it is idle for long', async () => {
      const origin = startHttp2Origin()
      await withOrigin(origin, { requestsPerConnectionMax: 2, idleTimeoutMs: 60 }, async (stack, { sessions }) => {
        for (let i = 0; i < 5; i++) deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
        equal(sessions.length, 3)
        if (!sessions[2]!.closed) await once(sessions[2]!, 'close')
        deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
      })
    })
  })
}
