import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf, RequestError, type RequestInput, readDryRequest } from './request.ts'

test('a request is read from a URL, byte for byte', () => {
  const request = readDryRequest({ url: 'HTTP://a.example:8080/a/../b%2F?x=1#no', headers: { 'X-A': 'b' }, body: 'ö' })
  assert.deepEqual(
    { ...request, body: request.body?.toString() },
    {
      ...{ method: 'GET', isTls: false, authority: 'a.example:8080', port: 8080, target: '/a/../b%2F?x=1' },
      ...{ headers: [['X-A', 'b']], body: 'ö', from: '127.0.0.1', httpVersion: '1.1', cert: null }
    }
  )
  assert.equal(
    bytesOf(request).toString(),
    'GET /a/../b%2F?x=1 HTTP/1.1\r\nHost: a.example:8080\r\nX-A: b\r\nContent-Length: 2\r\n\r\nö'
  )
  assert.equal(readDryRequest({ url: 'https://[::1]' }).port, 443)
  assert.equal(readDryRequest({ url: 'http://a?b' }).target, '/?b')
  const own = readDryRequest({
    url: 'http://a/',
    headers: [
      ['host', 'b'],
      ['X', '1'],
      ['X', '2']
    ]
  })
  assert.equal(bytesOf(own).toString(), 'GET / HTTP/1.1\r\nhost: b\r\nX: 1\r\nX: 2\r\n\r\n')
})

test('what is no request, or would be two, is a mistake that says so', () => {
  const url = 'http://a/'
  const cases: readonly (readonly [RequestInput, RegExp])[] = [
    [{}, /^url must be/],
    [{ url: 'a/b' }, /must begin with http/],
    [{ url: 'ftp://a/' }, /must begin with http/],
    [{ url: 'http://' }, /host of the URL/],
    [{ url: 'http://a:0/' }, /port 1 to 65535/],
    [{ url: 'http://a:99999/' }, /port 1 to 65535/],
    [{ url: 'http://u:p@a/' }, /no user/],
    [{ url: 'http://a/ HTTP/1.1\r\nX: y' }, /line break/],
    [{ url: 'http://a\r\n/' }, /line break/],
    [{ url: `http://a/${'x'.repeat(1 << 20)}` }, /more than/],
    [{ url, method: 'GET /x' }, /method/],
    [{ url, method: 7 }, /method/],
    [{ url, headers: { a: 'b\r\nc: d' } }, /line break/],
    [{ url, headers: { a: 'b\0' } }, /line break/],
    [{ url, headers: { 'a b': 'c' } }, /a word/],
    [{ url, headers: [['a']] }, /a word/],
    [{ url, headers: ['a: b'] }, /a word/],
    [{ url, headers: 'a: b' }, /headers must be/],
    [{ url, headers: Array.from({ length: 10_001 }, () => ['a', 'b']) }, /at most 10000/],
    [{ url, headers: { a: 'x'.repeat((1 << 20) + 1) } }, /too long/],
    [{ url, body: {} }, /body must be text/],
    [{ url, from: 'localhost' }, /IP address/],
    [{ url, httpVersion: '3' }, /one of 1\.1, 2, 2-prior-knowledge/],
    [{ url, httpVersion: '2' }, /--http2-prior-knowledge/],
    [{ url: 'https://a/', cert: 'x' }, /in PEM/],
    [{ url: 'https://a/', cert: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }, /in PEM/],
    [{ url: 'https://a/', cert: 7 }, /in PEM/],
    [{ url, form: '::1' } as RequestInput, /"form" is not one of/]
  ]
  for (const [input, message] of cases) {
    assert.throws(
      () => readDryRequest(input),
      (error: Error) => error instanceof RequestError && message.test(error.message),
      `${JSON.stringify(input).slice(0, 80)} ${message}`
    )
  }
})
