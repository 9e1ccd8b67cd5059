/** External processing through the whole gateway, with a service of gRPC. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it, test } from 'node:test'
import type {
  ImmediateResponse,
  ProcessingRequest
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import {
  answer,
  answerTo,
  type Call,
  fieldsOf,
  mutation,
  type Processor,
  startProcessor,
  type TestProcessor
} from './ext-proc/services.fixture.ts'
import { extProc } from './ext-proc.ts'

interface Seen {
  readonly line: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly trailers: Readonly<Record<string, string | undefined>>
}

const seen: Seen[] = []
const backend = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request) body += piece
  seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body, trailers: request.trailers })
  response
    .writeHead(200, { 'x-from': 'backend', 'x-secret': 's', 'content-type': 'text/plain' })
    .end('from the backend')
})
const goOn: Processor = (request) => [answerTo(request)]
let service: TestProcessor
const stops: (() => unknown)[] = []

before(async () => {
  service = await startProcessor(goOn)
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
})
beforeEach(() => {
  seen.length = 0
  service.asked.length = 0
  service.process = goOn
  service.over = Promise.withResolvers()
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
after(() => {
  service.close()
  backend.close()
  backend.closeAllConnections()
})

/** Answers the messages of one kind otherwise. */
const at =
  (kind: string, process: Processor): Processor =>
  (request, call) =>
    request.request?.$case === kind ? process(request, call) : goOn(request, call)

const backendPort = () => (backend.address() as AddressInfo).port

async function start(more = '', others = '', port = service.port, behind = backendPort()): Promise<TestGateway> {
  // Slow machines are slower than 200 ms.
  const timeout = more.includes('messageTimeout') ? '' : 'messageTimeout: 60s, '
  const gateway = await startGateway(`
backends: [{ name: processor, host: "127.0.0.1:${port}" }]
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { extProc: { backendRef: { name: processor }, ${timeout}${more} }${others} }
            backends: [{ host: "127.0.0.1:${behind}" }]
`)
  stops.push(() => gateway.close())
  return gateway
}

const send = (gateway: TestGateway, lines = 'GET / HTTP/1.1', body = '') =>
  exchangeRaw(gateway.port, `${lines}\r\nHost: a.test\r\nConnection: close\r\n\r\n${body}`)
const post = (gateway: TestGateway, body: string) =>
  send(gateway, `POST / HTTP/1.1\r\nContent-Length: ${body.length}`, body)
const statusOf = (text: string): number => Number(text.slice(9, 12))
const kinds = () => service.asked.map(({ request }) => request!.$case)
const immediate = (more: Partial<ImmediateResponse>) =>
  answer({
    $case: 'immediateResponse',
    value: {
      status: undefined,
      headers: undefined,
      body: Buffer.alloc(0),
      grpcStatus: undefined,
      details: '',
      ...more
    }
  })

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
    const [request, response] = service.asked
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
    const rules = async (given: string, name: string) => {
      const gateway = await start(`mutationRules: ${given}`)
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

  it('have status 200 where they name none', async () => {
    const gateway = await start()
    service.process = () => [immediate({ body: Buffer.from('here') })]
    match(await send(gateway), /^HTTP\/1.1 200 [\s\S]*here$/)
  })
})

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
    const asked = Promise.withResolvers<void>()
    service.process = () => {
      asked.resolve()
      return []
    }
    const client = await rawClient(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await asked.promise
    client.close()
    await service.over.promise
  })
})

it('nothing waits in observability mode', async () => {
  const gateway = await start('observabilityMode: true')
  service.process = () => [Buffer.from('garbage')]
  match(await send(gateway), /^HTTP\/1.1 200 [\s\S]*from the backend/)
  await service.over.promise
  deepEqual(kinds(), ['requestHeaders', 'responseHeaders'])
  ok(service.asked.every(({ observabilityMode }) => observabilityMode))
})

const body = (value: string) => ({ bodyMutation: { mutation: { $case: 'body' as const, value: Buffer.from(value) } } })
const bodyOf = (kind: string) => {
  const found = service.asked.find(({ request }) => request!.$case === kind)?.request
  return found?.$case === 'requestBody' || found?.$case === 'responseBody'
    ? [found.value.body.toString(), found.value.endOfStream]
    : null
}

describe('bodies', () => {
  const BUFFERED = 'processingMode: { requestBodyMode: BUFFERED, responseBodyMode: BUFFERED }'

  it('are told whole behind their heads, and replaced with their length', async () => {
    const gateway = await start(BUFFERED)
    service.process = (request) => {
      const { $case } = request.request!
      if (!$case.endsWith('Body')) return [answerTo(request)]
      return [answerTo(request, { ...body(`new ${$case}`), headerMutation: mutation({ 'x-body': 'seen' }) })]
    }
    const text = await post(gateway, 'hello')
    deepEqual(kinds(), ['requestHeaders', 'requestBody', 'responseHeaders', 'responseBody'])
    deepEqual(
      [bodyOf('requestBody'), bodyOf('responseBody')],
      [
        ['hello', true],
        ['from the backend', true]
      ]
    )
    const { headers, body: got } = seen[0]!
    deepEqual([got, headers['content-length'], headers['x-body']], ['new requestBody', '15', 'seen'])
    match(text, /content-length: 16\r\n/i)
    match(text, /x-body: seen\r\n[\s\S]*\r\n\r\nnew responseBody$/i)
    deepEqual(service.asked[0]!.protocolConfig?.requestBodyMode, 2)
  })

  it('are cleared, and left as they are', async () => {
    const gateway = await start(BUFFERED)
    service.process = (request) => [
      answerTo(request, { bodyMutation: { mutation: { $case: 'clearBody', value: true } } })
    ]
    match(await post(gateway, 'hello'), /content-length: 0\r\n[\s\S]*\r\n\r\n$/i)
    equal(seen[0]!.body, '')
    service.process = goOn
    match(await post(gateway, 'hello'), /\r\n\r\nfrom the backend$|\r\nfrom the backend\r\n/)
    equal(seen[1]!.body, 'hello')
  })

  it('are not told where there are none', async () => {
    const gateway = await start(BUFFERED)
    await send(gateway, 'HEAD / HTTP/1.1')
    deepEqual(kinds(), ['requestHeaders', 'responseHeaders'])
  })

  it('are refused where they are too long to be kept', async () => {
    const gateway = await start(BUFFERED)
    const long = 'a'.repeat(3_000_000)
    equal(statusOf(await post(gateway, long)), 413)
    equal(seen.length, 0)
  })

  it('are told in their beginnings, of which the rest goes its way', async () => {
    const gateway = await start(
      'processingMode: { requestBodyMode: BUFFERED_PARTIAL, responseBodyMode: BUFFERED_PARTIAL }'
    )
    service.process = at('requestBody', (request) => [answerTo(request, body('new'))])
    const long = `${'a'.repeat(2_000_000)}${'b'.repeat(1_000_000)}`
    equal(statusOf(await post(gateway, long)), 200)
    const asked = bodyOf('requestBody')!
    const told = String(asked[0])
    equal(asked[1], false)
    ok(told.length >= 2_000_000 && told.length < long.length)
    const { headers, body: got } = seen[0]!
    equal(got, `new${long.slice(told.length)}`)
    equal(headers['content-length'], String(got.length))
    deepEqual(bodyOf('responseBody'), ['from the backend', true])
    equal(statusOf(await post(gateway, 'short')), 200)
    deepEqual([seen[1]!.body, seen[1]!.headers['content-length']], ['new', '3'])
  })

  it('with trailers, which are told and changed behind them', async () => {
    const gateway = await start(
      'processingMode: { requestBodyMode: BUFFERED, requestTrailerMode: SEND, responseHeaderMode: SKIP }'
    )
    service.process = at('requestTrailers', (request) => [
      answerTo(request, { headerMutation: mutation({ 'x-sum': '2' }, ['x-old']) })
    ])
    await exchangeRaw(
      gateway.port,
      'POST / HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nConnection: close, TE\r\nTransfer-Encoding: chunked\r\n\r\n' +
        '5\r\nhello\r\n0\r\nx-old: 1\r\nx-sum: 1\r\n\r\n'
    )
    deepEqual(kinds(), ['requestHeaders', 'requestBody', 'requestTrailers'])
    deepEqual(bodyOf('requestBody'), ['hello', false])
    deepEqual([seen[0]!.body, { ...seen[0]!.trailers }], ['hello', { 'x-sum': '2' }])
  })

  it('are asked for by the service, where it may', async () => {
    const override = (requestBodyMode: 0 | 1 | 2) => ({
      modeOverride: {
        requestHeaderMode: 0,
        responseHeaderMode: 2,
        requestBodyMode,
        responseBodyMode: 0,
        requestTrailerMode: 0,
        responseTrailerMode: 0
      } as const
    })
    const asking = (mode: 0 | 1 | 2) => at('requestHeaders', (request) => [answerTo(request, {}, override(mode))])
    service.process = asking(2)
    equal(statusOf(await post(await start('allowModeOverride: true'), 'hello')), 200)
    deepEqual(kinds(), ['requestHeaders', 'requestBody'])
    service.asked.length = 0
    equal(statusOf(await post(await start(), 'hello')), 200)
    deepEqual(kinds(), ['requestHeaders', 'responseHeaders'])
    service.process = asking(1)
    equal(statusOf(await post(await start('allowModeOverride: true'), 'hello')), 500)
  })
})

test('mistakes of the configuration have a place', async () => {
  const problems = (given: object) => problemsOf(extProc, { host: 'a:1', ...given })
  deepEqual(problems({ processingMode: { requestBodyMode: 'STREAMED' } }), [
    'processingMode.requestBodyMode: STREAMED is not in this version of weir: use NONE, BUFFERED or BUFFERED_PARTIAL'
  ])
  match(problems({ processingMode: { responseBodyMode: 'FULL_DUPLEX_STREAMED' } })[0]!, /is not in this version/)
  deepEqual(problems({ processingMode: { requestTrailerMode: 'SEND' } }), [
    'processingMode.requestTrailerMode: trailers are sent to the service only behind a body: SEND needs requestBodyMode BUFFERED'
  ])
  match(problems({ observabilityMode: true, processingMode: { requestBodyMode: 'BUFFERED' } })[0]!, /would wait/)
  match(problems({ mutationRules: { allowExpression: '(' } })[0]!, /^mutationRules.allowExpression: /)
  match(problems({ requestAttributes: { a: 'request.body' } })[0]!, /^requestAttributes.a: expression .*body/)
  match(problems({ backend: 'b' })[0]!, /exactly one of backendRef, backend, host/)
})

test('the example file', async () => {
  const file = readFileSync(join(import.meta.dirname, '../../docs/examples/', 'ext-proc.yaml'), 'utf8')
  const own = file
    .replace('port: 8080', 'port: 0')
    .replace('messageTimeout: 500ms', 'messageTimeout: 60s')
    .replaceAll('localhost:9191', `127.0.0.1:${service.port}`)
    .replaceAll('localhost:9001', `127.0.0.1:${(backend.address() as AddressInfo).port}`)
  const gateway = await startGateway(own)
  stops.push(() => gateway.close())
  service.process = at('requestBody', (request) => [answerTo(request, body('[]'))])
  match(await send(gateway, 'POST /api HTTP/1.1\r\nContent-Length: 5', 'hello'), /^HTTP\/1.1 200 /)
  equal(seen[0]!.body, '[]')
  deepEqual(kinds(), ['requestHeaders', 'requestBody', 'responseHeaders'])
})

describe('what happens while the service is silent', () => {
  const silentAt = (kind: string) => {
    const asked = Promise.withResolvers<void>()
    service.process = at(kind, () => {
      asked.resolve()
      return []
    })
    return asked.promise
  }

  it('the backend breaks off: the client gets that error, and the stream is over', async () => {
    const half = createNetServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n'))
      void asked.then(() => socket.destroy())
    })
    await new Promise<void>((resolve) => half.listen(0, '127.0.0.1', resolve))
    stops.push(() => half.close())
    const asked = silentAt('responseHeaders')
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
    const asked = Promise.withResolvers<void>()
    service.process = at('requestHeaders', (_, call) => {
      calls.push(call)
      asked.resolve()
      return []
    })
    const answered = send(gateway)
    await asked.promise
    await gateway.reload(
      'binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 410 } } }] }] }]'
    )
    calls[0]!.write(answerTo(service.asked[0]!))
    equal(statusOf(await answered), 200)
  })
})
