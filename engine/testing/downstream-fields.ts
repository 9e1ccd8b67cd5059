/** Cases of engine/downstream/contract.test.ts: header fields, targets, versions, trailers. */
import assert from 'node:assert/strict'
import { STOP } from '#engine/contract/filter.ts'
import { answering, type Case, GET, OK, passOne, refused, upstream } from './downstream-support.ts'
import { exchangeRaw, rawClient } from './raw.ts'

/** A request with these header lines. */
const withFields = (lines: string) => `GET /p?q=%20 HTTP/1.1\r\nHost: Example.com\r\n${lines}\r\n`

export const FIELD_CASES: Record<string, Case> = {
  async 'request fields arrive as they were sent'(open) {
    const lines = 'X-One: a\r\nx-two: b\tc\r\nX-One: d\r\nX-Empty:\r\nCookie: a=1; b=2\r\n'
    const { seen } = await passOne(open, OK, withFields(lines), 'ok')
    assert.equal(seen, `GET /p?q=%20 HTTP/1.1\r\nHost: example.com\r\n${lines}\r\n`)
  },

  async 'values of request fields may hold any byte'(open) {
    const { seen } = await passOne(open, OK, withFields('X-Name: \xe9t\xe9\r\n'), 'ok')
    assert.match(seen, /X-Name: \xe9t\xe9\r\n/)
  },

  async 'response fields arrive as they were sent'(open) {
    const lines = 'X-One: a\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nx-two: \xe9\r\nServer: s\r\n'
    const { client } = await passOne(open, `HTTP/1.1 299 \r\n${lines}Content-Length: 2\r\n\r\nok`, GET, 'ok')
    assert.ok(client.startsWith(`HTTP/1.1 299 \r\n${lines}`), client)
    assert.equal(client.match(/^Content-Length: 2\r$/gim)?.length, 1)
  },

  async 'the Date of the upstream passes'(open) {
    const date = 'Date: Tue, 01 Jan 2030 00:00:00 GMT\r\n'
    const { client } = await passOne(open, `HTTP/1.1 200 OK\r\n${date}Content-Length: 2\r\n\r\nok`, GET, 'ok')
    assert.ok(client.includes(date))
    assert.equal(client.match(/^date:/gim)?.length, 1)
  },

  async 'fields of one connection do not pass'(open) {
    const hop = 'Keep-Alive: timeout=5\r\nTE: trailers\r\nProxy-Connection: x\r\nX-Mine: 1\r\nX-Yours: 2\r\n'
    const answer = `HTTP/1.1 200 OK\r\nConnection: x-mine\r\n${hop}Content-Length: 2\r\n\r\nok`
    const { client, seen } = await passOne(open, answer, withFields(`Connection: keep-alive, X-Mine\r\n${hop}`), 'ok')
    for (const text of [client, seen]) {
      assert.doesNotMatch(text, /keep-alive|proxy-connection|x-mine|^te:/im)
      assert.match(text, /x-yours: 2\r\n/i)
    }
  },

  async 'an Upgrade that nobody serves does not pass'(open) {
    const { seen } = await passOne(
      open,
      OK,
      withFields('Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n'),
      'ok'
    )
    assert.doesNotMatch(seen, /upgrade|http2/i)
  },

  async 'a local reply is whole, and the connection goes on'(open) {
    const server = await answering(OK)
    const headers = ['X-Why: because']
    const stack = await open({
      upstream: server.port,
      requestHooks: [
        (ex) => {
          ex.localReply = { status: 418, body: 'no tea\n', contentType: null, headers: ['X-Why', 'because'] }
          return STOP
        }
      ]
    })
    const client = await rawClient(stack.port)
    for (let n = 1; n <= 2; n++) {
      client.send(GET)
      await client.until(new RegExp(`(?:[\\s\\S]*?\r\n\r\nno tea\n){${n}}`))
    }
    assert.match(client.received, /^HTTP\/1.1 418 /)
    assert.ok(client.received.includes(headers[0]!))
    assert.equal(client.received.match(/^content-length: 7\r$/gim)?.length, 2)
    assert.equal(server.accepted(), 0)
    client.close()
  },

  async 'the absolute form and OPTIONS * are understood'(open) {
    const { seen } = await passOne(open, OK, 'GET http://b.example/x HTTP/1.1\r\nHost: a\r\n\r\n', 'ok')
    assert.match(seen, /^GET \/x HTTP\/1.1\r\nHost: b.example\r\n/)
    const star = await passOne(open, OK, 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 'ok')
    assert.match(star.seen, /^OPTIONS \* /)
  },

  async 'HTTP/1.0 is served'(open) {
    const { client } = await passOne(open, OK, 'GET / HTTP/1.0\r\nHost: a\r\n\r\n', 'ok')
    assert.match(client, /^HTTP\/1.1 200 /)
  },

  async 'interim responses pass'(open) {
    const answer = `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`
    const { client } = await passOne(open, answer, GET, 'ok')
    assert.match(client, /^HTTP\/1.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1.1 200 OK\r\n/)
  },

  async 'trailers of responses pass'(open) {
    const answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n'
    const asks = GET.replace('\r\n\r\n', '\r\nTE: trailers\r\n\r\n')
    const { client } = await passOne(open, answer, asks, /\r\n0\r\n[\s\S]*\r\n\r\n$/)
    assert.match(client, /\r\n0\r\nX-Sum: 1\r\n\r\n$/)
  },

  async 'trailers of requests pass'(open) {
    const server = await upstream(async (peer) => {
      await peer.until(/\r\n0\r\n[\s\S]*\r\n\r\n$/)
      peer.send(OK)
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n'
    client.send(`${head}2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n`)
    await client.until('ok')
    client.close()
  },

  async 'the head of a stream leaves before its first byte'(open) {
    const server = await upstream(async (peer) => {
      await peer.until('\r\n\r\n')
      peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send(GET)
    await client.until('\r\n\r\n')
    client.close()
  },

  async 'requests that are framed ambiguously are refused'(open) {
    const post = 'POST / HTTP/1.1\r\nHost: a\r\n'
    await refused(open, `${post}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`, 400)
    await refused(open, `${post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400)
    await refused(open, `${post}Content-Length: +3\r\n\r\nabc`, 400)
    await refused(open, `${post}Host: b\r\n\r\n`, 400)
    await refused(open, 'GET / HTTP/1.1\r\nX: 1\r\n\r\n', 400)
    await refused(open, 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 400)
    await refused(open, 'GET /#x HTTP/1.1\r\nHost: a\r\n\r\n', 400)
  },

  async 'codings and expectations that are not known are refused'(open) {
    await refused(open, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501)
    await refused(open, 'POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n', 417)
    await refused(open, 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n', 501)
  },

  async 'chunks that are framed badly are refused'(open) {
    const server = await answering(OK)
    const stack = await open({ upstream: server.port })
    const text = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 x\r\na\r\n0\r\n\r\n'
    assert.match(await exchangeRaw(stack.port, text), /^HTTP\/1.1 400 /)
  }
}
