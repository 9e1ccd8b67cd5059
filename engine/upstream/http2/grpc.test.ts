/** gRPC through the lifecycle to servers of HTTP/2: messages, trailers, deadlines, and who is refused. */

import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import type { ServerHttp2Stream } from 'node:http2'
import { describe, it } from 'node:test'
import { LOG_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import { CelError } from '#engine/cel/index.ts'
import type { RetryPlan } from '#engine/contract/filter.ts'
import type { ClientTls } from '#engine/contract/transport.ts'
import { Call, type CallOptions } from '#engine/testing/call.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { type Http2Origin, startHttp2Origin } from '#engine/testing/h2-origin.ts'
import { type Origin, startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'

const GRPC = [
  ['content-type', 'application/grpc+proto'],
  ['te', 'trailers']
] as const

/** A length-prefixed message. */
const message = (text: string): string => `\0\0\0\0${String.fromCharCode(text.length)}${text}`

const TLS: ClientTls = {
  listener: 'web',
  serverName: 'a.test',
  version: 'TLSv1.3',
  cipher: 'x',
  alpn: 'h2',
  peer: null
}

/** Answers each message as it comes, and ends with grpc-status 0. */
function bidi(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }))
  stream.on('data', (chunk: Buffer) => stream.write(chunk))
  stream.on('end', () => stream.end())
}

async function withStack(
  origin: Promise<Http2Origin | Origin>,
  options: Partial<StackOptions>,
  run: (stack: Stack, call: (options?: CallOptions) => Call, origin: Http2Origin) => Promise<void>
): Promise<void> {
  const server = await origin
  const stack = await startStack({ upstream: server.port, spoken: {}, ...options })
  try {
    await run(stack, (options) => new Call(stack.lifecycle, { headers: GRPC, ...options }), server as Http2Origin)
    equal(stack.upstream.counts().busy, 0)
  } finally {
    stack.close()
    server.close()
  }
}

describe('gRPC', () => {
  it('both sides speak at the same time; trailers end the call', () =>
    withStack(startHttp2Origin(bidi), {}, async (_stack, start, { seen }) => {
      const call = start()
      for (const text of ['one', 'two', 'three']) {
        const before = call.body
        call.send(message(text))
        await call.until(() => call.body === before + message(text))
      }
      equal(call.trailers, null)
      call.finish()
      await call.over()
      deepEqual([call.status, call.headers.get('content-type')], [200, 'application/grpc+proto'])
      equal(call.trailers, 'grpc-status: 0\r\ngrpc-message: fine\r\n')
      equal(call.ex.grpcStatus, 0)
      const { headers } = seen[0]!
      deepEqual(
        [headers.te, headers[':method'], headers['content-type']],
        ['trailers', 'POST', 'application/grpc+proto']
      )
    }))

  it('the server may speak first, and may end before the client does', () =>
    withStack(
      startHttp2Origin((stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '8' }))
        stream.end(message('hello'))
      }),
      {},
      async (_stack, start) => {
        const call = start()
        await call.over()
        equal(call.body, message('hello'))
        equal(call.ex.grpcStatus, 8)
        // What the client still says goes nowhere, and breaks nothing.
        call.send(message('late'))
        call.finish()
      }
    ))

  it('an answer of trailers only', () =>
    withStack(
      startHttp2Origin((stream) =>
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5', 'grpc-message': 'no' },
          { endStream: true }
        )
      ),
      {},
      async (_stack, start) => {
        const call = start()
        call.finish()
        await call.over()
        deepEqual([call.status, call.headers.get('grpc-status'), call.body, call.trailers], [200, '5', '', ''])
        equal(call.headers.get('content-length'), undefined)
        equal(call.ex.grpcStatus, 5)
      }
    ))

  it('a client that leaves cancels the call', () => {
    const closed = Promise.withResolvers<number>()
    const opened = Promise.withResolvers<void>()
    const origin = startHttp2Origin((stream) => {
      stream.on('close', () => closed.resolve(stream.rstCode))
      opened.resolve()
    })
    return withStack(origin, {}, async (_stack, start) => {
      const call = start()
      await opened.promise
      call.leave()
      equal(await closed.promise, 8)
    })
  })

  it('grpc-timeout ends the call with DEADLINE_EXCEEDED, and resets its stream', () => {
    const closed = Promise.withResolvers<number>()
    const origin = startHttp2Origin((stream) => stream.on('close', () => closed.resolve(stream.rstCode)))
    return withStack(origin, { settings: { requestTimeoutMs: 10_000 } }, async (_stack, start) => {
      const call = start({ headers: [...GRPC, ['grpc-timeout', '80m']] })
      call.finish()
      await call.over()
      deepEqual([call.status, call.headers.get('grpc-status')], [200, '4'])
      equal(call.ex.error, 'REQUEST_TIMEOUT')
      equal(await closed.promise, 8)
    })
  })

  it("the route's timeout wins when it is shorter; requestTimeout of the backend is one of an attempt", () =>
    withStack(
      startHttp2Origin(() => {}),
      { settings: { requestTimeoutMs: 60 } },
      async (stack, start) => {
        const call = start({ headers: [...GRPC, ['grpc-timeout', '1H']] })
        await call.over()
        equal(call.headers.get('grpc-status'), '4')
        const limited = await startStack({
          upstream: Number(stack.endpoint.name.split(':')[1]),
          spoken: { requestTimeoutMs: 60 }
        })
        const other = new Call(limited.lifecycle, { headers: GRPC })
        await other.over()
        deepEqual([other.ex.error, other.headers.get('grpc-status')], ['UPSTREAM_TIMEOUT', '4'])
        limited.close()
      }
    ))

  it("the gateway's own replies are trailers only", () =>
    withStack(
      startHttp2Origin((stream) => stream.respond({ ':status': 200 }, { endStream: true })),
      {
        refuse: (ex) => (ex.path === '/none' ? 'ROUTE_NOT_FOUND' : null),
        requestHooks: [
          (ex) => {
            if (ex.path !== '/limited') return 0
            ex.localReply = { status: 429, body: '100 % ütil', contentType: null, headers: ['retry-after', '1'] }
            return 1
          }
        ]
      },
      async (_stack, start) => {
        const none = start({ path: '/none' })
        await none.over()
        deepEqual(
          [
            none.status,
            none.body,
            none.trailers,
            ...['grpc-status', 'grpc-message', 'content-type'].map((name) => none.headers.get(name))
          ],
          [200, '', '', '12', 'no route matches this request', 'application/grpc']
        )
        equal(none.headers.get('content-length'), undefined)
        const limited = start({ path: '/limited' })
        await limited.over()
        deepEqual(
          ['grpc-status', 'grpc-message', 'retry-after'].map((name) => limited.headers.get(name)),
          ['14', '100 %25 %C3%BCtil', '1']
        )
        // What is no gRPC is answered as ever, and so is gRPC-Web.
        for (const type of ['application/json', 'application/grpc-web+proto']) {
          const plain = start({ path: '/none', headers: [['content-type', type]] })
          await plain.over()
          deepEqual([plain.status, plain.headers.get('grpc-status')], [404, undefined])
        }
      }
    ))

  it('over HTTP/1.1 it is refused, and nothing reaches the server', () =>
    withStack(startHttp2Origin(bidi), {}, async (stack, _start, { seen }) => {
      const request =
        'POST /s/M HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Type: application/grpc\r\nContent-Length: 5\r\n\r\nhello'
      const received = await exchangeRaw(stack.port, request)
      deepEqual(statuses(received), [505])
      match(received, /gRPC needs HTTP\/2, and this request came over HTTP\/1/)
      doesNotMatch(received, /grpc-status/)
      deepEqual(seen, [])
    }))

  it('to a server of HTTP/1.1 it is refused: by configuration, and when the server turns out to be one', async () => {
    const expected = [
      [{ version: 'HTTP1' }, 'GRPC_TO_HTTP1', /^gRPC needs HTTP\/2, and the backend is set to HTTP\/1.1/],
      [{}, 'UPSTREAM_NOT_HTTP2', /^the backend does not speak HTTP\/2/]
    ] as const
    for (const [spoken, code, text] of expected) {
      await withStack(startOrigin(), { spoken }, async (_stack, start, { seen }) => {
        const call = start()
        call.finish()
        await call.over()
        equal(call.ex.error, code)
        equal(call.headers.get('grpc-status'), '14')
        match(call.headers.get('grpc-message') ?? '', text)
        deepEqual(seen, [])
      })
    }
  })
})

describe('the version of a request', () => {
  const plain = { method: 'GET', hasBody: false, headers: [] } as const
  const ok = () => startHttp2Origin((stream) => stream.respond({ ':status': 200 }, { endStream: true }))

  it('is as received on clear text', async () => {
    await withStack(ok(), {}, async (_stack, start) => {
      const call = start(plain)
      await call.over()
      equal(call.status, 200)
    })
    await withStack(startOrigin(), {}, async (_stack, start, { seen }) => {
      const call = start({ ...plain, httpVersion: '1.1' })
      await call.over()
      deepEqual([call.status, seen.length], [200, 1])
    })
  })

  it('as received, to a server that does not know it, is HTTP/1.1, and the server is not asked again', async () => {
    await withStack(startOrigin(), {}, async (stack, start, { seen }) => {
      for (let i = 1; i <= 3; i++) {
        const call = start(plain)
        await call.over()
        deepEqual([call.status, call.ex.error, seen.length], [200, null, i])
      }
      equal(stack.records.length, 3)
    })
  })

  it('is HTTP/1.1 for what came over TLS, but for gRPC', async () => {
    await withStack(startOrigin(), {}, async (_stack, start, { seen }) => {
      const call = start({ ...plain, tls: TLS })
      await call.over()
      deepEqual([call.status, seen.length], [200, 1])
    })
    await withStack(startHttp2Origin(bidi), {}, async (_stack, start) => {
      const call = start({ tls: TLS })
      call.finish()
      await call.over()
      equal(call.ex.grpcStatus, 0)
    })
  })

  it('is what the configuration says', async () => {
    await withStack(startOrigin(), { spoken: { version: 'HTTP1' } }, async (_stack, start, { seen }) => {
      const call = start(plain)
      await call.over()
      deepEqual([call.status, seen.length], [200, 1])
    })
    await withStack(ok(), { spoken: { version: 'HTTP2' } }, async (stack, start) => {
      const call = start({ ...plain, httpVersion: '1.1', tls: TLS })
      await call.over()
      equal(call.status, 200)
      const upgrade = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'
      deepEqual(statuses(await exchangeRaw(stack.port, upgrade.replace('upgrade\r\n', 'upgrade, close\r\n'))), [501])
    })
  })
})

describe('fields of a call in policies and the log', () => {
  const again: RetryPlan = {
    attempts: 2,
    codes: new Set(),
    backoffMs: 0,
    precondition: null,
    condition: (ex) => ex.grpcStatus === 14,
    budget: { percent: 100, minPerSecond: 100 }
  }

  it('a condition for retries reads the status of an answer of trailers only', () => {
    let calls = 0
    const origin = startHttp2Origin((stream) => {
      const status = ++calls === 1 ? '14' : '0'
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': status }, { endStream: true })
    })
    return withStack(origin, { retry: again }, async (_stack, start) => {
      const call = start()
      call.send(message('one'))
      call.finish()
      await call.over()
      deepEqual([calls, call.ex.grpcStatus, call.headers.get('grpc-status')], [2, 0, '0'])
    })
  })

  it('expressions read response.grpcStatus, and it is absent where there is none', () => {
    const program = compileExpression('response.grpcStatus', LOG_ROOTS, 'any')
    const ex = fakeExchange()
    ex.grpcStatus = 5
    equal(program.run(ex), 5)
    ex.grpcStatus = -1
    ok(program.run(ex) instanceof CelError)
  })
})
