/** What a client may not send: refused by status, with the connection closed and nothing sent upstream. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import tls from 'node:tls'
import { type Origin, startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'

const HOST = 'Host: a.test\r\n'
const get = (headers: string, target = '/') => `GET ${target} HTTP/1.1\r\n${headers}\r\n`
const post = (headers: string, body = '') => `POST / HTTP/1.1\r\n${HOST}${headers}\r\n${body}`
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body)

/** name, bytes, status of the refusal. */
const REFUSED: readonly (readonly [string, string, number])[] = [
  ['length and coding', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
  ['coding and length', post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'), 400],
  ['length and identity coding', post('Content-Length: 5\r\nTransfer-Encoding: identity\r\n', 'hello'), 400],
  ['the same length twice', post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'), 400],
  ['two lengths', post('Content-Length: 5\r\nContent-Length: 6\r\n', 'hello'), 400],
  ['a list of lengths', post('Content-Length: 5, 5\r\n', 'hello'), 400],
  ['a length with plus', post('Content-Length: +5\r\n', 'hello'), 400],
  ['a negative length', post('Content-Length: -1\r\n', 'hello'), 400],
  ['a hexadecimal length', post('Content-Length: 0x5\r\n', 'hello'), 400],
  ['a length with a blank inside', post('Content-Length: 5 5\r\n', 'hello'), 400],
  ['an empty length', post('Content-Length: \r\n', 'hello'), 400],
  ['a length of twenty digits', post('Content-Length: 18446744073709551617\r\n', 'hello'), 400],
  ['a length beyond exact integers', post('Content-Length: 9007199254740993\r\n', 'hello'), 400],
  ['identity coding', post('Transfer-Encoding: identity\r\n'), 501],
  ['gzip coding', post('Transfer-Encoding: gzip\r\n'), 501],
  ['gzip and chunked', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 501],
  ['chunked in a list twice', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'), 400],
  ['chunked in two fields', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
  ['chunked, then identity', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'), 400],
  ['xchunked', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), 501],
  ['chunked with a vertical tab', post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n'), 400],
  ['chunked with a tab behind', post('Transfer-Encoding: chunked\t\r\n', '0\r\n\r\n'), 400],
  ['chunked folded', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'), 400],
  ['chunked in HTTP/1.0', `POST / HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['obs-fold', get(`${HOST}X: a\r\n b\r\n`), 400],
  ['obs-fold in the first line', get(` X: a\r\n${HOST}`), 400],
  ['an empty folded value', get(`${HOST}X:\r\n\t\r\n`), 400],
  ['bare LF behind the request line', `GET / HTTP/1.1\n${HOST}\r\n`, 505],
  ['bare LF behind a field', 'GET / HTTP/1.1\r\nHost: a.test\nX: 1\r\n\r\n', 400],
  ['bare LF at the end of the head', `GET / HTTP/1.1\r\n${HOST}\n`, 400],
  ['bare CR in a value', get(`${HOST}X: a\rY: b\r\n`), 400],
  ['bare CR as the end of a field', `GET / HTTP/1.1\r\nHost: a.test\rX: 1\r\n\r\n`, 400],
  ['bare LF before the request line', `\n${get(HOST)}`, 400],
  ['bare CR before the request line', `\r${get(HOST)}`, 400],
  ['NUL in a name', get(`${HOST}X\0: a\r\n`), 400],
  ['NUL in a value', get(`${HOST}X: a\0b\r\n`), 400],
  ['NUL in the target', get(HOST, '/a\0b'), 400],
  ['a control character in a value', get(`${HOST}X: a\x07b\r\n`), 400],
  ['DEL in a value', get(`${HOST}X: a\x7fb\r\n`), 400],
  ['a tab in the target', get(HOST, '/a\tb'), 400],
  ['a space in the target', get(HOST, '/a b'), 400],
  ['no Host', get('X: 1\r\n'), 400],
  ['no field at all', get(''), 400],
  ['two Hosts', get(`${HOST}Host: b.test\r\n`), 400],
  ['the same Host twice', get(HOST + HOST), 400],
  ['Host with a comma', get('Host: a.test,b.test\r\n'), 400],
  ['Host with user information', get('Host: user@a.test\r\n'), 400],
  ['Host with a space', get('Host: a.test b.test\r\n'), 400],
  ['Host with a slash', get('Host: a.test/x\r\n'), 400],
  ['Host with a fragment', get('Host: a.test#x\r\n'), 400],
  ['Host with a bad port', get('Host: a.test:http\r\n'), 400],
  ['Host with an open bracket', get('Host: [::1\r\n'), 400],
  ['asterisk for GET', get(HOST, '*'), 400],
  ['asterisk with more', `OPTIONS *x HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a relative target', get(HOST, 'index.html'), 400],
  ['another scheme', get(HOST, 'ftp://a.test/'), 400],
  ['an absolute target without host', get(HOST, 'http:///x'), 400],
  ['an absolute target with user information', get(HOST, 'http://user@a.test/x'), 400],
  ['a fragment', get(HOST, '/a#b'), 400],
  ['a fragment in the query', get(HOST, '/a?b#c'), 400],
  ['a blank in a name', get(`${HOST}X Y: 1\r\n`), 400],
  ['a blank before the colon', get(`${HOST}X : 1\r\n`), 400],
  ['an empty name', get(`${HOST}: 1\r\n`), 400],
  ['a field without colon', get(`${HOST}X\r\n`), 400],
  ['brackets in a name', get(`${HOST}X[]: 1\r\n`), 400],
  ['an unknown expectation', post('Expect: a-cookie\r\nContent-Length: 5\r\n', 'hello'), 417],
  ['two expectations', post('Expect: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n', 'hello'), 417],
  ['a method that begins like the preface of HTTP/2', `PRIX / HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['HTTP/0.9', 'GET /\r\n\r\n', 505],
  ['HTTP/0.9 spelled out', `GET / HTTP/0.9\r\n${HOST}\r\n`, 505],
  ['HTTP/1.2', `GET / HTTP/1.2\r\n${HOST}\r\n`, 505],
  ['HTTP/2.0', `GET / HTTP/2.0\r\n${HOST}\r\n`, 505],
  ['a lower-case version', `GET / http/1.1\r\n${HOST}\r\n`, 400],
  ['RTSP', `OPTIONS / RTSP/1.0\r\n${HOST}\r\n`, 400],
  ['RTSP without fields', 'SETUP / RTSP/1.0\r\n\r\n', 400],
  ['ICE', `SOURCE / ICE/1.1\r\n${HOST}\r\n`, 400],
  ['an unknown method', `FOO / HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['a method in lower case', `get / HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['CONNECT', 'CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n', 405],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['a byte that only begins like one', '\x16\x04\x01', 501]
]

/** Bodies that break after a good head: whatever went upstream must not be taken for a whole request. */
const BROKEN_BODIES: readonly (readonly [string, string])[] = [
  ['an empty chunk size', '\r\nhello\r\n0\r\n\r\n'],
  ['a chunk size with plus', '+5\r\nhello\r\n0\r\n\r\n'],
  ['a negative chunk size', '-5\r\nhello\r\n0\r\n\r\n'],
  ['a chunk size with 0x', '0x5\r\nhello\r\n0\r\n\r\n'],
  ['a chunk size of 17 digits', '10000000000000005\r\nhello\r\n0\r\n\r\n'],
  ['a blank before the chunk size', ' 5\r\nhello\r\n0\r\n\r\n'],
  ['a blank behind the chunk size', '5 \r\nhello\r\n0\r\n\r\n'],
  ['a chunk that is longer than its size', '5\r\nhello!\r\n0\r\n\r\n'],
  ['no CRLF behind a chunk', '5\r\nhello0\r\n\r\n'],
  ['LF alone behind a chunk size', '5\nhello\r\n0\r\n\r\n'],
  ['LF alone behind a chunk', '5\r\nhello\n0\r\n\r\n'],
  ['LF in an extension', '5;a\nhello\r\n0\r\n\r\n'],
  ['CR alone behind a chunk size', '5\rhello\r\n0\r\n\r\n'],
  ['a line end in a quoted extension', '5;a="\r\n"\r\nhello\r\n0\r\n\r\n'],
  ['NUL in an extension', '5;a\0\r\nhello\r\n0\r\n\r\n'],
  ['LF alone behind the last chunk', '5\r\nhello\r\n0\r\n\n'],
  ['a folded trailer', '5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n'],
  ['a trailer with a blank before the colon', '5\r\nhello\r\n0\r\nX : a\r\n\r\n']
]

for (const sockets of ['handles', 'net'] as const) {
  describe(`requests that are refused, over ${sockets}`, () => {
    let origin: Origin
    let stack: Stack
    before(async () => {
      origin = await startOrigin()
      stack = await startStack({ upstream: origin.port, sockets })
    })
    after(() => {
      stack.close()
      origin.close()
    })

    it('TLS at a port without TLS is recognised, and logged', async () => {
      const code = await new Promise((resolve) => {
        const socket = tls.connect({ port: stack.port, host: '127.0.0.1', rejectUnauthorized: false })
        socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      })
      equal(code, 'ERR_SSL_WRONG_VERSION_NUMBER')
      // A hello that comes byte by byte.
      deepEqual(statuses(await exchangeRaw(stack.port, '\x16')), [400])
      await stack.recorded(2)
      deepEqual(
        stack.records.map(({ error }) => error),
        ['TLS_ON_PLAIN_PORT', 'TLS_ON_PLAIN_PORT']
      )
    })

    for (const [name, bytes, status] of REFUSED) {
      it(`${name}: ${status}`, async () => {
        // A second request behind it: were the first one framed in another way, it would be answered too.
        const answer = await exchangeRaw(stack.port, bytes + get(HOST, '/smuggled'))
        deepEqual(statuses(answer), [status])
        match(answer, /\r\nConnection: close\r\n/)
        equal(origin.seen.length, 0)
      })
    }

    for (const [name, body] of BROKEN_BODIES) {
      it(`${name}: 400, and no whole request upstream`, async () => {
        const answer = await exchangeRaw(stack.port, chunked(body) + get(HOST, '/smuggled'))
        deepEqual(statuses(answer), [400])
        equal(origin.seen.length, 0)
      })
    }

    it('leaves no connection and no exchange behind', async () => {
      await stack.recorded(REFUSED.length + BROKEN_BODIES.length)
      equal(stack.upstream.counts().busy, 0)
      ok(stack.records.every(({ error }) => error !== null))
    })
  })
}
