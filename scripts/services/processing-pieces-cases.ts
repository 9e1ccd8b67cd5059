/** extProc: what becomes of bodies whose pieces are changed one by one, in both of the modes that stream. */
import { answerTo, mutation, type Processor } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type Case, group } from './case.ts'
import { immediately, instead, on, POST, text } from './processing-parts.ts'
import type { Reply } from './servers.ts'
import { processing, SHORT } from './setups.ts'

const STREAMED = processing({ mode: { request_body_mode: 'STREAMED', response_body_mode: 'STREAMED' } })
const LATE = processing({ timeout: SHORT, mode: { request_body_mode: 'STREAMED' } })
const STREAMED_TRAILERS = processing({
  mode: {
    request_body_mode: 'STREAMED',
    response_body_mode: 'STREAMED',
    request_trailer_mode: 'SEND',
    response_trailer_mode: 'SEND'
  }
})
const DUPLEX_MODE = {
  request_body_mode: 'FULL_DUPLEX_STREAMED',
  response_body_mode: 'FULL_DUPLEX_STREAMED',
  request_trailer_mode: 'SEND',
  response_trailer_mode: 'SEND'
}
const DUPLEX = processing({ mode: DUPLEX_MODE })

type Change = (piece: Buffer) => Buffer
const same: Change = (piece) => piece
const upper: Change = (piece) => Buffer.from(piece.toString('latin1').toUpperCase(), 'latin1')
const doubled: Change = (piece) => Buffer.concat([piece, piece])

/** Changes each piece by itself: what comes of the whole does not depend on where pieces end. */
const eachPiece =
  (change: Change): Processor =>
  (request) => {
    const { request: part } = request
    if (part?.$case !== 'requestBody' && part?.$case !== 'responseBody') return [answerTo(request)]
    return [answerTo(request, { bodyMutation: { mutation: { $case: 'body', value: change(part.value.body) } } })]
  }

/** Sends what becomes of each piece. */
const duplex =
  (change: Change): Processor =>
  (request) => {
    const { request: part } = request
    if (part?.$case !== 'requestBody' && part?.$case !== 'responseBody') return [answerTo(request)]
    const { body, endOfStream } = part.value
    const value = { body: change(body), endOfStream, endOfStreamWithoutMessage: false, grpcMessageCompressed: false }
    return [answerTo(request, { bodyMutation: { mutation: { $case: 'streamedResponse', value } } })]
  }

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
const large: Reply = (response) => {
  response.sendDate = false
  response.writeHead(200, ['Content-Type', 'text/plain']).end(Buffer.alloc(LARGE_BYTES, 'a'))
}
const empty: Reply = (response) => {
  response.sendDate = false
  response.writeHead(200, ['Content-Length', '0']).end()
}
const LARGE_BYTES = 200_000
const hello = { ...POST, body: text('hello') }
const pieces = { ...POST, isChunked: true, body: [Buffer.from('he'), Buffer.from('llo')] }
const long = { ...POST, body: [Buffer.alloc(LARGE_BYTES, 'a')] }
const TE = { headers: ['TE', 'trailers'] }
const sent = { ...POST, ...TE, isChunked: true, body: text('hello'), trailers: { 'x-t': '1' } }
const html = { headers: mutation({ 'content-type': 'text/html' }), body: Buffer.from('bad') }
const changedTrailers = { headerMutation: mutation({ 'x-t': '2', 'x-n': '3' }) }

/** With each of the two modes; `through` makes the processor of a change. */
const both = (through: (change: Change) => Processor) => ({
  'nothing changed': { request: hello, process: through(same) },
  'nothing changed over HTTP/2': { request: { ...hello, http: 2 as const }, process: through(same) },
  'both bodies changed': { request: hello, process: through(upper) },
  'both bodies changed over HTTP/2': { request: { ...hello, http: 2 as const }, process: through(upper) },
  'both bodies longer': { request: hello, process: through(doubled) },
  'both bodies gone': { request: hello, process: through(() => Buffer.alloc(0)) },
  'a request in chunks': { request: pieces, process: through(upper) },
  'a response in chunks': { backend: chunks, process: through(upper) },
  'no body of a request': { process: through(upper) },
  'an empty request': { request: { ...POST, body: [] }, process: through(upper) },
  'an empty response': { backend: empty, process: through(upper) },
  HEAD: { request: { method: 'HEAD' }, process: through(upper) },
  '200,000 bytes of a request': { request: long, process: through(upper) },
  '200,000 bytes of a request over HTTP/2': { request: { ...long, http: 2 as const }, process: through(upper) },
  '200,000 bytes of a response': { backend: large, process: through(upper) },
  'octets that are no text': { request: { ...POST, body: [Buffer.from([0, 0xff, 0x80])] }, process: through(same) },
  'an answer at once, to the head': {
    request: hello,
    process: immediately('requestHeaders', 403, html)
  },
  'an answer at once, in place of the response': { process: immediately('responseHeaders', 502, html) }
})

export const PROCESSING_PIECES: readonly Case[] = [
  ...group('extProc, STREAMED', STREAMED, {
    ...both(eachPiece),
    'a head changed in front of its body': {
      request: hello,
      process: on('requestHeaders', { headerMutation: mutation({ 'x-n': '1' }) })
    }
  }),
  ...group('extProc, STREAMED, failure', LATE, {
    'an answer that is too late': { request: hello, process: instead('requestBody', () => []), isOwnWords: true }
  }),
  ...group('extProc, STREAMED with trailers', STREAMED_TRAILERS, {
    'of a request': { request: sent, process: eachPiece(upper) },
    'of a response': { request: TE, backend: withTrailers, process: eachPiece(upper) },
    'of a request, changed': { request: sent, process: on('requestTrailers', changedTrailers) },
    'of a response, changed': { request: TE, backend: withTrailers, process: on('responseTrailers', changedTrailers) }
  }),
  ...group('extProc, FULL_DUPLEX_STREAMED', DUPLEX, {
    ...both(duplex),
    'trailers of a request': { request: sent, process: duplex(upper) },
    'trailers of a response': { request: TE, backend: withTrailers, process: duplex(upper) }
  })
]
