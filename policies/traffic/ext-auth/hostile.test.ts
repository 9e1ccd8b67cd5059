/** Authorization services that answer what no service should, and clients that speak for them. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test'
import { accountOf } from '#engine/testing/account.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import {
  allowed,
  denied,
  type GrpcAuthorizer,
  type HttpAnswer,
  option,
  startGrpcAuthorizer,
  startHttpServer
} from './services.fixture.ts'

type HttpServer = Awaited<ReturnType<typeof startHttpServer>>

let backend: HttpServer
let grpc: GrpcAuthorizer
let http: HttpServer
let answer: HttpAnswer = { status: 200 }
before(async () => {
  backend = await startHttpServer(() => ({ status: 200, body: 'in' }))
  grpc = await startGrpcAuthorizer(() => allowed())
  http = await startHttpServer(() => answer)
})
beforeEach(() => {
  for (const { requests } of [backend, grpc, http]) requests.length = 0
})
after(() => {
  for (const server of [backend, grpc, http]) server.close()
})

async function start(t: TestContext, port: number, more: string) {
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { extAuth: { host: "127.0.0.1:${port}", ${more} } }
            backends: [{ host: "127.0.0.1:${backend.port}" }]
`)
  t.after(() => gateway.close())
  return async (line: string, ...fields: readonly string[]) => {
    const isBody = fields.at(-2) === ''
    const head = [line, 'Host: a.test', 'Connection: close', ...fields, ...(isBody ? [] : ['', ''])]
    return Number((await exchangeRaw(gateway.port, head.join('\r\n'))).slice(9, 12))
  }
}
const many = <T>(count: number, one: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => one(i))

describe('answers over gRPC', () => {
  it('an answer with more changes than a message has fields is no answer', async (t) => {
    const send = await start(t, grpc.port, 'grpc: {}')
    const options = (count: number) => many(count, (i) => option(`x-${i}`, 'v', 3))
    grpc.judge = () => allowed({ headers: options(256) })
    assert.equal(await send('GET / HTTP/1.1'), 200)
    const parameters = many(257, (i) => ({ key: `k${i}`, value: 'v' }))
    const names = many(257, (i) => `x-${i}`)
    for (const verdict of [
      allowed({ headers: options(257) }),
      allowed({ headers: options(129), responseHeadersToAdd: options(128) }),
      allowed({ headersToRemove: names }),
      allowed({ queryParametersToSet: parameters }),
      allowed({ queryParametersToRemove: names }),
      denied(418, options(257), '')
    ]) {
      grpc.judge = () => verdict
      assert.equal(await send('GET / HTTP/1.1'), 403)
    }
    assert.equal(backend.requests.length, 1)
  })

  it('a client does not say what the service could not', async (t) => {
    const send = await start(t, grpc.port, 'grpc: {}')
    grpc.judge = () => allowed({ headers: [option('x-user', 'ann')] })
    await send('GET / HTTP/1.1', 'X-User: root', 'X_User: root')
    assert.equal(backend.requests.pop()!.headers['x-user'], 'ann')
    grpc.judge = () => allowed({ headers: [option('x-user', 'a\nb', 2), option('x-team', 'blue', 2)] })
    assert.equal(await send('GET / HTTP/1.1', 'X-User: root', 'X_User: root', 'Connection: x-team'), 200)
    const { 'x-user': user, x_user: twin, 'x-team': team } = backend.requests[0]!.headers
    assert.deepEqual([user, twin, team], [undefined, undefined, 'blue'])
  })

  it('parameters of a query may be of any characters', async (t) => {
    const send = await start(t, grpc.port, 'grpc: {}')
    grpc.judge = () => allowed({ queryParametersToSet: [{ key: 'k', value: '\u{1f600}&\u00e9' }] })
    assert.equal(await send('GET /?k=1 HTTP/1.1'), 200)
    assert.equal(backend.requests[0]!.line, 'GET /?k=%F0%9F%98%80%26%C3%A9')
  })

  it('a lifetime that is none keeps nothing, and a long one no longer than the policy says', async (t) => {
    const send = await start(t, grpc.port, 'grpc: {}, cache: { key: request.path, ttl: 1h }')
    for (const [cacheMaxAge, calls] of [
      [Number.NaN, 2],
      [-1, 2],
      ['60', 2],
      [1e300, 1],
      [Number.POSITIVE_INFINITY, 1]
    ] as const) {
      grpc.requests.length = 0
      grpc.judge = () => allowed({}, { cacheMaxAge })
      for (let i = 0; i < 2; i++) assert.equal(await send(`GET /${cacheMaxAge} HTTP/1.1`), 200)
      assert.equal(grpc.requests.length, calls, String(cacheMaxAge))
    }
  })

  it('a denial with large fields is not kept', async (t) => {
    const send = await start(t, grpc.port, 'grpc: {}, cache: { key: request.path, ttl: 1h }')
    for (const [bytes, calls] of [
      [100, 1],
      [9000, 2]
    ] as const) {
      grpc.requests.length = 0
      grpc.judge = () => denied(403, [option('x-page', 'v'.repeat(bytes))], '')
      for (let i = 0; i < 2; i++) assert.equal(await send(`GET /${bytes} HTTP/1.1`), 403)
      assert.equal(grpc.requests.length, calls)
    }
  })
})

it('as Envoy: all fields of a denial are told, and a request without a body says nothing of one', async (t) => {
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { extAuth: { host: "127.0.0.1:${grpc.port}", grpc: {}, forwardBody: { maxSize: 20 } } }
            backends: [{ host: "127.0.0.1:${backend.port}" }]
`)
  t.after(() => gateway.close())
  grpc.judge = () => denied(401, [option('set-cookie', 'a=1', 2), option('set-cookie', 'b=2', 2)], '')
  const answer = await exchangeRaw(gateway.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
  assert.deepEqual(answer.match(/^set-cookie: .*(?=\r$)/gim), ['set-cookie: a=1', 'set-cookie: b=2'])
  assert.equal(grpc.requests[0]!.attributes!.request!.http!.headers['x-envoy-auth-partial-body'], undefined)
})

it('what a service is told of a body counts as what is kept, also where one that is away lets pass', async (t) => {
  const send = await start(t, grpc.port, 'grpc: {}, failureMode: FailOpen, forwardBody: { maxSize: 1000000 }')
  const account = accountOf(t, 500 * 1024)
  grpc.judge = () => allowed()
  const post = (bytes: number) => send('POST / HTTP/1.1', `Content-Length: ${bytes}`, '', 'x'.repeat(bytes))
  assert.equal(await post(300 * 1024), 503)
  assert.equal(grpc.requests.length, 0)
  assert.equal(account.bytes, 0)
  assert.equal(await post(200 * 1024), 200)
  assert.equal(backend.requests[0]!.body.length, 200 * 1024)
  assert.equal(account.bytes, 0)
})

describe('answers over HTTP', () => {
  it('a client does not say what the service leaves out', async (t) => {
    const send = await start(t, http.port, 'http: { allowedResponseHeaders: [X-User, x-team] }')
    answer = { status: 200, headers: { 'x-team': 'blue' } }
    assert.equal(await send('GET / HTTP/1.1', 'X-User: root', 'X_User: root', 'X-Team: red'), 200)
    const { 'x-user': user, x_user: twin, 'x-team': team } = backend.requests[0]!.headers
    assert.deepEqual([user, twin, team], [undefined, undefined, 'blue'])
  })

  it('a client cannot keep the service from being asked', async (t) => {
    const send = await start(t, http.port, `http: { path: 'request.headers["x-path"]' }, failureMode: FailOpen`)
    answer = { status: 200 }
    assert.equal(await send('GET / HTTP/1.1', 'X-Path: /a'), 200)
    assert.equal(await send('GET / HTTP/1.1'), 403)
    assert.equal(await send('GET / HTTP/1.1', 'X-Path: a b'), 403)
    assert.deepEqual([http.requests.length, backend.requests.length], [1, 1])
  })

  it('a lifetime that is none keeps nothing', async (t) => {
    const send = await start(t, http.port, 'http: {}, cache: { key: request.path, ttl: 1h }')
    for (const age of ['-1', 'x', 'NaN']) {
      http.requests.length = 0
      answer = { status: 200, headers: { 'cache-control': `max-age=${age}` } }
      for (let i = 0; i < 2; i++) assert.equal(await send(`GET /${age} HTTP/1.1`), 200)
      assert.equal(http.requests.length, 2, age)
    }
  })
})
