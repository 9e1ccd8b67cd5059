/** External authorization through the whole gateway, with a service of gRPC. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { gatewayTo, send, statusOf, useBackend } from './gateway.fixture.ts'
import { allowed, denied, type GrpcAuthorizer, option, startGrpcAuthorizer, status } from './services.fixture.ts'

const backend = useBackend()

describe('over gRPC', () => {
  let service: GrpcAuthorizer
  const stops: (() => unknown)[] = []
  before(async () => {
    service = await startGrpcAuthorizer(() => allowed())
  })
  beforeEach(() => {
    service.requests.length = 0
    service.judge = () => allowed()
  })
  after(async () => {
    for (const stop of stops) await stop()
    service.close()
  })

  const start = async (more: string, others = '') => {
    const policies = `{ extAuth: { backendRef: { name: authz }, ${more} }${others} }`
    const gateway = await gatewayTo(
      backend.port,
      policies,
      `backends: [{ name: authz, host: "127.0.0.1:${service.port}" }]`
    )
    stops.push(() => gateway.close())
    return gateway
  }

  it('the service is told what Envoy tells it', async () => {
    const gateway = await start('grpc: { contextExtensions: { team: blue } }')
    const lines = 'GET /a/b?c=d HTTP/1.1\r\nX-Two: 1\r\nx-two: 2\r\nX-High: caf\xc3\xa9\r\nX-Bad: \xff'
    equal(statusOf(await send(gateway, lines)), 200)
    const { source, destination, request, contextExtensions, metadataContext } = service.requests[0]!.attributes!
    const addressOf = (peer: typeof source) => {
      const address = peer?.address?.address
      return address?.$case === 'socketAddress' ? address.value : null
    }
    equal(addressOf(source)?.address, '127.0.0.1')
    ok(addressOf(source)?.portSpecifier?.$case === 'portValue')
    // Binds of tests are configured with port 0, and that is what an exchange says.
    deepEqual(addressOf(destination)?.portSpecifier, { $case: 'portValue', value: 0 })
    const { id, headers, size, ...http } = request!.http!
    ok(id !== '' && size === 0n)
    ok(Math.abs(Number(request!.time!.seconds) - Date.now() / 1000) < 3600)
    deepEqual(headers, {
      ':authority': 'a.test',
      ':method': 'GET',
      ':path': '/a/b?c=d',
      ':scheme': 'http',
      'x-two': '1,2',
      'x-high': 'café',
      'x-bad': '!'
    })
    deepEqual(
      { ...http, rawBody: http.rawBody.length },
      {
        method: 'GET',
        headerMap: undefined,
        path: '/a/b?c=d',
        host: 'a.test',
        scheme: 'http',
        query: '',
        fragment: '',
        protocol: 'HTTP/1.1',
        body: '',
        rawBody: 0
      }
    )
    deepEqual(contextExtensions, { team: 'blue' })
    equal(metadataContext, undefined)
    match(gateway.metrics(), /weir_service_calls_total\{service="authz",policy="extAuth",result="ok"\} 1\n/)
  })

  it('metadata by CEL, and the body, if it is UTF-8 as text', async () => {
    const gateway = await start(
      "grpc: { requestMetadata: { a: '{\"m\": request.method}', b: '1 + 1', c: jwt.sub } }, forwardBody: { maxSize: 5 }"
    )
    const post = (body: string) => send(gateway, `POST / HTTP/1.1\r\nContent-Length: ${body.length}`, body)
    equal(statusOf(await post('hallo')), 200)
    const { metadataContext, request } = service.requests[0]!.attributes!
    deepEqual(metadataContext?.filterMetadata, { a: { m: 'POST' }, b: { value: 2 } })
    const { body, size, headers } = request!.http!
    deepEqual([body, size, headers['x-envoy-auth-partial-body']], ['hallo', 5n, 'false'])
    deepEqual(backend.requests.at(-1)?.body, 'hallo')
    equal(statusOf(await post('hallo!')), 413)
    equal(service.requests.length, 1)
  })

  it('fields are set, added and removed by the four actions; the engine keeps its own', async () => {
    service.judge = () =>
      allowed({
        headers: [
          option('x-set', 'new', 0, false),
          option('x-append', 'b', 0, true),
          option('x-there', 'not', 1),
          option('x-absent', 'added', 1),
          option('X-Over', 'over', 2),
          option('x-only-there', 'changed', 3),
          option('x-not-there', 'never', 3),
          option('content-length', '7'),
          option('connection', 'close'),
          option('host', 'b.test'),
          option(':path', '/admin'),
          option('x-split', 'a\r\nx-evil: 1'),
          option('x evil', 'a')
        ],
        headersToRemove: ['X-Gone', 'host', 'content-length'],
        responseHeadersToAdd: [option('x-added', '1'), option('x-from', 'service', 2)]
      })
    const gateway = await start('grpc: {}')
    const lines =
      'GET / HTTP/1.1\r\nX-Set: old\r\nX-Append: a\r\nX-There: 1\r\nX-Over: 1\r\nX-Only-There: 1\r\nX-Gone: 1'
    const answer = await send(gateway, lines)
    equal(statusOf(answer), 200)
    const { headers, line } = backend.requests[0]!
    const { connection: _, host, ...rest } = headers
    deepEqual(rest, {
      'x-set': 'new',
      'x-append': 'a, b',
      'x-there': '1',
      'x-absent': 'added',
      'x-over': 'over',
      'x-only-there': 'changed'
    })
    deepEqual([line, host], ['GET /', 'a.test'])
    match(answer, /^x-added: 1\r$/m)
    match(answer, /^x-from: service\r$/m)
    equal(/^x-from: backend/m.test(answer), false)
  })

  it('parameters of the query are set and removed, however they are written', async () => {
    service.judge = () =>
      allowed({
        queryParametersToSet: [
          { key: 'a', value: 'x y&z=#' },
          { key: 'new', value: '%20' }
        ],
        queryParametersToRemove: ['admin']
      })
    const gateway = await start('grpc: {}')
    await send(gateway, 'GET /p?a=1&b=2&%61dmin=1&admin HTTP/1.1')
    equal(backend.requests[0]!.line, 'GET /p?b=2&a=x%20y%26z=%23&new=%20')
  })

  it('a denial is the reply of the service, or 403', async () => {
    service.judge = () =>
      denied(
        401,
        [option('WWW-Authenticate', 'Basic'), option('content-type', 'text/html'), option('transfer-encoding', 'x')],
        '<p>no'
      )
    const gateway = await start('grpc: {}')
    const answer = await send(gateway, 'GET / HTTP/1.1')
    match(answer, /^HTTP\/1.1 401 /)
    match(answer, /^www-authenticate: Basic\r$/m)
    match(answer, /^Content-Type: text\/html\r$/m)
    match(answer, /\r\n\r\n<p>no$/)
    equal(/transfer-encoding/i.test(answer), false)
    service.judge = () => ({ status: status(16), httpResponse: undefined, dynamicMetadata: undefined })
    const plain = await send(gateway, 'GET / HTTP/1.1')
    match(plain, /^HTTP\/1.1 403 [\s\S]*\r\n\r\nthis request is not allowed\n$/)
    service.judge = () => denied(200, [], 'looks good')
    equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), 403)
    equal(backend.requests.length, 0)
    match(gateway.metrics(), /weir_requests_total\{[^}]*status="401",reason="EXT_AUTH_DENIED"\} 1\n/)
  })

  it('dynamic metadata is extauthz, for rules and for what is sent on', async () => {
    service.judge = () => allowed({}, { user: { name: 'ann' }, roles: ['a'] })
    const others =
      ', authorization: { rules: [\'"a" in extauthz.roles\'] }, transformation: { request: { set: { x-user: extauthz.user.name } } }'
    const gateway = await start('grpc: {}', others)
    equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), 200)
    equal(backend.requests[0]!.headers['x-user'], 'ann')
    service.judge = () => allowed({}, { roles: [] })
    equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), 403)
    service.judge = () => allowed()
    equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), 403)
  })

  it('what is no answer closes, and opens only where it is to', async () => {
    const closed = await start('grpc: {}')
    const open = await start('grpc: {}, failureMode: FailOpen')
    const own = await start('grpc: {}, failureMode: { denyWithStatus: 503 }, timeout: 100ms')
    service.judge = () => Buffer.from([0xff, 0xff])
    const answer = await send(closed, 'GET / HTTP/1.1')
    match(answer, /^HTTP\/1.1 403 [\s\S]*the authorization service is unavailable\n$/)
    equal(statusOf(await send(open, 'GET / HTTP/1.1')), 200)
    service.judge = () => null
    equal(statusOf(await send(own, 'GET / HTTP/1.1')), 503)
    match(own.metrics(), /weir_service_calls_total\{[^}]*result="DEADLINE"\} 1\n/)
    service.judge = () => ({
      ...denied(502, [], 'broken'),
      httpResponse: { $case: 'errorResponse', value: { status: { code: 502 }, headers: [], body: 'broken' } }
    })
    match(await send(closed, 'GET / HTTP/1.1'), /^HTTP\/1.1 502 [\s\S]*\r\n\r\nbroken$/)
  })

  it('nobody listens, and the client leaves', async () => {
    const dead = await startGrpcAuthorizer(() => null)
    dead.close()
    const policies = `{ extAuth: { host: "127.0.0.1:${dead.port}", grpc: {} } }`
    const gateway = await gatewayTo(backend.port, policies)
    stops.push(() => gateway.close())
    equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), 403)
    match(gateway.metrics(), /weir_service_calls_total\{[^}]*result="UNAVAILABLE"\} 1\n/)
    const called = Promise.withResolvers<void>()
    const lasting = await start('grpc: {}, timeout: 60s')
    service.judge = () => {
      called.resolve()
      return null
    }
    const client = await rawClient(lasting.port)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await called.promise
    client.close()
    while (!/result="CANCELLED"\} 1\n/.test(lasting.metrics())) await new Promise((resolve) => setImmediate(resolve))
  })

  it('verdicts are kept by their key, for a time that the service may shorten', async () => {
    const gateway = await start('grpc: {}, cache: { key: \'request.headers["x-key"]\', ttl: 1h }')
    const ask = (key: string) => send(gateway, `GET / HTTP/1.1\r\nX-Key: ${key}`)
    service.judge = () => allowed({ headers: [option('x-user', 'ann')] })
    for (let i = 0; i < 3; i++) equal(statusOf(await ask('a')), 200)
    equal(service.requests.length, 1)
    deepEqual(
      backend.requests.map(({ headers }) => headers['x-user']),
      ['ann', 'ann', 'ann']
    )
    service.judge = () => denied(401, [], 'no')
    for (let i = 0; i < 2; i++) equal(statusOf(await ask('b')), 401)
    equal(service.requests.length, 2)
    service.judge = () => allowed({}, { cacheMaxAge: 0 })
    for (let i = 0; i < 2; i++) equal(statusOf(await ask('c')), 200)
    equal(service.requests.length, 4)
    // Without a key, and after a failure, each request is a question.
    for (let i = 0; i < 2; i++) await send(gateway, 'GET / HTTP/1.1')
    service.judge = () => Buffer.from([0xff])
    for (let i = 0; i < 2; i++) equal(statusOf(await ask('d')), 403)
    equal(service.requests.length, 8)
  })

  it('a body that the service is not told waits for its verdict, and goes on whole', async () => {
    const called = Promise.withResolvers<void>()
    let answer = (): void => {}
    service.later = (done) => {
      answer = done
      called.resolve()
    }
    const gateway = await start('grpc: {}, timeout: 60s')
    const body = 'x'.repeat(1_000_000)
    const response = send(gateway, `POST / HTTP/1.1\r\nContent-Length: ${body.length}`, body)
    await called.promise
    equal(backend.requests.length, 0)
    answer()
    equal(statusOf(await response), 200)
    equal(backend.requests[0]!.body, body)
    equal(service.requests[0]!.attributes!.request!.http!.body, '')
    service.later = null
  })

  it('a path that can be read in several ways is judged in each', async () => {
    service.judge = () => denied(403, [], '')
    const gateway = await start('grpc: {}, when: \'request.path.startsWith("/admin")\'')
    equal(statusOf(await send(gateway, 'GET /free HTTP/1.1')), 200)
    equal(statusOf(await send(gateway, 'GET /x;/../admin HTTP/1.1')), 403)
    equal(statusOf(await send(gateway, 'GET //admin HTTP/1.1')), 403)
  })

  it('a call outlives the reload that takes its policy away', async () => {
    const policies = (service: number) => `binds:
  - port: 0
    listeners:
      - routes:
          - policies: { extAuth: { host: "127.0.0.1:${service}", grpc: {}, timeout: 60s } }
            backends: [{ host: "127.0.0.1:${backend.port}" }]
`
    const gateway = await startGateway(policies(service.port))
    stops.push(() => gateway.close())
    const called = Promise.withResolvers<void>()
    let answer = (): void => {}
    service.later = (done) => {
      answer = done
      called.resolve()
    }
    const first = send(gateway, 'GET / HTTP/1.1')
    await called.promise
    const other = await startGrpcAuthorizer(() => denied(401, [], ''))
    await gateway.reload(policies(other.port))
    equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), 401)
    answer()
    equal(statusOf(await first), 200)
    service.later = null
    other.close()
  })

  it('is asked only where a condition holds, or fails', async () => {
    service.judge = () => denied(403, [], '')
    const gateway = await start(
      'grpc: {}, when: \'request.path.startsWith("/admin") || request.headers["x-a"] == "1"\''
    )
    equal(statusOf(await send(gateway, 'GET /free HTTP/1.1\r\nX-A: 2')), 200)
    equal(statusOf(await send(gateway, 'GET /admin HTTP/1.1')), 403)
    equal(statusOf(await send(gateway, 'GET /free HTTP/1.1')), 403)
  })
})
