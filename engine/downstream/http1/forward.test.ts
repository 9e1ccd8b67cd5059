/** What passes from clients to upstreams and back, and in which shape. */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Origin, startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'

const CLOSE = 'Connection: close\r\n'
const HOST = 'Host: a.test\r\n'

for (const sockets of ['handles', 'net'] as const) {
  describe(`requests that pass, over ${sockets}`, () => {
    let origin: Origin
    let stack: Stack
    before(async () => {
      origin = await startOrigin((response, seen) => {
        response.setHeader('Keep-Alive', 'timeout=5')
        response.setHeader('Connection', 'keep-alive, X-Hop')
        response.setHeader('X-Hop', '1')
        response.setHeader('Proxy-Authenticate', 'Basic')
        response.setHeader('X-End', '2')
        if (seen.url === '/trailers') {
          response.setHeader('Trailer', 'X-Sum')
          response.write(seen.body)
          response.addTrailers({ 'X-Sum': '7', 'Set-Cookie': 'stolen=1' })
        } else response.setHeader('Content-Length', seen.body.length)
        response.end(seen.url === '/trailers' ? '' : seen.body)
      })
      stack = await startStack({ upstream: origin.port, sockets })
    })
    beforeEach(() => {
      origin.seen.length = 0
    })
    after(() => {
      stack.close()
      origin.close()
    })

    /** Sends one request; returns the response and what the upstream saw of it. */
    async function send(text: string) {
      const answer = await exchangeRaw(stack.port, text)
      deepEqual(statuses(answer), [200])
      equal(origin.seen.length, 1)
      return { answer, seen: origin.seen[0]! }
    }

    const TARGETS: readonly (readonly [string, string])[] = [
      ['/a/../b', '/b'],
      ['/a/./b', '/a/b'],
      ['/public/../../admin', '/admin'],
      ['/a/%2e%2e/b', '/b'],
      ['/a/%2E%2e/b?x=/../y', '/b?x=/../y'],
      ['/a/.%2e', '/'],
      ['/a/b/..', '/a/'],
      ['/a/...', '/a/...'],
      ['/.hidden', '/.hidden'],
      ['//x', '//x'],
      ['/a%2fb', '/a%2fb'],
      ['http://b.test', '/'],
      ['http://b.test?q', '/?q'],
      ['HTTP://B.test:81/p/../q?r', '/q?r']
    ]
    for (const [target, expected] of TARGETS) {
      it(`target ${target} becomes ${expected}`, async () => {
        const { seen } = await send(`GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)
        equal(seen.url, expected)
      })
    }

    it('prefers the authority of an absolute target to Host', async () => {
      const { seen } = await send(`GET http://B.test:81/ HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)
      deepEqual(seen.headers, ['Host', 'b.test:81'])
    })

    it('passes OPTIONS * and OPTIONS for a whole server', async () => {
      equal((await send(`OPTIONS * HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)).seen.url, '*')
      origin.seen.length = 0
      equal((await send(`OPTIONS http://a.test HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)).seen.url, '*')
    })

    it('removes what belongs to one connection, both ways', async () => {
      const { answer, seen } = await send(
        `GET / HTTP/1.1\r\n${HOST}Connection: close, X-Mine, Host, Content-Length\r\nX-Mine: 1\r\nKeep-Alive: 1\r\n` +
          'Proxy-Connection: keep-alive\r\nTE: trailers\r\nProxy-Authorization: Basic eA==\r\nX-Kept: 2\r\n\r\n'
      )
      deepEqual(seen.headers, ['Host', 'a.test', 'X-Kept', '2'])
      doesNotMatch(answer, /x-hop|keep-alive|proxy-authenticate/i)
      match(answer, /X-End: 2\r\n/)
    })

    it('lets a client strip neither Host nor Content-Length from its own request', async () => {
      const { answer, seen } = await send(
        `POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\nConnection: content-length, host, close\r\n\r\nhello`
      )
      equal(seen.body, 'hello')
      ok(seen.headers.includes('a.test'))
      ok(answer.endsWith('hello'))
    })

    it('does not pass on an upgrade to another HTTP, however it is written', async () => {
      for (const upgrade of ['Upgrade: h2c\r\n', 'Upgrade: h2c\r\nUpgrade: h2c\r\n']) {
        origin.seen.length = 0
        const { seen } = await send(
          `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade, HTTP2-Settings, close\r\n${upgrade}HTTP2-Settings: AAMAAABk\r\n\r\n`
        )
        deepEqual(seen.headers, ['Host', 'a.test'])
      }
    })

    it('relays a chunked body with its trailers, without those that must not be trailers', async () => {
      const { answer, seen } = await send(
        `POST /trailers HTTP/1.1\r\n${HOST}${CLOSE}TE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n` +
          '5;ext="v"\r\nhello\r\n001\r\n!\r\n0\r\nX-Check: 1\r\nKeep-Alive: 9\r\nAuthorization: x\r\nEmpty:\r\nHost: b\r\n\r\n'
      )
      equal(seen.body, 'hello!')
      deepEqual(seen.trailers, ['X-Check', '1', 'Empty', ''])
      match(answer, /\r\n0\r\nX-Sum: 7\r\n\r\n$/)
    })

    it('relays 100 Continue to a client that waits for it', async () => {
      const client = await rawClient(stack.port)
      client.send(`POST / HTTP/1.1\r\n${HOST}${CLOSE}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`)
      await client.until('HTTP/1.1 100 Continue\r\n\r\n')
      client.send('hello')
      const answer = await client.untilEnd()
      deepEqual(statuses(answer), [100, 200])
      client.close()
    })

    it('serves HTTP/1.0: keep-alive when asked for, no chunks, no interim answers', async () => {
      const client = await rawClient(stack.port)
      client.send(`GET /1 HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`)
      await client.until('\r\n\r\n')
      match(client.received, /\r\nConnection: keep-alive\r\n/)
      client.send('POST /trailers HTTP/1.0\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello')
      const answer = await client.untilEnd()
      deepEqual(statuses(answer), [200, 200])
      doesNotMatch(answer, /transfer-encoding/i)
      ok(answer.endsWith('\r\n\r\nhello'))
      client.close()
    })

    it('keeps the head together when an empty field stands before one that is dropped', async () => {
      const { answer, seen } = await send(
        `POST / HTTP/1.1\r\n${HOST}Empty:\r\n${CLOSE}Blank: \r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`
      )
      equal(seen.body, 'hello')
      deepEqual(seen.headers.slice(2), ['Empty', '', 'Blank', '', 'Transfer-Encoding', 'chunked'])
      ok(answer.endsWith('\r\n\r\nhello'))
    })

    it('passes TRACE and HEAD like any other method', async () => {
      equal((await send(`TRACE / HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)).seen.method, 'TRACE')
      origin.seen.length = 0
      const { answer } = await send(`HEAD / HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)
      ok(answer.endsWith('\r\n\r\n'))
    })

    it('gives the same result wherever the request is split', async () => {
      const request =
        `\r\nPOST /p?q HTTP/1.1\r\nhoSt:\ta.test \r\nEmpty:\r\n${CLOSE}X-Long:   value with  blanks \t\r\n` +
        'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n'
      const whole = (await send(request)).seen
      deepEqual(whole.headers.slice(0, 6), ['Host', 'a.test', 'Empty', '', 'X-Long', 'value with  blanks'])
      const client = async (at: number) => {
        const raw = await rawClient(stack.port)
        raw.socket.write(request.slice(0, at), 'latin1', () => setImmediate(() => raw.send(request.slice(at))))
        const answer = await raw.untilEnd()
        raw.close()
        deepEqual(statuses(answer), [200], `split at ${at}`)
      }
      origin.seen.length = 0
      await Promise.all(Array.from({ length: request.length - 1 }, (_, at) => client(at + 1)))
      equal(origin.seen.length, request.length - 1)
      for (const seen of origin.seen) deepEqual(seen, whole)
    })
  })
}
