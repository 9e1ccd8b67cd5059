/** Servers over streamable HTTP that do what they may do, and what they may not. */

import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { keyAuth } from '#engine/contract/backend-auth/schema.ts'
import { accountOf } from '#engine/testing/account.ts'
import { type Answers, hostile } from './hostile.fixture.ts'

async function started(
  t: TestContext,
  answers: Answers,
  more: Parameters<typeof mcpOf>[1] = {},
  initialize: object = INITIALIZE
) {
  const server = await hostile(t, answers)
  const { url } = await gatewayOf(t, mcpOf([httpTarget('h', server.port)], { messageBytesMax: 10_000, ...more }))
  const begun = await post(url, initialize)
  await begun.text()
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id')! }
  const call = (body: object = CALL, headers = {}) => post(url, body, { ...session, ...headers })
  return { url, session, call, seen: server.seen }
}

const OLDER = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: '2025-06-18' } }
const CALL = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'x' } }
const RESULT = '{"jsonrpc":"2.0","id":5,"result":{"content":[]}}'
const json = (response: Parameters<Answers>[1], status: number, body: string): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
const stream = (response: Parameters<Answers>[1], text: string): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
}

const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
/** Closes the stream behind an id; a client that comes back gets the rest. */
const CLOSING: Answers = (_body, response, { method }) => {
  if (method === 'POST') stream(response, `id: e1\nretry: 1\ndata: \n\nid: e2\ndata: ${NOTE}\n\n`)
  else stream(response, `id: e3\ndata: ${RESULT}\n\n`)
}
const eventOf = (data: string, id: string | null = null): string =>
  `event: message\n${id === null ? '' : `id: ${id}\n`}data: ${data}\n\n`

describe('answers of a server', () => {
  it('in JSON go back byte for byte', async (t) => {
    const odd = `{ "jsonrpc":"2.0", "id":5,\n "result":{"content":[],"n":12345678901234567890} }`
    const { call, seen } = await started(t, (_body, response) => json(response, 200, odd))
    const response = await call()
    deepEqual([response.headers.get('content-type'), await response.text()], ['application/json', odd])
    equal(seen.at(-1)!.body, JSON.stringify(CALL))
  })

  it('that are errors of HTTP with a JSON-RPC error in them become that', async (t) => {
    const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32050,"message":"no"}}'
    const { call } = await started(t, (_body, response) => json(response, 400, body))
    deepEqual(await (await call()).json(), { jsonrpc: '2.0', id: 5, error: { code: -32050, message: 'no' } })
  })

  const failures: readonly (readonly [string, Answers, RegExp])[] = [
    ['a redirect', (_b, r) => void r.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(), /redirect/],
    [
      'a page',
      (_b, r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      /neither JSON nor a stream/
    ],
    [
      'a coding',
      (_b, r) => void r.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end('x'),
      /coding/
    ],
    ['a status', (_b, r) => void r.writeHead(500).end('secret words'), /answered with status 500/],
    ['too long JSON', (_b, r) => json(r, 200, `{"a":"${'x'.repeat(20_000)}"}`), /longer than the limit/],
    ['an endless event', (_b, r) => stream(r, `data: ${'x'.repeat(20_000)}`), /longer than the limit/],
    ['events that are no JSON', (_b, r) => stream(r, 'data: hello\n\n'), /no JSON-RPC/],
    ['deep JSON in events', (_b, r) => stream(r, `data: ${'['.repeat(3000)}${']'.repeat(3000)}\n\n`), /no JSON-RPC/],
    ['a stream without an answer', (_b, r) => stream(r, ': hi\n\n'), /without an answer/],
    ['JSON that is no message', (_b, r) => json(r, 200, '[]'), /no response/],
    ['a broken connection', (_b, r) => void r.socket!.destroy(), /closed the connection/]
  ]
  for (const [what, answers, message] of failures) {
    it(`that are ${what} become JSON-RPC errors`, async (t) => {
      const { call } = await started(t, answers)
      const response = await call()
      const body = (await response.json()) as { id: number; error: { code: number; message: string } }
      deepEqual([response.status, body.id, body.error.code], [200, 5, -32603])
      match(body.error.message, message)
      equal(body.error.message.includes('secret'), false)
    })
  }

  for (const [what, answers] of [
    ['JSON', (_b, r) => json(r, 200, RESULT.replace('[]', `["${'x'.repeat(900_000)}"]`))],
    ['an event', (_b, r) => stream(r, `data: ${RESULT.replace('[]', `["${'x'.repeat(900_000)}"]`)}\n\n`)]
  ] as const satisfies readonly (readonly [string, Answers])[]) {
    it(`that are ${what} count while they come: without room they are given up`, async (t) => {
      const { call } = await started(t, answers, { messageBytesMax: 1_000_000 })
      const account = accountOf(t, 200_000)
      match(await (await call()).text(), /"code":-32603,"message":"[^"]*as many messages are kept in memory/)
      equal(account.bytes, 0)
      accountOf(t, 4_000_000)
      equal((await (await call()).text()).length > 900_000, true)
    })
  }

  it('to another request are not taken for the answer', async (t) => {
    const other = RESULT.replace('5', '6')
    const { call } = await started(t, (_body, response) => stream(response, `data: ${other}\n\ndata: ${RESULT}\n\n`))
    equal(await (await call()).text(), eventOf(RESULT))
  })

  it('that are a stream are one for the client, also where the response is all', async (t) => {
    const { call } = await started(t, (_body, response) => stream(response, `id: e1\ndata: ${RESULT}\n\n`))
    const response = await call()
    equal(response.headers.get('content-type'), 'text/event-stream')
    equal(await response.text(), eventOf(RESULT, 'e1'))
  })

  it('on a stream that was closed are waited for by the gateway, for clients that know nothing of it', async (t) => {
    const { call, seen } = await started(t, CLOSING, {}, OLDER)
    const text = await (await call()).text()
    equal(text, eventOf(NOTE, 'e2') + eventOf(RESULT, 'e3'))
    equal(seen.at(-1)!.headers['last-event-id'], 'e2')
  })

  it('on a stream that was closed are taken up by the client that knows of it', async (t) => {
    const { call, url, session, seen } = await started(t, CLOSING)
    equal(await (await call()).text(), `id: e1\nretry: 1\ndata: \n\n${eventOf(NOTE, 'e2')}`)
    equal(seen.filter(({ method }) => method === 'GET').length, 0)
    const headers = { ...session, accept: 'text/event-stream', 'last-event-id': 'e2' }
    equal(await (await fetch(url, { headers })).text(), eventOf(RESULT, 'e3'))
    equal(seen.at(-1)!.headers['last-event-id'], 'e2')
  })

  it('on a stream that breaks off are waited for by the gateway', async (t) => {
    const { call, seen } = await started(t, (body, response, request) => {
      if (request.method !== 'POST') CLOSING(body, response, request)
      else {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`id: e1\nretry: 1\ndata: \n\n`, () => response.destroy())
      }
    })
    equal(await (await call()).text(), `id: e1\nretry: 1\ndata: \n\n${eventOf(RESULT, 'e3')}`)
    equal(seen.at(-1)!.headers['last-event-id'], 'e1')
  })

  it('are asked for once where the server forgets the call with its session', async (t) => {
    const { call, seen } = await started(
      t,
      (_body, response, request) => {
        if (request.method === 'POST') stream(response, 'id: e1\nretry: 1\ndata: \n\n')
        else response.writeHead(404).end()
      },
      {},
      OLDER
    )
    match(await (await call()).text(), /-32603.*target h: has forgotten the call/)
    equal(seen.filter(({ body }) => body.includes('tools/call')).length, 1)
  })

  it('that say with 400 that the session is unknown lead to a new one', async (t) => {
    let requests = 0
    const { call, seen } = await started(t, (body, response) => {
      if (body.includes('"notifications/initialized"')) response.writeHead(202).end()
      else if (++requests > 1) json(response, 200, RESULT)
      else
        json(
          response,
          400,
          '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'
        )
    })
    equal(await (await call()).text(), RESULT)
    equal(seen.filter(({ body }) => body.includes('"initialize"')).length, 2)
  })

  it('that stay 404 end the session of the client', async (t) => {
    const { call, url, session } = await started(t, (body, response) => {
      if (body.includes('"notifications/initialized"')) response.writeHead(202).end()
      else response.writeHead(404).end()
    })
    equal((await call()).status, 404)
    equal((await post(url, CALL, session)).status, 404)
  })
})

describe('request fields sent to a server', () => {
  it('of the client’s fields is what the configuration says, and trace context', async (t) => {
    const { call, seen } = await started(t, (_body, response) => json(response, 200, RESULT), {
      forwardHeaders: ['x-tenant', 'cookie', 'mcp-session-id']
    })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await (
      await call(CALL, { traceparent, cookie: 'a=b', authorization: 'Bearer x', 'x-tenant': 't', 'x-other': 'o' })
    ).text()
    const { headers } = seen.at(-1)!
    deepEqual([headers.traceparent, headers['x-tenant'], headers['mcp-session-id']], [traceparent, 't', 's'])
    deepEqual([headers.cookie, headers.authorization, headers['x-other']], [undefined, undefined, undefined])
    deepEqual([headers['mcp-protocol-version'], headers['content-type']], ['2025-11-25', 'application/json'])
  })

  it('of itself is the key that is meant for it', async (t) => {
    const server = await hostile(t, (_body, response) => json(response, 200, RESULT))
    const auth = keyAuth('its-own')
    const { url } = await gatewayOf(
      t,
      mcpOf([httpTarget('h', server.port, { auth })], { forwardHeaders: ['authorization'] })
    )
    await (await post(url, INITIALIZE, { authorization: 'Bearer of the client' })).text()
    equal(server.seen[0]!.headers.authorization, 'Bearer its-own')
  })
})
