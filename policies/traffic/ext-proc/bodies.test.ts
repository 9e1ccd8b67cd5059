/** Bodies that the service is told whole, or in their beginnings, and their trailers. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { at, body, bodyIn, goOn, harness, post, send, statusOf } from './gateway.fixture.ts'
import { answerTo, mutation } from './services.fixture.ts'

const { seen, service, start, kinds } = harness()

const bodyOf = (kind: string) => {
  const found = service.requests.find(({ request }) => request!.$case === kind)
  return found === undefined ? null : bodyIn(found)
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
    deepEqual(service.requests[0]!.protocolConfig?.requestBodyMode, 2)
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
    const sent = bodyOf('requestBody')!
    const prefix = String(sent[0])
    equal(sent[1], false)
    ok(prefix.length >= 2_000_000 && prefix.length < long.length)
    const { headers, body: got } = seen[0]!
    equal(got, `new${long.slice(prefix.length)}`)
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
    const override = (requestBodyMode: 0 | 2 | 5) => ({
      modeOverride: {
        requestHeaderMode: 0,
        responseHeaderMode: 2,
        requestBodyMode,
        responseBodyMode: 0,
        requestTrailerMode: 0,
        responseTrailerMode: 0
      } as const
    })
    const asking = (mode: 0 | 2 | 5) => at('requestHeaders', (request) => [answerTo(request, {}, override(mode))])
    service.process = asking(2)
    equal(statusOf(await post(await start('allowModeOverride: true'), 'hello')), 200)
    deepEqual(kinds(), ['requestHeaders', 'requestBody'])
    service.requests.length = 0
    equal(statusOf(await post(await start(), 'hello')), 200)
    deepEqual(kinds(), ['requestHeaders', 'responseHeaders'])
    service.process = asking(5)
    equal(statusOf(await post(await start('allowModeOverride: true'), 'hello')), 500)
  })
})
