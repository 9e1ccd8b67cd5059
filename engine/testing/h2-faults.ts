/** Ways to break HTTP/2 (RFC 9113, RFC 7541), one after the other, for servers that are compared. */
import { frameHead, headersFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  PADDED,
  PING,
  PRIORITY,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  WITH_PRIORITY
} from '#engine/http2/protocol.ts'
import { type H2Client, requestFields } from './h2-client.ts'

type Field = readonly [string, string]

export interface Fault {
  readonly name: string
  /** What is sent; stream 1 is the one that is asked about. */
  send(client: H2Client): void
}

const ZERO4 = '\0\0\0\0'
const frame = (type: number, flags: number, stream: number, payload: string): string =>
  frameHead(payload.length, type, flags, stream) + payload
const setting = (id: number, value: string): string => frame(SETTINGS, 0, 0, `\0${String.fromCharCode(id)}${value}`)

/** A request on stream 1 whose fields are `of` what a good one has. */
const request = (name: string, of: (fields: Field[]) => readonly Field[], endStream = true): Fault => ({
  name,
  send: (client) => client.requestRaw(1, of(requestFields('GET', '/')), endStream)
})
const more = (name: string, ...added: Field[]): Fault => request(name, (fields) => [...fields, ...added])
/** Frames behind the beginning of a POST on stream 1. */
const within = (name: string, text: (client: H2Client) => string): Fault => ({
  name,
  send(client) {
    client.request(1, requestFields('POST', '/'), false)
    client.send(text(client))
  }
})
const alone = (name: string, text: (client: H2Client) => string): Fault => ({
  name,
  send: (client) => client.send(text(client))
})
const get = (client: H2Client): string => client.block(requestFields('GET', '/'))

export const FAULTS: readonly Fault[] = [
  // Requests (section 8).
  more('a field name in upper case', ['X-Upper', '1']),
  more('a field name with a space', ['x y', '1']),
  more('an empty field name', ['', '1']),
  more('a value with a line end', ['x-a', 'a\r\nb: c']),
  more('a value with NUL', ['x-a', 'a\0b']),
  more('connection', ['connection', 'close']),
  more('keep-alive', ['keep-alive', '1']),
  more('proxy-connection', ['proxy-connection', 'close']),
  more('transfer-encoding', ['transfer-encoding', 'chunked']),
  more('upgrade', ['upgrade', 'h2c']),
  more('te of something else', ['te', 'gzip']),
  more('an unknown pseudo-header field', [':x', '1']),
  more('a pseudo-header field behind others', ['x-a', '1'], [':path', '/b']),
  more('a pseudo-header field of answers', [':status', '200']),
  request('no method', (fields) => fields.slice(1)),
  request('no scheme', (fields) => fields.filter(([name]) => name !== ':scheme')),
  request('no path', (fields) => fields.filter(([name]) => name !== ':path')),
  request('an empty path', (fields) => fields.map(([name, value]) => [name, name === ':path' ? '' : value])),
  request('two methods', (fields) => [...fields, [':method', 'GET']]),
  request('two paths', (fields) => [...fields, [':path', '/']]),
  request('a path that is none', (fields) => fields.map(([name, value]) => [name, name === ':path' ? 'x' : value])),
  more('content-length without a body', ['content-length', '3']),
  more('two lengths', ['content-length', '0'], ['content-length', '1']),
  more('a length that is no number', ['content-length', 'x']),
  {
    name: 'a body longer than content-length',
    send(client) {
      client.request(1, [...requestFields('POST', '/'), ['content-length', '2']], false)
      client.data(1, 'abc', true)
    }
  },
  {
    name: 'a body shorter than content-length',
    send(client) {
      client.request(1, [...requestFields('POST', '/'), ['content-length', '4']], false)
      client.data(1, 'abc', true)
    }
  },
  within('a pseudo-header field in trailers', (client) =>
    headersFrame(client.block([[':path', '/']]), END_STREAM, 1, 99)
  ),
  within('trailers that end nothing', (client) => headersFrame(client.block([['x-a', '1']]), 0, 1, 99)),
  // Streams (section 5.1).
  alone('an even stream', (client) => headersFrame(get(client), END_STREAM, 2, 16_384)),
  alone('HEADERS on stream 0', (client) => headersFrame(get(client), END_STREAM, 0, 16_384)),
  alone('a lower stream than before', (client) => {
    const text = headersFrame(get(client), END_STREAM, 5, 16_384)
    return text + headersFrame(get(client), END_STREAM, 3, 16_384)
  }),
  alone('DATA on an idle stream', () => frame(DATA, END_STREAM, 1, 'a')),
  alone('DATA on stream 0', () => frame(DATA, 0, 0, 'a')),
  alone('RST_STREAM on an idle stream', () => frame(RST_STREAM, 0, 1, ZERO4)),
  alone('RST_STREAM on stream 0', () => frame(RST_STREAM, 0, 0, ZERO4)),
  alone('WINDOW_UPDATE on an idle stream', () => windowUpdateFrame(1, 1)),
  within('a stream that depends on itself', () => frame(PRIORITY, 0, 1, '\0\0\0\x01\0')),
  // Sizes and flags (sections 4.2 and 6).
  within('RST_STREAM of three bytes', () => frame(RST_STREAM, 0, 1, '\0\0\0')),
  within('WINDOW_UPDATE of three bytes', () => frame(WINDOW_UPDATE, 0, 1, '\0\0\x01')),
  within('WINDOW_UPDATE of nothing', () => windowUpdateFrame(1, 0)),
  alone('WINDOW_UPDATE of nothing for the connection', () => windowUpdateFrame(0, 0)),
  within('a window beyond 2^31-1', () => windowUpdateFrame(1, 0x7fffffff)),
  alone('a window beyond 2^31-1 for the connection', () => windowUpdateFrame(0, 0x7fffffff)),
  within('padding as long as DATA', () => frame(DATA, PADDED | END_STREAM, 1, '\x04abc')),
  alone('padding longer than HEADERS', (client) => {
    const block = get(client)
    return frame(HEADERS, PADDED | END_HEADERS | END_STREAM, 1, `\xff${block}`)
  }),
  alone('a priority that HEADERS have no room for', () => frame(HEADERS, WITH_PRIORITY | END_HEADERS, 1, '\0\0')),
  within('a frame longer than allowed', () => frame(DATA, END_STREAM, 1, 'x'.repeat(16_385))),
  alone('PING of seven bytes', () => frame(PING, 0, 0, '1234567')),
  alone('PING on a stream', () => frame(PING, 0, 1, '12345678')),
  alone('GOAWAY on a stream', () => frame(GOAWAY, 0, 1, ZERO4 + ZERO4)),
  alone('GOAWAY of four bytes', () => frame(GOAWAY, 0, 0, ZERO4)),
  alone('PRIORITY of four bytes', () => frame(PRIORITY, 0, 1, ZERO4)),
  alone('PRIORITY on stream 0', () => frame(PRIORITY, 0, 0, `${ZERO4}\0`)),
  alone('PUSH_PROMISE of a client', (client) => frame(PUSH_PROMISE, END_HEADERS, 1, `\0\0\0\x02${get(client)}`)),
  alone('SETTINGS on a stream', () => frame(SETTINGS, 0, 1, '')),
  alone('SETTINGS of five bytes', () => frame(SETTINGS, 0, 0, '\0\x04\0\0\0')),
  alone('an acknowledgement with something in it', () => frame(SETTINGS, ACK, 0, '\0\x04\0\0\0\0')),
  alone('ENABLE_PUSH of 2', () => setting(2, '\0\0\0\x02')),
  alone('an initial window beyond 2^31-1', () => setting(4, '\x80\0\0\0')),
  alone('a frame size below the least', () => setting(5, '\0\0\x3f\xff')),
  alone('a frame size beyond the most', () => setting(5, '\x01\0\0\0')),
  // Header blocks (sections 4.3 and 6.10, RFC 7541).
  alone('CONTINUATION of nothing', (client) => frame(CONTINUATION, END_HEADERS, 1, get(client))),
  alone('a frame between HEADERS and CONTINUATION', (client) => {
    const block = get(client)
    const ping = frame(PING, 0, 0, '12345678')
    return frame(HEADERS, END_STREAM, 1, block.slice(0, 2)) + ping + frame(CONTINUATION, END_HEADERS, 1, block.slice(2))
  }),
  alone('CONTINUATION of another stream', (client) => {
    const block = get(client)
    return frame(HEADERS, END_STREAM, 1, block.slice(0, 2)) + frame(CONTINUATION, END_HEADERS, 3, block.slice(2))
  }),
  alone('field 0 of the table', () => frame(HEADERS, END_HEADERS | END_STREAM, 1, '\x80')),
  alone('a field that the table does not have', () => frame(HEADERS, END_HEADERS | END_STREAM, 1, '\xff\x40')),
  alone('a block that is cut off', () => frame(HEADERS, END_HEADERS | END_STREAM, 1, '\x82\x00\x05ab')),
  alone('a Huffman code that is none', () =>
    frame(HEADERS, END_HEADERS | END_STREAM, 1, '\x82\0\x01a\x84\xff\xff\xff\xff')
  ),
  alone('a table larger than allowed', () => frame(HEADERS, END_HEADERS | END_STREAM, 1, '\x3f\xe2\x1f\x82')),
  alone('a size of the table behind a field', () => frame(HEADERS, END_HEADERS | END_STREAM, 1, '\x82\x20'))
]
