/** External authorization through the whole gateway, with a service of HTTP. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { gatewayTo, type HttpServer, send, statusOf, useBackend } from './gateway.fixture.ts'
import { type HttpAnswer, startHttpServer } from './services.fixture.ts'

const backend = useBackend()

describe('over HTTP', () => {
  let service: HttpServer
  let answer: HttpAnswer = { status: 200 }
  const stops: (() => unknown)[] = []
  before(async () => {
    service = await startHttpServer(() => answer)
  })
  beforeEach(() => {
    service.requests.length = 0
    answer = { status: 200 }
  })
  after(async () => {
    for (const stop of stops) await stop()
    service.close()
  })

  const start = async (http: string, more = '') => {
    const gateway = await gatewayTo(
      backend.port,
      `{ extAuth: { host: "127.0.0.1:${service.port}", http: { ${http} }${more} } }`
    )
    stops.push(() => gateway.close())
    return gateway
  }

  it('is asked for the same path, with Authorization and nothing else', async () => {
    const gateway = await start('')
    equal(statusOf(await send(gateway, 'GET /a?b=c HTTP/1.1\r\nAuthorization: Bearer x\r\nCookie: a=b')), 200)
    const { line, headers } = service.requests[0]!
    const { connection: _, ...rest } = headers
    deepEqual([line, rest], ['GET /a?b=c', { authorization: 'Bearer x', host: `127.0.0.1:${service.port}` }])
  })

  it('path, fields and body are as configured; fields and metadata of its answer go on', async () => {
    answer = { status: 200, headers: { 'x-user': 'ann', 'x-other': 'no' }, body: '{"roles":["a"]}' }
    const gateway = await start(
      `path: '"/check" + request.path', allowedRequestHeaders: [cookie, Host], addRequestHeaders: { x-method: request.method }, allowedResponseHeaders: [X-User], responseMetadata: { roles: json(response.body).roles, code: response.code }`,
      ', forwardBody: { maxSize: 10 } }, authorization: { rules: [\'extauthz.roles[0] == "a" && extauthz.code == 200\']'
    )
    const lines = 'POST /a HTTP/1.1\r\nCookie: a=b\r\nX-User: evil\r\nContent-Length: 2'
    equal(statusOf(await send(gateway, lines, 'hi')), 200)
    const { line, headers, body } = service.requests[0]!
    const { connection: _, ...rest } = headers
    deepEqual([line, body], ['POST /check/a', 'hi'])
    deepEqual(rest, {
      cookie: 'a=b',
      'x-method': 'POST',
      host: 'a.test',
      'content-length': '2',
      'x-envoy-auth-partial-body': 'false'
    })
    const sent = backend.requests[0]!
    deepEqual([sent.headers['x-user'], sent.headers['x-other'], sent.body], ['ann', undefined, 'hi'])
  })

  it('whatever is not 200 is for the client, or the way to where one signs in', async () => {
    const gateway = await start('')
    const fields = { 'www-authenticate': 'Bearer', 'content-type': 'text/html', 'x-request-id': 'of the service' }
    answer = { status: 401, headers: fields, body: 'who?' }
    const response = await send(gateway, 'GET / HTTP/1.1\r\nX-Request-Id: mine')
    deepEqual(response.match(/^x-request-id: .*$/gim), ['x-request-id: mine'])
    match(response, /^HTTP\/1.1 401 [\s\S]*\r\n\r\nwho\?$/)
    match(response, /^www-authenticate: Bearer\r$/m)
    for (const [code, expected] of [
      [204, 403],
      [302, 302],
      [404, 404],
      [500, 403]
    ] as const) {
      answer = { status: code, headers: code === 302 ? { location: '/x' } : {} }
      equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), expected)
    }
    equal(backend.requests.length, 0)
    const redirecting = await start(`redirect: '"/login?to=" + request.path'`)
    answer = { status: 401 }
    match(await send(redirecting, 'GET /a HTTP/1.1'), /^HTTP\/1.1 302 [\s\S]*^location: \/login\?to=\/a\r$/m)
  })

  it('Cache-Control shortens the lifetime of a verdict', async () => {
    const gateway = await start('', ', cache: { key: [request.method, request.path], ttl: 1h }')
    for (const [control, count] of [
      ['no-store', 2],
      ['max-age=0', 2],
      ['max-age=60', 1]
    ] as const) {
      service.requests.length = 0
      answer = { status: 200, headers: { 'cache-control': control } }
      for (let i = 0; i < 2; i++) await send(gateway, `GET /${control} HTTP/1.1`)
      equal(service.requests.length, count, control)
    }
  })
})
