/** extProc: replies that the service makes itself, piece by piece (StreamedImmediateResponse). */
import type { HeaderMap } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import type { StreamedImmediateResponse } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { bodyIn, piece } from '#policies/traffic/ext-proc/gateway.fixture.ts'
import { answer, answerTo, type Processor } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type Case, group } from './case.ts'
import { instead, type Kind, POST, text } from './processing-parts.ts'
import { processing } from './setups.ts'

const mode = (body: string, trailers = 'SKIP') => ({
  request_body_mode: body,
  response_body_mode: body,
  request_trailer_mode: trailers,
  response_trailer_mode: trailers
})
const NONE = processing()
const SKIPPED = processing({ mode: { request_header_mode: 'SKIP' } })
const STREAMED = processing({ mode: mode('STREAMED') })
const BUFFERED = processing({ mode: mode('BUFFERED') })
const DUPLEX = processing({ mode: mode('FULL_DUPLEX_STREAMED', 'SEND') })
const OPEN = processing({ envoy: { failure_mode_allow: true }, weir: { failureMode: 'FailOpen' } })

const fields = (all: Readonly<Record<string, string>>): HeaderMap => ({
  headers: Object.entries(all).map(([key, value]) => ({ key, value: '', rawValue: Buffer.from(value) }))
})
const part = (response: StreamedImmediateResponse['response']) =>
  answer({ $case: 'streamedImmediateResponse', value: { response } })

const head = (all: Readonly<Record<string, string>> = {}, endOfStream = false) =>
  part({
    $case: 'headersResponse',
    value: {
      headers: fields({ ':status': '203', 'content-type': 'text/plain', 'x-from': 'service', ...all }),
      attributes: {},
      endOfStream
    }
  })
const bytes = (value: string, endOfStream = false) =>
  part({
    $case: 'bodyResponse',
    value: { body: Buffer.from(value), endOfStream, endOfStreamWithoutMessage: false, grpcMessageCompressed: false }
  })
const trailers = (all: Readonly<Record<string, string>>) => part({ $case: 'trailersResponse', value: fields(all) })

const whole = () => [head(), bytes('hel'), bytes('lo', true)]
const at = (kind: Kind, answers: () => ReturnType<typeof answer>[]) => ({ process: instead(kind, answers) })
const atHead = (answers: () => ReturnType<typeof answer>[]) => at('requestHeaders', answers)

/** The request's body in capitals is the reply. */
const echo: Processor = (message) => {
  const body = bodyIn(message)
  if (message.request!.$case === 'requestHeaders') return [head()]
  return body === null ? [] : [bytes(body[0].toUpperCase(), body[1])]
}
/** Wants no more of the body behind its first piece, and sends back what comes. */
const draining: Processor = (message) => {
  const body = bodyIn(message)
  return [body === null ? answerTo(message) : answerTo(message, piece(body[0], body[1]), { requestDrain: true })]
}

const hello = { ...POST, body: text('hello') }
const TE = ['TE', 'trailers']

export const PROCESSING_STREAMED_REPLIES: readonly Case[] = [
  ...group('extProc, streamed reply', NONE, {
    'of a head': atHead(() => [head({}, true)]),
    'with a body': atHead(whole),
    'with a body over HTTP/2': { ...atHead(whole), request: { http: 2 } },
    'with a length': atHead(() => [head({ 'content-length': '5' }), bytes('hello', true)]),
    'with trailers': { ...atHead(() => [head(), bytes('hi'), trailers({ 'x-t': '1' })]), request: { headers: TE } },
    'with trailers over HTTP/2': {
      ...atHead(() => [head(), bytes('hi'), trailers({ 'x-t': '1' })]),
      request: { http: 2, headers: TE }
    },
    'of a head and trailers': {
      ...atHead(() => [head(), trailers({ 'x-t': '1' })]),
      request: { http: 2, headers: TE }
    },
    'to a request with a body': { ...atHead(whole), request: hello },
    'to HEAD': { ...atHead(whole), request: { method: 'HEAD' } },
    'ends with an empty piece': atHead(() => [head(), bytes('hello'), bytes('', true)]),
    'of status 503': atHead(() => [head({ ':status': '503' }), bytes('no', true)]),
    'of status 204': atHead(() => [head({ ':status': '204' }, true)]),
    'of gRPC': {
      ...atHead(() => [head({ ':status': '200', 'content-type': 'application/grpc', 'grpc-status': '7' }, true)]),
      request: { http: 2, method: 'POST', body: [], headers: ['content-type', 'application/grpc', 'te', 'trailers'] }
    },
    'without a status': { ...atHead(() => [head({ ':status': '' }, true)]), isOwnWords: true },
    'with a status that is none': { ...atHead(() => [head({ ':status': '99' }, true)]), isOwnWords: true },
    'with fields that are not the service’s': atHead(() => [
      head({ 'x-envoy-a': '1', connection: 'close', host: 'b.test' }, true)
    ]),
    'a body without a head': { ...atHead(() => [bytes('hello', true)]), isOwnWords: true },
    'trailers without a head': { ...atHead(() => [trailers({ 'x-t': '1' })]), isOwnWords: true },
    'two heads': { ...atHead(() => [head(), head({}, true)]), isOwnWords: true },
    'in place of a response': { ...at('responseHeaders', whole), isOwnWords: true },
    'a service that breaks off': {
      process: instead('requestHeaders', (_, call) => {
        call.write(head())
        call.write(bytes('hel'))
        setTimeout(() => call.emit('error', { code: 7, details: 'no' }), 50)
        return []
      })
    }
  }),
  ...group('extProc, streamed reply and failures pass', OPEN, {
    'a body without a head': atHead(() => [bytes('hello', true)]),
    'in place of a response': at('responseHeaders', whole)
  }),
  ...group('extProc, streamed reply without heads of requests', SKIPPED, {
    'in place of a response': { ...at('responseHeaders', whole), isOwnWords: true }
  }),
  ...group('extProc, streamed reply and STREAMED', STREAMED, {
    'of a head': { ...atHead(() => [head({}, true)]), request: hello },
    'with a body': { ...atHead(whole), request: hello, isOwnWords: true },
    'with a body, without a request body': { ...atHead(whole), isOwnWords: true }
  }),
  ...group('extProc, streamed reply and BUFFERED', BUFFERED, {
    'with a body': { ...atHead(whole), request: hello, isOwnWords: true },
    'to the body of a request': { ...at('requestBody', whole), request: hello, isOwnWords: true }
  }),
  ...group('extProc, streamed reply and FULL_DUPLEX_STREAMED', DUPLEX, {
    'without a body of the request': atHead(whole),
    'of what the request brings': { request: hello, process: echo },
    'of what the request brings over HTTP/2': { request: { ...hello, http: 2 }, process: echo },
    'to the body of a request': {
      request: hello,
      process: (message) =>
        message.request!.$case === 'requestHeaders' ? [] : message.request!.$case === 'requestBody' ? whole() : []
    },
    'behind a head that goes on': { ...at('requestBody', whole), request: hello, isOwnWords: true }
  }),
  ...group('extProc, a drain that the service asks for', DUPLEX, {
    'of a request': { request: hello, process: draining },
    'of a long request': { request: { ...POST, body: [Buffer.alloc(300_000, 'x')] }, process: draining }
  })
]
