/** A reload and a drain in the middle of a body that passes the service: exchanges end whole, and nothing is left. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { Exchange } from '#engine/contract/exchange.ts'
import { accountOf } from '#engine/testing/account.ts'
import type { TestGateway } from '#engine/testing/gateway.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { Conversation } from './conversation.ts'
import { bodyIn, callsEnded, harness, piece } from './gateway.fixture.ts'
import { answerTo, type Processor } from './services.fixture.ts'

/** Objects of a class that a collection leaves. Each count walks the heap for seconds. */
const alive = (type: new (...args: never[]) => object): number => queryObjects(type, { format: 'count' })

const { seen, service, stops, start } = harness()
const ACCOUNT_BYTES = 64 * 1024 * 1024
const NOTHING = 'binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 410 } } }] }] }]'

const modeOf = (mode: string) => `processingMode: { requestBodyMode: ${mode}, responseBodyMode: ${mode} }`
const echoFor =
  (mode: string): Processor =>
  (message) => {
    const part = mode === 'STREAMED' ? null : bodyIn(message)
    return [part === null ? answerTo(message) : answerTo(message, piece(part[0], part[1]))]
  }

/** Resolves when the service has been sent a piece of `kind`. */
function pieceSent(mode: string, kind: 'requestBody' | 'responseBody'): Promise<void> {
  return new Promise((resolve) => {
    service.process = (message, call) => {
      if (message.request!.$case === kind) resolve()
      return echoFor(mode)(message, call)
    }
  })
}

/** A backend whose answer is written by the test. */
async function slowBackend(): Promise<{ readonly port: number; readonly response: Promise<ServerResponse> }> {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  const server = createServer((_, response) => resolve(response))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  stops.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, response: promise }
}

/** Nothing of an exchange is left when its service has seen the end of it. */
async function assertEmpty(gateway: TestGateway, account: { readonly bytes: number }): Promise<void> {
  await service.over.promise
  while (callsEnded(gateway) < 1) await turn()
  // A BodyStream has its Conversation, and is counted by it.
  deepEqual([account.bytes, ...[Exchange, Conversation].map(alive)], [0, 0, 0])
}

type Event = (gateway: TestGateway) => Promise<unknown>
const EVENTS: readonly (readonly [string, Event])[] = [
  ['reload', (gateway) => gateway.reload(NOTHING)],
  ['drain', (gateway) => gateway.drain()]
]

for (const mode of ['STREAMED', 'FULL_DUPLEX_STREAMED']) {
  for (const [what, act] of EVENTS) {
    describe(`${what}, ${mode}`, () => {
      it('in a request', async (t) => {
        const gateway = await start(modeOf(mode))
        const account = accountOf(t, ACCOUNT_BYTES)
        const sent = pieceSent(mode, 'requestBody')
        const client = await rawClient(gateway.port)
        client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
        await sent
        const done = act(gateway)
        if (what === 'reload') await done
        client.send('world')
        await client.until('from the backend')
        client.close()
        await done
        equal(seen[0]!.body, 'helloworld')
        await assertEmpty(gateway, account)
      })

      it('in a response', async (t) => {
        const backend = await slowBackend()
        const gateway = await start(modeOf(mode), '', service.port, backend.port)
        const account = accountOf(t, ACCOUNT_BYTES)
        const sent = pieceSent(mode, 'responseBody')
        const client = await rawClient(gateway.port)
        client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
        const response = await backend.response
        response.write('hello')
        await sent
        await client.until('hello')
        const done = act(gateway)
        if (what === 'reload') await done
        response.end('world')
        match(await client.until('\r\n0\r\n\r\n'), /hello\r\n5\r\nworld\r\n0\r\n\r\n$/)
        client.close()
        await done
        await assertEmpty(gateway, account)
      })

      it('when the client leaves behind it', async (t) => {
        const gateway = await start(modeOf(mode))
        const account = accountOf(t, ACCOUNT_BYTES)
        const sent = pieceSent(mode, 'requestBody')
        const client = await rawClient(gateway.port)
        client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
        await sent
        const done = act(gateway)
        if (what === 'reload') await done
        client.close()
        await done
        await assertEmpty(gateway, account)
      })
    })
  }
}
