/** Headers before the service, answers of its own, and what it observes. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { describe, it } from 'node:test'
import type { ProcessingRequest } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { at, harness, immediate, post, send, statusOf } from './gateway.fixture.ts'
import { answerTo, fieldsOf, mutation } from './services.fixture.ts'

const { seen, service, start, kinds, sentBody } = harness()

const endOf = ({ request }: ProcessingRequest) =>
  request?.$case === 'requestHeaders' || request?.$case === 'responseHeaders' ? request.value.endOfStream : null

describe('heads', () => {
  it('the service is told both, as Envoy tells them', async () => {
    const gateway = await start(
      'requestAttributes: { who: "request.method" }, responseAttributes: { code: response.code }, ' +
        'metadataContext: { app: { path: request.path } }'
    )
    const text = await send(gateway, 'GET /a?b=c HTTP/1.1\r\nX-One: 1')
    match(text, /^HTTP\/1.1 200 [\s\S]*from the backend/)
    deepEqual(kinds(), ['requestHeaders', 'responseHeaders'])
    const [request, response] = service.requests
    const {
      ':authority': authority,
      ':method': method,
      ':path': path,
      ':scheme': scheme,
      'x-one': one
    } = fieldsOf(request!)
    deepEqual([authority, method, path, scheme, one], ['a.test', 'GET', '/a?b=c', 'http', '1'])
    deepEqual([fieldsOf(response!)[':status'], fieldsOf(response!)['x-from']], ['200', 'backend'])
    deepEqual([endOf(request!), endOf(response!)], [true, false])
    deepEqual(request!.attributes, { 'envoy.filters.http.ext_proc': { who: 'GET' } })
    deepEqual(response!.attributes, { 'envoy.filters.http.ext_proc': { code: 200 } })
    deepEqual(request!.metadataContext?.filterMetadata, { app: { path: '/a' } })
    deepEqual(request!.protocolConfig?.requestBodyMode, 0)
    equal(response!.protocolConfig, undefined)
    await service.over.promise
  })

  it('are changed, but for what is not the service’s to change', async () => {
    const gateway = await start()
    service.process = (request) => {
      const isRequest = request.request!.$case === 'requestHeaders'
      const fields = isRequest
        ? { 'x-new': 'n', host: 'evil', ':method': 'PUT', ':path': '/other?q', 'x-envoy-a': 'e', 'content-length': '9' }
        : { 'x-new': 'n', ':status': '203', 'transfer-encoding': 'chunked' }
      return [answerTo(request, { headerMutation: mutation(fields, ['x-secret', 'x-old', 'host', ':path']) })]
    }
    const text = await send(gateway, 'GET / HTTP/1.1\r\nX-Old: 1\r\nX-New: 0')
    const { line, headers } = seen[0]!
    equal(line, 'GET /other?q')
    deepEqual([headers['x-new'], headers['x-old'], headers['x-envoy-a']], ['n', undefined, undefined])
    equal(headers.host, 'a.test')
    match(text, /^HTTP\/1.1 203 /)
    match(text, /x-new: n\r\n/i)
    ok(!/x-secret/i.test(text))
  })

  it('replace those that are there, unless the service says more', async () => {
    const gateway = await start('processingMode: { responseHeaderMode: SKIP }')
    const sent = []
    for (const action of [0, 1, 2, 3] as const) {
      service.process = (request) => [answerTo(request, { headerMutation: mutation({ a: '2', b: '2' }, [], action) })]
      await send(gateway, 'GET / HTTP/1.1\r\na: 1')
      const { a, b } = seen.at(-1)!.headers
      sent.push([a, b])
    }
    deepEqual(sent, [
      // What is not sent is 0, too.
      ['2', '2'],
      ['1', '2'],
      ['2', '2'],
      ['2', undefined]
    ])
    deepEqual(kinds(), Array(4).fill('requestHeaders'))
  })

  it('rules say what may be changed', async () => {
    const rules = async (fields: string, name: string) => {
      const gateway = await start(`mutationRules: ${fields}`)
      service.process = at('requestHeaders', (request) => [
        answerTo(request, { headerMutation: mutation({ [name]: name === ':path' ? '/v' : 'v' }) })
      ])
      const status = statusOf(await send(gateway))
      return status === 200 ? (seen.at(-1)!.headers[name] ?? seen.at(-1)!.line) : status
    }
    equal(await rules('{ allowEnvoy: true }', 'x-envoy-a'), 'v')
    equal(await rules('{ disallowAll: true }', 'x-a'), 'GET /')
    equal(await rules('{ disallowSystem: true }', ':path'), 'GET /')
    equal(await rules('{ disallowExpression: "x-.*" }', 'x-a'), 'GET /')
    equal(await rules('{ disallowExpression: "x-.*" }', 'y'), 'v')
    equal(await rules('{ allowExpression: "x-envoy-a" }', 'x-envoy-a'), 'v')
    equal(await rules('{ disallowAll: true, allowExpression: "x-a" }', 'x-a'), 'v')
    equal(await rules('{ disallowAll: true, allowExpression: "x-a" }', 'x-b'), 'GET /')
    equal(await rules('{ disallowSystem: true, allowExpression: ":path" }', ':path'), 'GET /v')
    equal(await rules('{ allowExpression: "x-.*", disallowExpression: "x-a" }', 'x-a'), 'GET /')
    equal(await rules('{ disallowIsError: true }', 'host'), 500)
  })

  it('a side that is skipped is not told, and a condition leaves out whole exchanges', async () => {
    const gateway = await start('processingMode: { requestHeaderMode: SKIP }, when: \'request.path != "/no"\'')
    equal(statusOf(await send(gateway)), 200)
    deepEqual(kinds(), ['responseHeaders'])
    equal(statusOf(await send(gateway, 'GET /no HTTP/1.1')), 200)
    deepEqual(kinds(), ['responseHeaders'])
  })

  it('what was refused ahead is not told', async () => {
    const gateway = await start('', ', authorization: { rules: ["false"] }')
    equal(statusOf(await send(gateway)), 403)
    deepEqual(kinds(), [])
  })

  it('CONTINUE_AND_REPLACE replaces the body of either side', async () => {
    const gateway = await start()
    service.process = (request) => [
      answerTo(request, {
        status: 1,
        bodyMutation: { mutation: { $case: 'body', value: Buffer.from(`new ${request.request!.$case}`) } }
      })
    ]
    const text = await post(gateway, 'hello')
    deepEqual([seen[0]!.body, seen[0]!.headers['content-length']], ['new requestHeaders', '18'])
    match(text, /content-length: 19\r\n[\s\S]*\r\n\r\nnew responseHeaders$/i)
  })
})

describe('immediate responses', () => {
  const reply = immediate({
    status: { code: 429 },
    headers: mutation({ 'content-type': 'application/json', 'x-why': 'too fast' }),
    body: Buffer.from('{}')
  })

  for (const kind of ['requestHeaders', 'requestBody', 'responseHeaders', 'responseBody']) {
    it(`end the exchange at ${kind}`, async () => {
      const gateway = await start('processingMode: { requestBodyMode: BUFFERED, responseBodyMode: BUFFERED }')
      service.process = at(kind, () => [reply])
      const text = await post(gateway, 'hello')
      match(text, /^HTTP\/1.1 429 /)
      match(text, /content-type: application\/json\r\n/i)
      match(text, /x-why: too fast\r\n/i)
      match(text, /\r\nx-request-id: req_/)
      ok(text.endsWith('\r\n\r\n{}') && !/x-from/.test(text), text)
      equal(seen.length, kind.startsWith('request') ? 0 : 1)
      equal(kinds().at(-1), kind)
      await service.over.promise
    })
  }

  it('tell a client of gRPC the status that is meant for it', async () => {
    const gateway = await start()
    service.process = () => [immediate({ status: { code: 429 }, grpcStatus: { status: 8 } })]
    const session = connect(`http://127.0.0.1:${gateway.port}`)
    const stream = session.request({ ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc' })
    stream.end()
    const [head] = (await once(stream, 'response')) as [Record<string, string>]
    stream.resume()
    session.close()
    equal(head['grpc-status'], '8')
  })

  it('tell it that status once, where a field says it', async () => {
    const gateway = await start()
    for (const [field, status] of [
      ['9', '9'],
      ['none', '7']
    ] as const) {
      const headers = mutation({ 'grpc-status': field, 'grpc-message': 'not%20now' })
      service.process = () => [immediate({ status: { code: 403 }, headers })]
      const session = connect(`http://127.0.0.1:${gateway.port}`)
      const stream = session.request({ ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc' })
      stream.end()
      const [head] = (await once(stream, 'response')) as [Record<string, string>]
      stream.resume()
      session.close()
      deepEqual([head['grpc-status'], head['grpc-message']], [status, 'not%20now'])
    }
  })

  it('have status 200 where they name none', async () => {
    const gateway = await start()
    service.process = () => [immediate({ body: Buffer.from('here') })]
    match(await send(gateway), /^HTTP\/1.1 200 [\s\S]*here$/)
  })
})

describe('observability mode', () => {
  it('nothing waits', async () => {
    const gateway = await start('observabilityMode: true')
    service.process = () => [Buffer.from('garbage')]
    match(await send(gateway), /^HTTP\/1.1 200 [\s\S]*from the backend/)
    await service.over.promise
    deepEqual(kinds(), ['requestHeaders', 'responseHeaders'])
    ok(service.requests.every(({ observabilityMode }) => observabilityMode))
  })

  it('bodies pass, and the service gets copies', async () => {
    const gateway = await start(
      'observabilityMode: true, processingMode: { requestBodyMode: STREAMED, responseBodyMode: STREAMED }'
    )
    service.process = () => []
    match(await post(gateway, 'hello'), /^HTTP\/1.1 200 [\s\S]*from the backend/)
    await service.over.promise
    deepEqual([seen[0]!.body, seen[0]!.headers['content-length']], ['hello', '5'])
    deepEqual(
      [sentBody('requestBody'), sentBody('responseBody')],
      [
        ['hello', true],
        ['from the backend', true]
      ]
    )
  })
})
