/** Exchanges whose bodies are streamed through the service, and what may happen to them meanwhile. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Server } from 'node:net'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Client, credentials, Server as GrpcServer, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { startGateway } from '#engine/testing/gateway.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { at, bodyIn, callsEnded, harness, immediate, piece, post, statusOf } from './gateway.fixture.ts'
import { answerTo, type Call, type Processor } from './services.fixture.ts'

const { seen, service, stops, start, sentBody } = harness()

const modeOf = (mode: string) => `processingMode: { requestBodyMode: ${mode}, responseBodyMode: ${mode} }`
const MODES = ['STREAMED', 'FULL_DUPLEX_STREAMED']
const echoFor =
  (mode: string): Processor =>
  (message) => {
    const part = mode === 'STREAMED' ? null : bodyIn(message)
    return [part === null ? answerTo(message) : answerTo(message, piece(part[0], part[1]))]
  }

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => server.close())
  return (server.address() as AddressInfo).port
}

for (const mode of MODES) {
  describe(mode, () => {
    it('another attempt sends what the service has made of the request', async () => {
      let attempts = 0
      const flaky = createServer((request, response) => {
        let text = ''
        request.on('data', (part: Buffer) => {
          text += part.toString()
        })
        request.on('end', () => {
          if (++attempts === 1) response.writeHead(503).end()
          else response.end(`attempt ${attempts}: ${text}`)
        })
      })
      service.process = echoFor(mode)
      const gateway = await start(
        modeOf(mode),
        ', retry: { attempts: 2, codes: [503] }',
        service.port,
        await listening(flaky)
      )
      match(await post(gateway, 'hello'), /attempt 2: hello/)
      deepEqual(sentBody('requestBody'), ['hello', true])
    })

    it('a backend that answers early ends the exchange, and the next one is served', async () => {
      const early = createNetServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end('HTTP/1.1 413 Payload Too Large\r\nContent-Length: 3\r\n\r\nbig'))
      })
      service.process = echoFor(mode)
      const gateway = await start(modeOf(mode), '', service.port, await listening(early))
      const client = await rawClient(gateway.port)
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
      await client.until('big')
      client.send('world')
      client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
      await client.until(/big[\s\S]*HTTP\/1.1 413 [\s\S]*big/)
      client.close()
    })

    it('a reply of the gateway leaves the rest of the request untold', async () => {
      const gateway = await start(
        `messageTimeout: 2s, ${modeOf(mode)}`,
        ', directResponse: { status: 203, body: here }'
      )
      service.process = at('requestBody', () => [])
      service.process = (message) =>
        message.request!.$case === 'requestBody' ? [] : echoFor(mode)(message, {} as Call)
      const client = await rawClient(gateway.port)
      client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 200000\r\n\r\n${'a'.repeat(100_000)}`)
      await client.until(/203 [\s\S]*here/)
      client.close()
      await service.over.promise
    })

    it('a call of gRPC speaks both ways, and its trailers arrive', async () => {
      const server = new GrpcServer()
      const path = '/a.Echo/Both'
      const method = {
        path,
        requestStream: true as const,
        responseStream: true as const,
        requestSerialize: (bytes: Buffer) => bytes,
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: (bytes: Buffer) => bytes,
        responseDeserialize: (bytes: Buffer) => bytes
      }
      server.addService(
        { both: method },
        {
          both(call: ServerDuplexStream<Buffer, Buffer>) {
            call.on('data', (bytes: Buffer) => call.write(bytes))
            call.on('end', () => call.end())
          }
        }
      )
      const port = await new Promise<number>((resolve, reject) => {
        server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
          error === null ? resolve(bound) : reject(error)
        )
      })
      stops.push(() => server.forceShutdown())
      service.process = (message) => {
        const { $case, value } = message.request!
        if (mode === 'STREAMED' || ($case !== 'requestBody' && $case !== 'responseBody')) return [answerTo(message)]
        const { body, endOfStream } = value as { body: Buffer; endOfStream: boolean }
        const streamed = { body, endOfStream, endOfStreamWithoutMessage: false, grpcMessageCompressed: false }
        return [answerTo(message, { bodyMutation: { mutation: { $case: 'streamedResponse', value: streamed } } })]
      }
      const gateway = await start(modeOf(mode), '', service.port, port)
      const client = new Client(`127.0.0.1:${gateway.port}`, credentials.createInsecure())
      stops.push(() => client.close())
      const call = client.makeBidiStreamRequest(
        path,
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes
      )
      const answers: string[] = []
      for (const text of ['one', 'two', 'three']) {
        call.write(Buffer.from(text))
        const [bytes] = (await once(call, 'data')) as [Buffer]
        answers.push(bytes.toString())
      }
      const status = once(call, 'status')
      call.end()
      call.resume()
      const [{ code }] = (await status) as [{ code: number }]
      deepEqual([answers, code], [['one', 'two', 'three'], 0])
    })

    for (const transport of ['node', 'uws']) {
      it(`over the transport ${transport}, long and slow`, async () => {
        service.process = echoFor(mode)
        const echo = createServer((request, response) => request.pipe(response))
        const port = await listening(echo)
        const gateway = await startGateway(`
frontendPolicies:
  http: { http1IdleTimeout: 12s, http1HeaderTimeout: 12s, http1MaxHeaders: 98 }
  tcp: { keepalives: { time: 0s } }
binds:
  - port: 0
    transport: ${transport}
    listeners:
      - routes:
          - policies: { extProc: { host: "127.0.0.1:${service.port}", messageTimeout: 60s, ${modeOf(mode)} } }
            backends: [{ host: "127.0.0.1:${port}" }]
`)
        stops.push(() => gateway.close())
        const long = 'abc'.repeat(700_000)
        const text = await post(gateway, long)
        equal(statusOf(text), 200)
        const chunks = text.slice(text.indexOf('\r\n\r\n') + 4).replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '')
        ok(chunks.startsWith(long), `${chunks.length}`)
      })
    }

    it('a stream whose service is slow to end it is not reset behind a good exchange', async () => {
      const gateway = await start(modeOf(mode))
      const calls: Call[] = []
      const resets: Call[] = []
      service.process = (message, call) => {
        if (!calls.includes(call)) {
          calls.push(call)
          // The fixture ends it at once.
          call.removeAllListeners('end')
          call.once('cancelled', () => resets.push(call))
        }
        return echoFor(mode)(message, call)
      }
      equal(statusOf(await post(gateway, 'hello')), 200)
      const [call] = calls
      if (!call!.readableEnded) await once(call!, 'end')
      equal(resets.length, 0)
      call!.end()
      await once(call!, 'finish')
      service.process = at('requestBody', () => [immediate({ status: { code: 429 } })])
      equal(statusOf(await post(gateway, 'hello')), 429)
      while (callsEnded(gateway) < 2) await turn()
      match(gateway.metrics(), /weir_service_calls_total\{.*result="ok"\} 2\n/)
    })

    it('another configuration takes its place: the exchange ends as it began', async () => {
      const gateway = await start(modeOf(mode))
      service.process = echoFor(mode)
      const first = Promise.withResolvers<void>()
      service.process = (message, call) => {
        if (message.request!.$case === 'requestBody') first.resolve()
        return echoFor(mode)(message, call)
      }
      const client = await rawClient(gateway.port)
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
      await first.promise
      await gateway.reload(
        'binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 410 } } }] }] }]'
      )
      client.send('world')
      await client.until('from the backend')
      client.close()
      equal(seen[0]!.body, 'helloworld')
    })
  })
}

it('the time of the request is up, and the service says nothing of the reply either', async () => {
  service.process = at('requestBody', () => [])
  for (const failureMode of ['FailClosed', 'FailOpen']) {
    const more = `messageTimeout: 300ms, failureMode: ${failureMode}, ${modeOf('FULL_DUPLEX_STREAMED')}`
    const gateway = await start(more, ', timeouts: { request: 300ms }')
    equal(statusOf(await post(gateway, 'hello')), 504)
    await service.over.promise
  }
})
