/** Replies that the service makes itself, piece by piece. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { describe, it } from 'node:test'
import type { StreamedImmediateResponse } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import type { TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { at, bodyIn, harness, piece, post, send, statusOf } from './gateway.fixture.ts'
import { answer, answerTo, type Call, type Processor } from './services.fixture.ts'

const { seen, service, stops, start, kinds } = harness()

const DUPLEX = 'processingMode: { requestBodyMode: FULL_DUPLEX_STREAMED, responseBodyMode: FULL_DUPLEX_STREAMED }'

const fields = (all: Readonly<Record<string, string>>) => ({
  headers: Object.entries(all).map(([key, value]) => ({ key, value: '', rawValue: Buffer.from(value) }))
})
const part = (response: StreamedImmediateResponse['response']) =>
  answer({ $case: 'streamedImmediateResponse', value: { response } })
const head = (status = '203', endOfStream = false, more: Readonly<Record<string, string>> = {}) =>
  part({
    $case: 'headersResponse',
    value: { headers: fields({ ':status': status, 'x-made': 'here', ...more }), attributes: {}, endOfStream }
  })
const bytes = (body: string | Buffer, endOfStream = false) =>
  part({
    $case: 'bodyResponse',
    value: { body: Buffer.from(body), endOfStream, endOfStreamWithoutMessage: false, grpcMessageCompressed: false }
  })
const trailers = (all: Readonly<Record<string, string>>) => part({ $case: 'trailersResponse', value: fields(all) })
const atHead = (process: Processor): Processor => at('requestHeaders', process)

/** A call of the service that has sent a head, to go on with. */
function begun(): Promise<Call> {
  return new Promise((resolve) => {
    service.process = atHead((_, call) => {
      resolve(call)
      return [head()]
    })
  })
}

function overHttp2(gateway: TestGateway) {
  const session: ClientHttp2Session = connect(`http://127.0.0.1:${gateway.port}`)
  stops.push(() => session.destroy())
  return session.request({ ':path': '/', te: 'trailers' })
}

describe('a reply that the service streams', () => {
  it('goes out piece by piece, and nothing reaches the backend', async () => {
    const gateway = await start()
    const call = begun()
    const client = await rawClient(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await client.until(/^HTTP\/1.1 203 [\s\S]*x-made: here/i)
    for (const text of ['one', 'two']) {
      ;(await call).write(bytes(text))
      await client.until(text)
    }
    ;(await call).write(bytes('three', true))
    await client.until('three\r\n0\r\n\r\n')
    await service.over.promise
    service.process = atHead(() => [head('204', true)])
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await client.until(/HTTP\/1.1 204 [\s\S]*\r\n\r\n$/)
    client.close()
    deepEqual([seen.length, kinds()], [0, ['requestHeaders', 'requestHeaders']])
  })

  it('with trailers, over HTTP/2', async () => {
    service.process = atHead(() => [head(), bytes('hello'), trailers({ 'x-sum': '1', host: 'b' })])
    const stream = overHttp2(await start())
    const lines = once(stream, 'trailers') as Promise<[Record<string, string>]>
    let text = ''
    for await (const some of stream) text += some
    const [{ 'x-sum': sum, host }] = await lines
    deepEqual([text, sum, host], ['hello', '1', undefined])
  })

  it('without a body: its length is nothing, and the connection goes on', async () => {
    const gateway = await start()
    service.process = atHead(() => [
      head('403', true, { 'content-length': '7', 'x-envoy-a': '1', connection: 'close' })
    ])
    const client = await rawClient(gateway.port)
    const request = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'
    client.send(request + request)
    await client.until(/(?:HTTP\/1.1 403 (?:(?!\r\n\r\n)[\s\S])*Content-Length: 0\r\n\r\n){2}$/i)
    ok(!/x-envoy-a|connection: close/i.test(client.received))
    client.close()
    service.process = atHead(() => [head(), bytes('of no HEAD', true)])
    match(await send(gateway, 'HEAD / HTTP/1.1'), /^HTTP\/1.1 203 [\s\S]*\r\n\r\n$/)
    service.process = atHead(() => [head('205'), bytes('of no content', true)])
    match(await send(gateway), /^HTTP\/1.1 205 [\s\S]*Content-Length: 0\r\n(?:(?!\r\n\r\n)[\s\S])*\r\n\r\n$/i)
  })

  it('response hooks see it, and the service is not sent it', async () => {
    service.process = atHead(() => [head(), bytes('hello', true)])
    const gateway = await start('', ', transformation: { response: { set: { x-hook: "string(response.code)" } } }')
    match(await send(gateway), /^HTTP\/1.1 203 [\s\S]*x-hook: 203\r\n[\s\S]*hello/i)
    deepEqual(kinds(), ['requestHeaders'])
  })

  it('takes the place of a request with a body, of which nothing more is kept', async () => {
    service.process = atHead(() => [head(), bytes('enough', true)])
    const gateway = await start()
    const long = 'a'.repeat(3_000_000)
    match(await post(gateway, long), /^HTTP\/1.1 203 [\s\S]*enough/)
    equal(seen.length, 0)
  })

  it('FULL_DUPLEX_STREAMED: is made of a request that is still coming', async () => {
    const gateway = await start(DUPLEX)
    service.process = (message) => {
      const body = bodyIn(message)
      if (body === null) return [head()]
      return [bytes(body[0].toUpperCase(), body[1])]
    }
    const client = await rawClient(gateway.port)
    client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n')
    await client.until('ONE')
    client.send('3\r\ntwo\r\n0\r\n\r\n')
    await client.until(/TWO\r\n0\r\n\r\n$/)
    client.close()
    const long = 'ab'.repeat(1_000_000)
    const text = await post(gateway, long)
    const body = text.slice(text.indexOf('\r\n\r\n') + 4).replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '')
    ok(body.startsWith(long.toUpperCase()))
    await service.over.promise
  })

  it('that is long waits for a client that does not read', async () => {
    const gateway = await start()
    const piece64 = Buffer.alloc(64 * 1024, 'x')
    const pieces = 400
    service.process = atHead(() => [
      head(),
      ...Array.from({ length: pieces }, (_, i) => bytes(piece64, i === pieces - 1))
    ])
    const stream = overHttp2(gateway)
    await once(stream, 'response')
    let length = 0
    for await (const some of stream) length += (some as Buffer).length
    equal(length, pieces * piece64.length)
  })
})

describe('a reply that breaks off', () => {
  for (const failureMode of ['FailClosed', 'FailOpen']) {
    for (const [what, act] of [
      ['a service that resets', (call: Call) => call.emit('error', { code: 7, details: 'no' })],
      ['a service that ends its stream', (call: Call) => call.end()],
      ['a second head', (call: Call) => call.write(head())],
      ['an answer that is none', (call: Call) => call.write(Buffer.from([255, 255]))]
    ] as const) {
      it(`${what}, ${failureMode}: the client sees that something is missing`, async () => {
        const gateway = await start(`failureMode: ${failureMode}`)
        const call = begun()
        const client = await rawClient(gateway.port)
        client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
        ;(await call).write(bytes('part'))
        await client.until('part')
        act(await call)
        await client.untilEnd()
        ok(!client.received.endsWith('0\r\n\r\n'))
        await service.over.promise
      })
    }
  }

  it('its client leaves, and so does the stream', async () => {
    const gateway = await start()
    const call = begun()
    const client = await rawClient(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await call
    await client.until('203')
    client.close()
    await service.over.promise
  })

  it('its time is up: it is cut, and the stream is over', async () => {
    const gateway = await start('', ', timeouts: { request: 300ms }')
    const call = begun()
    const client = await rawClient(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await call
    await client.untilEnd()
    await service.over.promise
  })
})

describe('a reply that may not be streamed', () => {
  const whole = () => [head(), bytes('hello', true)]
  for (const [what, mode, process] of [
    ['without a head', '', atHead(() => [bytes('hello', true)])],
    ['with trailers alone', '', atHead(() => [trailers({ 'x-t': '1' })])],
    ['without a status', '', atHead(() => [head('')])],
    ['with the status of an interim response', '', atHead(() => [head('103', true)])],
    ['in place of a response', '', at('responseHeaders', whole)],
    ['with a body, beside STREAMED', 'processingMode: { requestBodyMode: STREAMED }', atHead(whole)],
    ['behind a head that went on', DUPLEX, (message) => (bodyIn(message) === null ? [answerTo(message)] : whole())],
    ['beside an answer to the head', DUPLEX, atHead((message) => [answerTo(message), ...whole()])]
  ] satisfies (readonly [string, string, Processor])[]) {
    it(`${what}: 500`, async () => {
      service.process = process
      equal(statusOf(await post(await start(mode), 'hello')), 500)
      await service.over.promise
    })
  }

  it('where failures pass, the request goes on', async () => {
    service.process = atHead(() => [bytes('hello', true)])
    match(await post(await start('failureMode: FailOpen'), 'hello'), /^HTTP\/1.1 200 [\s\S]*from the backend/)
  })

  it('rules of what may be changed hold for its fields', async () => {
    service.process = atHead(() => [head('203', true)])
    const gateway = await start('mutationRules: { disallowExpression: x-made, disallowIsError: true }')
    equal(statusOf(await send(gateway)), 500)
  })
})

it('a drain that the service asks for: it is sent the rest, and gives it back', async () => {
  const gateway = await start(DUPLEX)
  service.process = (message) => {
    const body = bodyIn(message)
    return [body === null ? answerTo(message) : answerTo(message, piece(body[0], body[1]), { requestDrain: true })]
  }
  const pieces = ['one ', 'two ', 'three'].map((text) => `${text.length}\r\n${text}\r\n`).join('')
  const lines = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
  equal(statusOf(await exchangeRaw(gateway.port, `${lines}${pieces}0\r\n\r\n`)), 200)
  equal(seen[0]!.body, 'one two three')
})
