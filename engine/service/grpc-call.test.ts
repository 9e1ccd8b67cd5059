/** Calls to servers of others (@grpc/grpc-js), and to one that answers what no server should. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import {
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  type sendUnaryData,
  status
} from '@grpc/grpc-js'
import { abortSignal } from '#engine/contract/exchange-signal.ts'
import type { GrpcAnswer, GrpcCallOptions, GrpcStatus, GrpcStream, ServiceFailure } from '#engine/contract/service.ts'
import { framed } from '#engine/http/grpc-framing.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startService, type TestService } from '#engine/testing/service.ts'

const MESSAGE_BYTES_MAX = 4 * 1024 * 1024
const asIs = (bytes: Buffer): Buffer => bytes
const method = (name: string, isStream: boolean): MethodDefinition<Buffer, Buffer> => ({
  path: `/weir.test.Echo/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs
})
const ECHO = {
  unary: method('Unary', false),
  fail: method('Fail', false),
  hang: method('Hang', false),
  large: method('Large', false),
  many: method('Many', false),
  talk: method('Talk', true),
  count: method('Count', true)
} satisfies ServiceDefinition

type Unary = {
  request: Buffer
  metadata: Metadata
  getDeadline(): Date | number
  on(event: string, f: () => void): void
}

const options = (path: string, more: Partial<GrpcCallOptions> = {}): GrpcCallOptions => ({
  path: `/weir.test.Echo/${path}`,
  metadata: null,
  timeoutMs: 60_000,
  ex: null,
  messageBytesMax: MESSAGE_BYTES_MAX,
  ...more
})

/** The answer of a call with one message. */
function ask(service: TestService, path: string, message = 'hello', more: Partial<GrpcCallOptions> = {}) {
  return new Promise<GrpcAnswer | ServiceFailure>((resolve) => {
    service.grpc.unary(options(path, more), Buffer.from(message), resolve)
  })
}

const textOf = (answer: GrpcAnswer | ServiceFailure): string =>
  answer.error === null ? Buffer.from(answer.bytes ?? []).toString() : `${answer.error}: ${answer.detail}`

describe('calls to a server of others', () => {
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
  let service: TestService
  let port = 0
  /** Resolved when the server knows that a hanging call is over. */
  let cancelled = Promise.withResolvers<void>()
  let deadline = 0
  let began = Promise.withResolvers<void>()

  before(async () => {
    server.addService(ECHO, {
      unary: ({ request, metadata }: Unary, done: sendUnaryData<Buffer>) => {
        const trailers = new Metadata()
        trailers.set('x-trailer', 'behind')
        done(null, Buffer.concat([request, Buffer.from(` ${metadata.get('x-name').join()}`)]), trailers)
      },
      fail: (_call: Unary, done: sendUnaryData<Buffer>) =>
        done({ code: status.PERMISSION_DENIED, details: 'nö, 100%' }),
      hang: (call: Unary) => {
        deadline = Number(call.getDeadline())
        call.on('cancelled', () => cancelled.resolve())
        began.resolve()
      },
      large: ({ request }: Unary, done: sendUnaryData<Buffer>) => done(null, Buffer.alloc(Number(request), 7)),
      many: (_call: Unary, done: sendUnaryData<Buffer>) => {
        const trailers = new Metadata()
        for (let i = 0; i < 10_000; i++) trailers.set(`x-${i}`, 'value')
        done(null, Buffer.from('x'), trailers)
      },
      talk: (call: ServerDuplexStream<Buffer, Buffer>) => {
        call.on('data', (bytes: Buffer) => call.write(bytes))
        call.on('end', () => call.end())
      },
      count: (call: ServerDuplexStream<Buffer, Buffer>) => {
        let bytes = 0
        call.on('data', (piece: Buffer) => {
          bytes += piece.length
        })
        call.on('end', () => {
          call.write(Buffer.from(String(bytes)))
          call.end()
        })
      }
    })
    port = await new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
        error === null ? resolve(at) : reject(error)
      )
    })
    service = await startService(port)
  })

  after(() => {
    service.close()
    server.forceShutdown()
  })

  it('carry one message each way, with metadata and trailers', async () => {
    const metadata = new HeaderBlock()
    metadata.receive('x-name', 'weir')
    const answer = await ask(service, 'Unary', 'hello', { metadata })
    equal(textOf(answer), 'hello weir')
    ok(answer.error === null)
    equal(answer.status, 0)
    match(answer.trailers, /^x-trailer: behind\r$/m)
    equal(service.results.at(-1), 'ok')
  })

  it('tell the status, its text, and that there is nothing else', async () => {
    const answer = await ask(service, 'Fail')
    ok(answer.error === null)
    deepEqual([answer.status, answer.message, answer.bytes], [7, 'nö, 100%', null])
    equal(service.results.at(-1), 'status')
    const unknown = await ask(service, 'NoSuchMethod')
    equal(unknown.error === null && unknown.status, status.UNIMPLEMENTED)
  })

  it('end at their deadline, which the server gets as grpc-timeout', async () => {
    cancelled = Promise.withResolvers()
    const answer = await ask(service, 'Hang', '', { timeoutMs: 200 })
    equal(answer.error, 'DEADLINE')
    ok(Number.isFinite(deadline))
    await cancelled.promise
    equal(service.results.at(-1), 'DEADLINE')
  })

  it('are reset when they are given up, and when their exchange is over', async () => {
    for (const end of ['call', 'exchange'] as const) {
      cancelled = Promise.withResolvers()
      began = Promise.withResolvers()
      const ex = fakeExchange()
      const answer = Promise.withResolvers<GrpcAnswer | ServiceFailure>()
      const call = service.grpc.unary(options('Hang', { ex }), Buffer.from('x'), answer.resolve)
      await began.promise
      if (end === 'call') call.cancel()
      else abortSignal(ex)
      equal((await answer.promise).error, 'CANCELLED')
      await cancelled.promise
    }
  })

  it('take messages up to their limit, however long', async () => {
    const limit = 3 * 1024 * 1024
    const whole = await ask(service, 'Large', String(limit), { messageBytesMax: limit })
    equal(whole.error === null && whole.bytes?.length, limit)
    ok(whole.error === null && whole.bytes!.every((byte) => byte === 7))
    const over = await ask(service, 'Large', String(limit + 1), { messageBytesMax: limit })
    equal(over.error, 'TOO_LARGE')
  })

  it('take no ten thousand trailers', async () => {
    const answer = await ask(service, 'Many')
    equal(answer.error, 'PROTOCOL')
    equal(textOf(await ask(service, 'Unary')), 'hello ')
  })

  it('are streams both ways', async () => {
    const heard: string[] = []
    const status = await new Promise<GrpcStatus>((resolve, reject) => {
      const stream = service.grpc.stream(options('Talk', { timeoutMs: 0 }), {
        message(bytes) {
          heard.push(Buffer.from(bytes).toString())
          if (heard.length === 1) stream.send(Buffer.from('two'))
          else stream.finish()
          return true
        },
        ended: resolve,
        failed: reject
      })
      stream.send(Buffer.from('one'))
    })
    deepEqual(heard, ['one', 'two'])
    equal(status.status, 0)
  })

  it('stop sending when the server is full, and go on when there is room', async () => {
    const piece = Buffer.alloc(64 * 1024, 1)
    const PIECES = 256
    let sent = 0
    let stops = 0
    const total = await new Promise<string>((resolve, reject) => {
      let answer = ''
      const feed = (): void => {
        while (sent < PIECES) {
          sent++
          if (!stream.send(piece)) {
            stops++
            return
          }
        }
        stream.finish()
      }
      const stream: GrpcStream = service.grpc.stream(options('Count', { timeoutMs: 0 }), {
        message(bytes) {
          answer = Buffer.from(bytes).toString()
          return true
        },
        writable: feed,
        ended: () => resolve(answer),
        failed: reject
      })
      feed()
    })
    equal(total, String(piece.length * PIECES))
    ok(stops > 0)
  })

  it('stop being read when their reader is full', async () => {
    const heard: number[] = []
    await new Promise<void>((resolve, reject) => {
      const stream = service.grpc.stream(options('Talk', { timeoutMs: 0 }), {
        message(bytes) {
          heard.push(bytes[0]!)
          setImmediate(() => stream.resume())
          return false
        },
        ended: () => resolve(),
        failed: reject
      })
      for (let i = 0; i < 50; i++) stream.send(Buffer.alloc(1000, i))
      stream.finish()
    })
    deepEqual(
      heard,
      Array.from({ length: 50 }, (_, i) => i)
    )
  })
})

describe('a server that breaks the rules', () => {
  let server: Http2Server
  let service: TestService
  let answer: (stream: ServerHttp2Stream) => void = () => {}
  const GRPC = { ':status': 200, 'content-type': 'application/grpc' }
  const OK = { 'grpc-status': '0' }

  before(async () => {
    server = createServer()
    server.on('stream', (stream) => {
      stream.on('error', () => stream.destroy())
      answer(stream)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    service = await startService((server.address() as AddressInfo).port)
  })

  after(() => {
    service.close()
    server.close()
  })

  /** Answers with `bytes` and a status. */
  function answerWith(bytes: Buffer, trailers: Record<string, string> | null = OK) {
    answer = (stream) => {
      stream.respond(GRPC, { waitForTrailers: trailers !== null })
      stream.on('wantTrailers', () => stream.sendTrailers(trailers!))
      stream.end(bytes)
    }
  }

  const hello = framed(Buffer.from('hello'))
  const compressed = Buffer.concat([Buffer.from([1]), hello.subarray(1)])
  const cases: readonly (readonly [string, Buffer, RegExp])[] = [
    ['a compressed message', compressed, /^PROTOCOL: .*compressed/],
    ['an unknown flag', Buffer.concat([Buffer.from([9]), hello.subarray(1)]), /^PROTOCOL: .*framed/],
    ['half a message', hello.subarray(0, 7), /^PROTOCOL: .*within a message/],
    ['half a prefix', hello.subarray(0, 3), /^PROTOCOL: .*within a message/],
    ['no message', Buffer.alloc(0), /^PROTOCOL: .*no message/],
    ['two messages', Buffer.concat([hello, hello]), /^PROTOCOL: .*several messages/],
    ['4 GB in its prefix', Buffer.from([0, 255, 255, 255, 255]), /^TOO_LARGE/],
    ['garbage', Buffer.from('<html>not gRPC at all</html>'), /^PROTOCOL/]
  ]
  for (const [name, bytes, expected] of cases) {
    it(`${name} is refused`, async () => {
      answerWith(bytes)
      const result = await ask(service, 'Any')
      match(textOf(result), expected)
      equal(service.results.at(-1), result.error)
    })
  }

  it('an answer without a status, or that is no gRPC, is refused', async () => {
    answerWith(hello, {})
    match(textOf(await ask(service, 'Any')), /^PROTOCOL: .*no grpc-status/)
    answer = (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/html' })
      stream.end('hello')
    }
    match(textOf(await ask(service, 'Any')), /^PROTOCOL: .*not gRPC/)
    for (const [code, error] of [
      [404, 'PROTOCOL'],
      [503, 'UNAVAILABLE']
    ] as const) {
      answer = (stream) => stream.respond({ ':status': code }, { endStream: true })
      match(textOf(await ask(service, 'Any')), new RegExp(`^${error}: .*status ${code}`))
    }
  })

  it('a status in the head is the whole answer', async () => {
    answer = (stream) =>
      stream.respond({ ...GRPC, 'grpc-status': '14', 'grpc-message': 'not%20now' }, { endStream: true })
    const result = await ask(service, 'Any')
    deepEqual(result.error === null && [result.status, result.message], [14, 'not now'])
  })

  it('a reset within the answer ends the call', async () => {
    answer = (stream) => {
      stream.respond(GRPC)
      stream.write(hello.subarray(0, 7), () => stream.close(2))
    }
    match(textOf(await ask(service, 'Any')), /^UNAVAILABLE|^PROTOCOL/)
  })

  it('GOAWAY between two calls: the second one goes over another connection', async () => {
    answerWith(hello)
    equal(textOf(await ask(service, 'Any')), 'hello')
    answer = (stream) => {
      stream.session?.goaway(0)
      stream.respond(GRPC, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(OK))
      stream.end(hello)
    }
    equal(textOf(await ask(service, 'Any')), 'hello')
    equal(textOf(await ask(service, 'Any')), 'hello')
  })
})

it('no server listens: the call fails', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const service = await startService(port)
  match(textOf(await ask(service, 'Any')), /^UNAVAILABLE/)
  service.close()
})
