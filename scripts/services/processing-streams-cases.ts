/** extProc: bodies that are streamed. */

import { bodyIn, piece } from '#policies/traffic/ext-proc/gateway.fixture.ts'
import { answerTo, mutation, type Processor } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type Case, group } from './case.ts'
import { body, cleared, immediately, instead, on, override, POST, text } from './processing-parts.ts'
import { processing } from './setups.ts'

const STREAMED = processing({ mode: { request_body_mode: 'STREAMED', response_body_mode: 'STREAMED' } })
const OVERRIDE = processing({ envoy: { allow_mode_override: true }, weir: { allowModeOverride: true } })
const OPEN = processing({
  mode: { request_body_mode: 'STREAMED', response_body_mode: 'STREAMED' },
  envoy: { failure_mode_allow: true },
  weir: { failureMode: 'FailOpen' }
})
const TRAILERS = processing({
  mode: {
    request_body_mode: 'STREAMED',
    response_body_mode: 'STREAMED',
    request_trailer_mode: 'SEND',
    response_trailer_mode: 'SEND'
  }
})
const TRAILERS_ALONE = processing({ mode: { request_trailer_mode: 'SEND', response_trailer_mode: 'SEND' } })
const DUPLEX_MODE = {
  request_body_mode: 'FULL_DUPLEX_STREAMED',
  response_body_mode: 'FULL_DUPLEX_STREAMED',
  request_trailer_mode: 'SEND',
  response_trailer_mode: 'SEND'
}
const DUPLEX = processing({ mode: DUPLEX_MODE })
const DUPLEX_OPEN = processing({
  mode: DUPLEX_MODE,
  envoy: { failure_mode_allow: true },
  weir: { failureMode: 'FailOpen' }
})

/** Sends back what it gets. */
const echo: Processor = (message) => {
  const part = bodyIn(message)
  return [part === null ? answerTo(message) : answerTo(message, piece(part[0].toUpperCase(), part[1]))]
}
/** Answers nothing of a side before it has its end; then in two pieces. */
const whole: Processor = (message) => {
  const { $case, value } = message.request!
  const part = bodyIn(message)
  const isHead = $case.endsWith('Headers')
  if (isHead && !(value as { endOfStream: boolean }).endOfStream) return []
  if (part === null) return [answerTo(message)]
  if (!part[1]) return []
  const kind = $case === 'requestBody' ? ('requestHeaders' as const) : ('responseHeaders' as const)
  const head = {
    ...message,
    request: { $case: kind, value: { headers: undefined, attributes: {}, endOfStream: false } }
  }
  return [
    answerTo(head, { headerMutation: mutation({ 'x-late': '1' }) }),
    answerTo(message, piece('one, ')),
    answerTo(message, piece('two', true))
  ]
}

const ended: Processor = (_, call) => {
  call.end()
  return []
}
const failed: Processor = (_, call) => {
  call.emit('error', { code: 7, details: 'no' })
  return []
}

const hello = { ...POST, body: text('hello') }
const pieces = { ...POST, isChunked: true, body: [Buffer.from('he'), Buffer.from('llo')] }
const TE = ['TE', 'trailers']
const trailing = { ...pieces, headers: TE, trailers: { 'x-t': '1' } }

export const PROCESSING_STREAMS: readonly Case[] = [
  ...group('extProc, streamed bodies', STREAMED, {
    'a request': { request: hello },
    'a request in chunks': { request: pieces },
    'a request over HTTP/2': { request: { ...hello, http: 2 } },
    'an empty request': { request: { ...POST, isChunked: true, body: [] } },
    GET: {},
    '300,000 bytes': { request: { ...POST, body: [Buffer.alloc(300_000, 'x')] } },
    'a request, changed': { request: hello, process: on('requestBody', body('new')) },
    'a request, cleared': { request: hello, process: on('requestBody', cleared) },
    'a response, changed': { process: on('responseBody', body('new')) },
    'a response, cleared': { process: on('responseBody', cleared) },
    'a change of the head with a body': {
      request: hello,
      process: on('requestBody', { headerMutation: mutation({ 'x-n': '1' }) })
    },
    'an answer at once, to a request': { request: hello, process: immediately('requestBody', 400) },
    'a body that is replaced with the head': {
      request: hello,
      process: on('requestHeaders', { status: 1, ...body('new') })
    },
    'a piece of a stream both ways': { request: hello, process: on('requestBody', piece('new')), isOwnWords: true },
    'a failure': { request: hello, process: instead('requestBody', failed), isOwnWords: true },
    'the end of the stream': { request: hello, process: instead('requestBody', ended) }
  }),
  ...group('extProc, streamed bodies and failures pass', OPEN, {
    'a failure': { request: hello, process: instead('requestBody', failed) },
    'a failure in a response': { process: instead('responseBody', failed) }
  }),
  ...group('extProc, streamed bodies that the service asks for', OVERRIDE, {
    'of a request': { request: hello, process: on('requestHeaders', {}, override({ requestBodyMode: 1 })) },
    'of a response': { request: hello, process: on('requestHeaders', {}, override({ responseBodyMode: 1 })) }
  }),
  ...group('extProc, streamed bodies with trailers', TRAILERS, {
    'of a request': { request: trailing },
    'of a request, changed': {
      request: trailing,
      process: on('requestTrailers', { headerMutation: mutation({ 'x-t': '2', 'x-n': '3' }) })
    },
    none: { request: pieces }
  }),
  ...group('extProc, trailers of bodies that pass', TRAILERS_ALONE, {
    'of a request': { request: trailing },
    'of a request, changed': {
      request: trailing,
      process: on('requestTrailers', { headerMutation: mutation({ 'x-t': '2' }) })
    },
    none: { request: pieces }
  }),
  ...group('extProc, bodies streamed both ways', DUPLEX, {
    'a request': { request: hello, process: echo },
    'a request in chunks': { request: pieces, process: echo },
    'a request over HTTP/2': { request: { ...hello, http: 2 }, process: echo },
    GET: { process: echo },
    'a request with trailers': { request: trailing, process: echo },
    'an answer when all is there': { request: hello, process: whole },
    'an answer at once, to a request': { request: hello, process: immediately('requestBody', 400) },
    'a body that is not streamed': { request: hello, process: on('requestBody', body('new')), isOwnWords: true },
    'a failure': { request: hello, process: instead('requestBody', failed), isOwnWords: true }
  }),
  ...group('extProc, bodies streamed both ways and failures pass', DUPLEX_OPEN, {
    'a failure ahead of the body': { process: instead('requestHeaders', failed) },
    'a failure behind it': { request: hello, process: instead('requestBody', failed), isOwnWords: true }
  })
]
