/** Calls to services over HTTP, whole answers. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { abortSignal } from '#engine/contract/exchange-signal.ts'
import type { HttpServiceAnswer, HttpServiceRequest, ServiceFailure } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startService, type TestService } from '#engine/testing/service.ts'

describe('calls over HTTP', () => {
  let server: Server
  let service: TestService
  let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {}

  before(async () => {
    server = createServer((request, response) => answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    service = await startService((server.address() as AddressInfo).port)
  })

  after(() => {
    service.close()
    server.close()
    server.closeAllConnections()
  })

  const requestOf = (more: Partial<HttpServiceRequest> = {}): HttpServiceRequest => {
    const headers = new HeaderBlock()
    headers.receive('x-a', 'b')
    const parts = { method: 'POST', path: '/a', query: '?b=c', headers, body: Buffer.from('hello') }
    return { ...parts, timeoutMs: 60_000, answerBytesMax: 100, ex: null, ...more }
  }
  const ask = (more: Partial<HttpServiceRequest> = {}) =>
    new Promise<HttpServiceAnswer | ServiceFailure>((resolve) => {
      service.http.request(requestOf(more), resolve)
    })

  it('carry a request and a whole answer, whatever its status', async () => {
    let seen = ''
    answer = (request, response) => {
      request.on('data', (piece: Buffer) => {
        seen += `${request.method} ${request.url} ${request.headers['x-a']} ${request.headers.host} ${piece}`
      })
      request.on('end', () => response.writeHead(418, { 'x-b': 'c' }).end('tea'))
    }
    const result = await ask({ authority: 'a.test' })
    equal(seen, 'POST /a?b=c b a.test hello')
    deepEqual(result.error === null && [result.status, result.headers.get('x-b'), result.body.toString()], [
      418,
      'c',
      'tea'
    ])
    equal(service.results.at(-1), 'ok')
  })

  it('take no longer answer than they say', async () => {
    answer = (_request, response) => response.end(Buffer.alloc(101))
    equal((await ask()).error, 'TOO_LARGE')
    answer = (_request, response) => response.end(Buffer.alloc(100))
    equal((await ask()).error, null)
  })

  it('end at their deadline, with their exchange, and with a connection that breaks', async () => {
    answer = () => {}
    equal((await ask({ timeoutMs: 50 })).error, 'DEADLINE')
    const began = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    answer = (request) => {
      request.on('close', () => gone.resolve())
      began.resolve()
    }
    const ex = fakeExchange()
    const result = ask({ ex })
    await began.promise
    abortSignal(ex)
    equal((await result).error, 'CANCELLED')
    await gone.promise
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('half', () => response.destroy())
    }
    match((await ask()).error ?? '', /^UNAVAILABLE$/)
    deepEqual(service.results.slice(-3), ['DEADLINE', 'CANCELLED', 'UNAVAILABLE'])
  })
})
