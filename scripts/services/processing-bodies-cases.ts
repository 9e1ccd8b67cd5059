/** extProc: bodies and trailers. */

import { mutation } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type Case, group } from './case.ts'
import { body, cleared, immediately, on, POST, resized, text } from './processing-parts.ts'
import type { Reply } from './servers.ts'
import { processing } from './setups.ts'

const BUFFERED = processing({ mode: { request_body_mode: 'BUFFERED', response_body_mode: 'BUFFERED' } })
const REQUEST = processing({ mode: { request_body_mode: 'BUFFERED' } })
const BODY_ALONE = processing({
  mode: { request_header_mode: 'SKIP', response_header_mode: 'SKIP', request_body_mode: 'BUFFERED' }
})
const TRAILERS = processing({
  mode: {
    request_body_mode: 'BUFFERED',
    response_body_mode: 'BUFFERED',
    request_trailer_mode: 'SEND',
    response_trailer_mode: 'SEND'
  }
})
const BYTES_MAX = 65_536
const SMALL = processing({ mode: { request_body_mode: 'BUFFERED' }, bodyBytesMax: BYTES_MAX })
const SMALL_RESPONSE = processing({ mode: { response_body_mode: 'BUFFERED' }, bodyBytesMax: BYTES_MAX })
const PARTIAL = processing({ mode: { request_body_mode: 'BUFFERED_PARTIAL' }, bodyBytesMax: BYTES_MAX })

const chunks: Reply = (response) => {
  response.sendDate = false
  response.writeHead(200, ['Content-Type', 'text/plain'])
  response.write('he')
  response.end('llo')
}
const withTrailers: Reply = (response) => {
  response.sendDate = false
  response.writeHead(200, ['Content-Type', 'text/plain', 'Trailer', 'x-t'])
  response.write('hello')
  response.addTrailers({ 'x-t': '1' })
  response.end()
}
const empty: Reply = (response) => {
  response.sendDate = false
  response.writeHead(200, ['Content-Length', '0']).end()
}

const UNCHANGED: Case[] = [
  ...group('extProc, bodies told', BUFFERED, {
    'a response': {},
    'both sides': { request: { ...POST, body: text('hello') } },
    'both sides over HTTP/2': { request: { ...POST, http: 2, body: text('hello') } },
    'chunks of a request': { request: { ...POST, isChunked: true, body: [Buffer.from('he'), Buffer.from('llo')] } },
    'chunks of a response': { backend: chunks },
    octets: { request: { ...POST, body: [Buffer.from([0, 0xff, 0x80])] } },
    'an empty request': { request: { ...POST, body: [] } },
    'an empty response': { backend: empty },
    HEAD: { request: { method: 'HEAD' } },
    'a response of 204': { backend: (response) => void response.writeHead(204).end() },
    '60,000 bytes': { request: { ...POST, body: [Buffer.alloc(60_000, 'x')] } },
    '60,000 bytes over HTTP/2': { request: { ...POST, http: 2, body: [Buffer.alloc(60_000, 'x')] } }
  }),
  ...group('extProc, body without heads', BODY_ALONE, {
    POST: { request: { ...POST, body: text('hello') } },
    GET: {},
    'a change of the head': {
      request: { ...POST, body: text('hello') },
      process: on('requestBody', { headerMutation: mutation({ 'x-n': '1' }) })
    }
  })
]

const CHANGED: Case[] = group('extProc, changes of bodies', BUFFERED, {
  'a longer request': {
    request: { ...POST, body: text('hello') },
    process: resized('requestBody', body('hello, hello'))
  },
  'a shorter request': { request: { ...POST, body: text('hello') }, process: resized('requestBody', body('h')) },
  'a request over HTTP/2': {
    request: { ...POST, http: 2, body: text('hello') },
    process: resized('requestBody', body('new'))
  },
  'a request in chunks': {
    request: { ...POST, isChunked: true, body: text('hello') },
    process: resized('requestBody', body('new'))
  },
  'a request cleared': { request: { ...POST, body: text('hello') }, process: resized('requestBody', cleared) },
  'a longer response': { process: resized('responseBody', body('hello, hello')) },
  'a response over HTTP/2': { request: { http: 2 }, process: resized('responseBody', body('new')) },
  'a response in chunks': { backend: chunks, process: resized('responseBody', body('new')) },
  'a response cleared': { process: resized('responseBody', cleared) },
  octets: { process: resized('responseBody', body(Buffer.from([0, 0xff, 0x80]))) },
  'the head with the body of a request': {
    request: { ...POST, body: text('hello') },
    process: resized('requestBody', { headerMutation: mutation({ 'x-n': '1' }), ...body('new') })
  },
  'the head with the body of a response': {
    process: resized('responseBody', { headerMutation: mutation({ 'x-n': '1', ':status': '418' }), ...body('new') })
  },
  'a longer request, with the length as it was': {
    request: { ...POST, body: text('hello') },
    process: on('requestBody', body('hello, hello'))
  },
  'a longer response, with the length as it was': { process: on('responseBody', body('hello, hello')) },
  'an answer at once, to a body': {
    request: { ...POST, body: text('hello') },
    process: immediately('requestBody', 400, {
      headers: mutation({ 'content-type': 'text/html' }),
      body: Buffer.from('bad')
    })
  },
  'an answer at once, in place of a response': {
    process: immediately('responseBody', 502, {
      headers: mutation({ 'content-type': 'text/html' }),
      body: Buffer.from('bad')
    })
  }
})

const REQUEST_ALONE: Case[] = group('extProc, body of the request alone', REQUEST, {
  'a change of the response is none of it': {
    request: { ...POST, body: text('hello') },
    process: resized('requestBody', body('new'))
  }
})

const x = (length: number): Buffer[] => [Buffer.alloc(length, 'x')]
const large =
  (length: number): Reply =>
  (response) => {
    response.sendDate = false
    response.writeHead(200, ['Content-Type', 'text/plain', 'Content-Length', String(length)]).end(x(length)[0])
  }
const refused = { isOwnWords: true }
const LARGE: Case[] = [
  ...group('extProc, long bodies', SMALL, {
    'as long as may be': { request: { ...POST, body: x(BYTES_MAX) } },
    'too long': { request: { ...POST, body: x(3 * BYTES_MAX) }, ...refused },
    'chunks that are too long': { request: { ...POST, isChunked: true, body: x(3 * BYTES_MAX) }, ...refused }
  }),
  ...group('extProc, long bodies of responses', SMALL_RESPONSE, {
    'as long as may be': { backend: large(BYTES_MAX - 1000) },
    'too long': { backend: large(3 * BYTES_MAX), ...refused }
  }),
  ...group('extProc, the first part of a body', PARTIAL, {
    'a short one': { request: { ...POST, body: text('hello') } },
    'a short one, changed': { request: { ...POST, body: text('hello') }, process: on('requestBody', body('new')) },
    none: {},
    'an empty one': { request: { ...POST, body: [] } }
  })
]

const TE = { headers: ['TE', 'trailers'] }
const sent = { ...POST, ...TE, isChunked: true, body: text('hello'), trailers: { 'x-t': '1' } }
const WITH_TRAILERS: Case[] = group('extProc, trailers', TRAILERS, {
  none: { request: { ...POST, body: text('hello') } },
  'of a request': { request: sent },
  'of a request over HTTP/2': { request: { ...sent, http: 2, headers: ['te', 'trailers'] } },
  'of a request, changed': {
    request: sent,
    process: on('requestTrailers', { headerMutation: mutation({ 'x-t': '2', 'x-n': '3' }) })
  },
  'of a response': { request: TE, backend: withTrailers },
  'of a response over HTTP/2': { request: { http: 2, headers: ['te', 'trailers'] }, backend: withTrailers },
  'of a response, changed': {
    request: TE,
    backend: withTrailers,
    process: on('responseTrailers', { headerMutation: mutation({ 'x-t': '2', 'x-n': '3' }) })
  },
  'of a response, removed': {
    request: TE,
    backend: withTrailers,
    process: on('responseTrailers', { headerMutation: mutation({}, ['x-t']) })
  }
})

export const PROCESSING_BODIES: readonly Case[] = [
  ...UNCHANGED,
  ...CHANGED,
  ...REQUEST_ALONE,
  ...LARGE,
  ...WITH_TRAILERS
]
