/** Bodies that pass the service while they come. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { at, body, bodyIn, goOn, harness, immediate, piece, post, send, statusOf } from './gateway.fixture.ts'
import { answerTo, type Call, mutation, type Processor } from './services.fixture.ts'

const { seen, service, stops, start, kinds, sentBody } = harness()

const STREAMED = 'processingMode: { requestBodyMode: STREAMED, responseBodyMode: STREAMED }'
const DUPLEX = 'processingMode: { requestBodyMode: FULL_DUPLEX_STREAMED, responseBodyMode: FULL_DUPLEX_STREAMED }'

const chunked = (gateway: TestGateway, pieces: readonly string[], trailers = '', more = '') =>
  exchangeRaw(
    gateway.port,
    `POST / HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nConnection: close, TE\r\nTransfer-Encoding: chunked\r\n${more}\r\n` +
      `${pieces.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('')}0\r\n${trailers}\r\n`
  )

/** A request over HTTP/2 whose pieces go out one by one. */
async function overHttp2(gateway: TestGateway, pieces: readonly string[]): Promise<readonly [number, string]> {
  const session = connect(`http://127.0.0.1:${gateway.port}`)
  const stream = session.request({ ':method': 'POST', ':path': '/' })
  for (const text of pieces) stream.write(text)
  stream.end()
  const [head] = (await once(stream, 'response')) as [Record<string, number>]
  let text = ''
  for await (const part of stream) text += part
  session.close()
  return [head[':status']!, text]
}

/** Every piece of a body in capitals. */
const upper: Processor = (request) => {
  const part = bodyIn(request)
  return [part === null ? answerTo(request) : answerTo(request, body(part[0].toUpperCase()))]
}

/** The same where the service streams what it makes. */
const upperPieces: Processor = (request) => {
  const part = bodyIn(request)
  return [part === null ? answerTo(request) : answerTo(request, piece(part[0].toUpperCase(), part[1]))]
}

/** Says nothing of a request before it has all of it: then its headers, and its body in three pieces. */
const late =
  (kinds: readonly [string, string]): Processor =>
  (request) => {
    const { $case } = request.request!
    if ($case === kinds[0]) return []
    if ($case !== kinds[1]) return [answerTo(request)]
    if (!bodyIn(request)![1]) return []
    const [head] = service.requests.filter((one) => one.request!.$case === kinds[0])
    return [
      answerTo(head!, { headerMutation: mutation({ 'x-late': '1' }) }),
      answerTo(request, piece('one ')),
      answerTo(request, piece('two ')),
      answerTo(request, piece('three', true))
    ]
  }

describe('a body that is streamed', () => {
  for (const [mode, modes, process] of [
    ['STREAMED', STREAMED, upper],
    ['FULL_DUPLEX_STREAMED', DUPLEX, upperPieces]
  ] as const) {
    it(`${mode}: both sides pass the service piece by piece, of unknown length`, async () => {
      const gateway = await start(modes)
      service.process = process
      const text = await post(gateway, 'hello')
      deepEqual([seen[0]!.body, seen[0]!.headers['content-length']], ['HELLO', undefined])
      match(text, /^HTTP\/1.1 200 [\s\S]*FROM THE BACKEND/)
      ok(!/content-length/i.test(text))
      deepEqual(
        [sentBody('requestBody'), sentBody('responseBody')],
        [
          ['hello', true],
          ['from the backend', true]
        ]
      )
      equal(service.requests[0]!.protocolConfig!.requestBodyMode, mode === 'STREAMED' ? 1 : 4)
      await service.over.promise
    })

    it(`${mode}: over HTTP/2, and in chunks`, async () => {
      const gateway = await start(modes)
      service.process = process
      deepEqual(await overHttp2(gateway, ['one ', 'two ', 'three']), [200, 'FROM THE BACKEND'])
      equal(statusOf(await chunked(gateway, ['one ', 'two ', 'three'])), 200)
      deepEqual(
        seen.map(({ body }) => body),
        ['ONE TWO THREE', 'ONE TWO THREE']
      )
    })

    it(`${mode}: what is long arrives whole, whatever the size of its pieces`, async () => {
      const gateway = await start(modes)
      service.process = process
      const long = Array.from({ length: 300_000 }, (_, i) => `${i}a`).join('')
      equal(statusOf(await post(gateway, long)), 200)
      equal(seen[0]!.body, long.toUpperCase())
      equal(statusOf(await chunked(gateway, Array<string>(5_000).fill('ab'))), 200)
      equal(seen[1]!.body, 'AB'.repeat(5_000))
    })

    it(`${mode}: a body that is empty has an end`, async () => {
      const gateway = await start(modes)
      service.process = process
      equal(statusOf(await chunked(gateway, [])), 200)
      deepEqual([seen[0]!.body, sentBody('requestBody')], ['', ['', true]])
    })

    it(`${mode}: trailers follow their body, if they are sent to the service`, async () => {
      const trailing = modes.replace(' }', ', requestTrailerMode: SEND }')
      service.process = (request, call) =>
        request.request!.$case === 'requestTrailers'
          ? [answerTo(request, { headerMutation: mutation({ 'x-sum': '2' }, ['x-old']) })]
          : process(request, call)
      await chunked(await start(trailing), ['hello'], 'x-old: 1\r\nx-sum: 1\r\n')
      deepEqual(kinds().slice(0, 3), ['requestHeaders', 'requestBody', 'requestTrailers'])
      deepEqual(
        [sentBody('requestBody')[1], seen[0]!.body, { ...seen[0]!.trailers }],
        [false, 'HELLO', { 'x-sum': '2' }]
      )
      service.requests.length = 0
      await chunked(await start(modes), ['hello'], 'x-old: 1\r\nx-sum: 1\r\n')
      deepEqual([sentBody('requestBody')[1], { ...seen[1]!.trailers }], [true, { 'x-old': '1', 'x-sum': '1' }])
      ok(!kinds().includes('requestTrailers'))
    })

    it(`${mode}: the gateway's own replies pass the service, too`, async () => {
      const gateway = await start(modes, ', directResponse: { status: 203, body: here }')
      service.process = process
      match(await send(gateway), /^HTTP\/1.1 203 [\s\S]*content-length: 4\r\n[\s\S]*\r\n\r\nHERE$/i)
    })

    it(`${mode}: CONTINUE_AND_REPLACE takes the place of the body`, async () => {
      const gateway = await start(modes)
      service.process = (request, call) =>
        request.request!.$case.endsWith('Headers')
          ? [answerTo(request, { status: 1, ...body('replaced') })]
          : process(request, call)
      match(await post(gateway, 'hello'), /\r\nreplaced/)
      equal(seen[0]!.body, 'replaced')
    })

    it(`${mode}: a reply in the middle of a request`, async () => {
      const gateway = await start(modes)
      service.process = at('requestBody', () => [immediate({ status: { code: 429 }, body: Buffer.from('no') })])
      match(await post(gateway, 'hello'), /^HTTP\/1.1 429 [\s\S]*\r\n\r\nno$/)
      await service.over.promise
    })

    it(`${mode}: a client that waits to be asked for the body is asked`, async () => {
      const gateway = await start(modes)
      service.process = process
      const client = await rawClient(gateway.port)
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
      await client.until('100 Continue')
      client.send('hello')
      await client.until('FROM THE BACKEND')
      client.close()
      equal(seen[0]!.body, 'HELLO')
    })
  }

  it('FULL_DUPLEX_STREAMED: the service may want all of a message before it answers anything', async () => {
    const gateway = await start(DUPLEX)
    service.process = late(['requestHeaders', 'requestBody'])
    service.process = (request, call) =>
      request.request!.$case.startsWith('request')
        ? late(['requestHeaders', 'requestBody'])(request, call)
        : late(['responseHeaders', 'responseBody'])(request, call)
    const long = 'a'.repeat(500_000)
    const text = await post(gateway, long)
    deepEqual([seen[0]!.body, seen[0]!.headers['x-late']], ['one two three', '1'])
    match(text, /x-late: 1\r\n/i)
    equal(sentBody('requestBody')[0], long)
  })

  it('FULL_DUPLEX_STREAMED: the service may end a request before the client does', async () => {
    const gateway = await start(DUPLEX)
    service.process = at('requestBody', (request) =>
      kinds().length === 2 ? [answerTo(request, piece('done', true))] : []
    )
    service.process = (request) => {
      if (request.request!.$case === 'requestBody')
        return kinds().filter((kind) => kind === 'requestBody').length === 1
          ? [answerTo(request, piece('done', true))]
          : []
      return upperPieces(request, {} as Call)
    }
    const client = await rawClient(gateway.port)
    client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
    await client.until('FROM THE BACKEND')
    client.close()
    equal(seen[0]!.body, 'done')
  })

  it('the service asks for it', async () => {
    const gateway = await start('allowModeOverride: true')
    service.process = (request, call) => {
      if (request.request!.$case !== 'requestHeaders') return upper(request, call)
      const modeOverride = {
        requestHeaderMode: 0,
        responseHeaderMode: 2,
        requestBodyMode: 1,
        responseBodyMode: 0,
        requestTrailerMode: 0,
        responseTrailerMode: 0
      } as const
      return [answerTo(request, {}, { modeOverride })]
    }
    equal(statusOf(await post(gateway, 'hello')), 200)
    deepEqual([seen[0]!.body, kinds()], ['HELLO', ['requestHeaders', 'requestBody']])
  })

  it('trailers are told of a body that passes by', async () => {
    const gateway = await start('processingMode: { requestTrailerMode: SEND, responseHeaderMode: SKIP }')
    service.process = at('requestTrailers', (request) => [
      answerTo(request, { headerMutation: mutation({ 'x-sum': '2' }) })
    ])
    await chunked(gateway, ['hello'], 'x-sum: 1\r\n')
    deepEqual(kinds(), ['requestHeaders', 'requestTrailers'])
    deepEqual([seen[0]!.body, { ...seen[0]!.trailers }], ['hello', { 'x-sum': '2' }])
  })

  it('passes one policy before routing and one behind it, and what reads whole bodies gets what they made', async () => {
    const marking: Processor = (request) => {
      const part = bodyIn(request)
      return [part === null ? answerTo(request) : answerTo(request, body(`${part[0]}!`))]
    }
    service.process = marking
    const { port } = service
    const own = `{ host: "127.0.0.1:${port}", messageTimeout: 60s, ${STREAMED} }`
    const answering = createServer((request, response) => {
      request.resume().on('end', () => response.end(String(request.headers['x-body'])))
    })
    await new Promise<void>((resolve) => answering.listen(0, '127.0.0.1', resolve))
    stops.push(() => answering.close())
    const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - policies: { phase: PreRouting, extProc: ${own} }
        routes:
          - policies: { extProc: ${own}, transformation: { request: { set: { x-body: string(request.body) } } } }
            backends: [{ host: "127.0.0.1:${(answering.address() as AddressInfo).port}" }]
`)
    stops.push(() => gateway.close())
    match(await post(gateway, 'hello'), /hello!!!!/)
  })
})

describe('the pace of a streamed body', () => {
  it('a service that does not answer is not sent more than it may have in flight', async () => {
    const gateway = await start(STREAMED)
    const calls: Call[] = []
    const reached = Promise.withResolvers<void>()
    service.process = at('requestBody', (_, call) => {
      calls.push(call)
      if (sentBody('requestBody')[0].length >= 64 * 1024) reached.resolve()
      return []
    })
    const client = await rawClient(gateway.port)
    const long = 'a'.repeat(8_000_000)
    client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${long.length}\r\n\r\n${long}`)
    await reached.promise
    const inFlight = sentBody('requestBody')[0].length
    ok(inFlight < 512 * 1024, String(inFlight))
    for (const message of service.requests.filter(({ request }) => request!.$case === 'requestBody'))
      calls[0]!.write(answerTo(message))
    service.process = goOn
    await client.until('from the backend')
    client.close()
    equal(seen[0]!.body, long)
  })

  it('a backend that does not read holds up the client, and is not held up for ever', async () => {
    const backend = createServer()
    const reached = once(backend, 'request')
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
    stops.push(() => backend.close())
    const gateway = await start(DUPLEX, '', service.port, (backend.address() as AddressInfo).port)
    service.process = upperPieces
    const long = 'a'.repeat(8_000_000)
    const answered = post(gateway, long)
    const [request, response] = await reached
    let bytes = 0
    for await (const part of request) bytes += (part as Buffer).length
    response.end('read')
    match(await answered, /READ/)
    equal(bytes, long.length)
  })
})

describe('a streamed body that breaks off', () => {
  const ending =
    (kind: string, after: number): Processor =>
    (request, call) => {
      const { $case } = request.request!
      if ($case === kind && kinds().filter((one) => one === kind).length > after)
        call.emit('error', { code: 7, details: 'no' })
      else return upper(request, call)
      return []
    }

  it('in a request: 500, or what the service has not answered passes as it came', async () => {
    service.process = ending('requestBody', 0)
    equal(statusOf(await post(await start(STREAMED), 'hello')), 500)
    equal(seen.length, 0)
    match(
      await post(await start(`${STREAMED}, failureMode: FailOpen`), 'hello'),
      /^HTTP\/1.1 200 [\s\S]*from the backend/
    )
    equal(seen[0]!.body, 'hello')
  })

  it('in a request that is streamed both ways: the service has the only copy', async () => {
    service.process = ending('requestBody', 0)
    equal(statusOf(await post(await start(`${DUPLEX}, failureMode: FailOpen`), 'hello')), 500)
    service.process = at('requestBody', (_, call) => {
      call.end()
      return []
    })
    equal(statusOf(await post(await start(`${DUPLEX}, failureMode: FailOpen`), 'hello')), 500)
    service.process = ending('requestHeaders', 0)
    match(await send(await start(`${DUPLEX}, failureMode: FailOpen`)), /^HTTP\/1.1 200 /)
  })

  it('in a response: its client sees that something is missing', async () => {
    const endless = createServer((_, response) => {
      response.write('first')
      void again.promise.then(() => response.write('second'))
    })
    const again = Promise.withResolvers<void>()
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
    stops.push(() => {
      endless.close()
      endless.closeAllConnections()
    })
    const gateway = await start(STREAMED, '', service.port, (endless.address() as AddressInfo).port)
    service.process = ending('responseBody', 1)
    const session: ClientHttp2Session = connect(`http://127.0.0.1:${gateway.port}`)
    const stream = session.request({ ':path': '/' })
    stream.once('data', () => again.resolve())
    const [error] = (await once(stream, 'error')) as [NodeJS.ErrnoException]
    equal(error.code, 'ERR_HTTP2_STREAM_ERROR')
    session.close()
  })

  it('answers that are none', async () => {
    const gateway = await start(STREAMED)
    for (const wrong of [
      () => [Buffer.from([255, 255])],
      (request) => [answerTo(request, piece('streamed'))],
      (request) => [answerTo(request), answerTo(request)],
      () => [answerTo({ ...service.requests[0]!, request: service.requests[0]!.request })]
    ] satisfies Processor[]) {
      service.requests.length = 0
      service.process = at('requestBody', wrong)
      equal(statusOf(await post(gateway, 'hello')), 500)
    }
    service.process = at('requestBody', (request) => [answerTo(request, body('whole'))])
    equal(statusOf(await post(await start(DUPLEX), 'hello')), 500)
  })

  it('a piece that is not answered in time: 504', async () => {
    service.process = at('requestBody', () => [])
    equal(statusOf(await post(await start(`messageTimeout: 300ms, ${STREAMED}`), 'hello')), 504)
  })

  it('its client leaves: so does the stream', async () => {
    for (const modes of [STREAMED, DUPLEX]) {
      service.over = Promise.withResolvers()
      const gateway = await start(modes)
      const reached = Promise.withResolvers<void>()
      service.process = at('requestBody', () => {
        reached.resolve()
        return []
      })
      const client = await rawClient(gateway.port)
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
      await reached.promise
      client.close()
      await service.over.promise
    }
  })

  it('its backend leaves: the client gets that error, and the stream is over', async () => {
    const leaving = createServer((request) => request.once('data', () => request.socket.destroy()))
    await new Promise<void>((resolve) => leaving.listen(0, '127.0.0.1', resolve))
    stops.push(() => leaving.close())
    const gateway = await start(STREAMED, '', service.port, (leaving.address() as AddressInfo).port)
    const client = await rawClient(gateway.port)
    client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
    await client.until('HTTP/1.1 502')
    client.close()
  })

  it('a request over HTTP/2 that is not as long as it says', async () => {
    const gateway = await start(STREAMED)
    const session = connect(`http://127.0.0.1:${gateway.port}`)
    const stream = session.request({ ':method': 'POST', ':path': '/', 'content-length': '10' })
    stream.end('hello')
    stream.resume()
    stream.on('error', () => {})
    const [head] = (await Promise.race([once(stream, 'response'), once(stream, 'error').then(() => [{}])])) as [
      Record<string, number>
    ]
    ok(head[':status'] !== 200)
    session.destroy()
  })
})
