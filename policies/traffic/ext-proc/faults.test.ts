/** Services that fail, and exchanges that end while the service is asked. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { describe, it } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { at, harness, send, statusOf } from './gateway.fixture.ts'
import { answer, answerTo, type Call, mutation, type Processor } from './services.fixture.ts'

const { service, stops, start, kinds } = harness()

describe('a service that fails', () => {
  const FAULTS: readonly (readonly [string, Processor, number])[] = [
    ['answers garbage', () => [Buffer.from([255, 255, 255])], 500],
    ['answers another question', () => [answer({ $case: 'responseBody', value: { response: undefined } })], 500],
    ['answers nothing', () => [answer(undefined)], 500],
    [
      'ends with a status',
      (_, call) => {
        call.emit('error', { code: 7, details: 'no' })
        return []
      },
      500
    ],
    ['changes too many fields', (request) => [answerTo(request, { headerMutation: many(10_000) })], 500],
    [
      'sends a body that is too large',
      (request) => [
        answerTo(request, { status: 1, bodyMutation: { mutation: { $case: 'body', value: Buffer.alloc(16e6) } } })
      ],
      500
    ]
  ]
  const many = (count: number) => mutation(Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, 'v'])))

  for (const side of ['requestHeaders', 'responseHeaders']) {
    for (const [what, process, status] of FAULTS) {
      it(`${what} at ${side}: closed, open`, async () => {
        service.process = at(side, process)
        const gateway = await start()
        equal(statusOf(await send(gateway)), status)
        const open = await start('failureMode: FailOpen')
        match(await send(open), /^HTTP\/1.1 200 [\s\S]*from the backend/)
      })
    }

    it(`does not answer at ${side}: 504, or it goes on`, async () => {
      service.process = at(side, () => [])
      const gateway = await start('messageTimeout: 30ms')
      // What goes before the silence may be late, too, on a slow machine.
      equal(statusOf(await send(gateway)), 504)
      const open = await start('messageTimeout: 30ms, failureMode: FailOpen')
      equal(statusOf(await send(open)), 200)
    })
  }

  it('resets the stream: 500, or it goes on', async () => {
    const resetting = createHttp2Server()
    resetting.on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
      stream.on('error', () => {})
      stream.once('data', () => stream.close(2))
    })
    await new Promise<void>((resolve) => resetting.listen(0, '127.0.0.1', resolve))
    stops.push(() => resetting.close())
    const { port } = resetting.address() as AddressInfo
    equal(statusOf(await send(await start('', '', port))), 500)
    equal(statusOf(await send(await start('failureMode: FailOpen', '', port))), 200)
  })

  it('is not there: the status of the configuration', async () => {
    const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { extProc: { host: "127.0.0.1:1", messageTimeout: 60s, failureMode: { denyWithStatus: 503 } } }
            backends: [{ host: "127.0.0.1:1" }]
`)
    stops.push(() => gateway.close())
    const text = await send(gateway)
    match(text, /^HTTP\/1.1 503 [\s\S]*cannot be asked/)
  })

  it('ends the stream in good order: the exchange goes on without it', async () => {
    const gateway = await start()
    service.process = (_, call) => {
      call.end()
      return []
    }
    match(await send(gateway), /^HTTP\/1.1 200 [\s\S]*from the backend/)
    deepEqual(kinds(), ['requestHeaders'])
  })

  it('leaves nothing behind when the client leaves', async () => {
    const gateway = await start()
    const reached = Promise.withResolvers<void>()
    service.process = () => {
      reached.resolve()
      return []
    }
    const client = await rawClient(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await reached.promise
    client.close()
    await service.over.promise
  })
})

describe('what happens while the service is silent', () => {
  const silentAt = (kind: string) => {
    const reached = Promise.withResolvers<void>()
    service.process = at(kind, () => {
      reached.resolve()
      return []
    })
    return reached.promise
  }

  it('the backend breaks off: the client gets that error, and the stream is over', async () => {
    const half = createNetServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n'))
      void reached.then(() => socket.destroy())
    })
    await new Promise<void>((resolve) => half.listen(0, '127.0.0.1', resolve))
    stops.push(() => half.close())
    const reached = silentAt('responseHeaders')
    const gateway = await start('', '', service.port, (half.address() as AddressInfo).port)
    equal(statusOf(await send(gateway)), 502)
    await service.over.promise
  })

  it('the time of the request is up', async () => {
    void silentAt('requestHeaders')
    const gateway = await start('', ', timeouts: { request: 50ms }')
    equal(statusOf(await send(gateway)), 504)
    await service.over.promise
  })

  it('another configuration takes its place: the exchange keeps what it began with', async () => {
    const gateway = await start()
    const calls: Call[] = []
    const reached = Promise.withResolvers<void>()
    service.process = at('requestHeaders', (_, call) => {
      calls.push(call)
      reached.resolve()
      return []
    })
    const answered = send(gateway)
    await reached.promise
    await gateway.reload(
      'binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 410 } } }] }] }]'
    )
    calls[0]!.write(answerTo(service.requests[0]!))
    equal(statusOf(await answered), 200)
  })
})
