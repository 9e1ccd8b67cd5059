/**
 * The situations that uNetworking/h1spec checks, with the outcomes that it accepts, against the stack in front
 * of an upstream that echoes bodies. Written from its list; none of its code is here.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Origin, startOrigin, statuses } from './origin.ts'
import { rawClient } from './raw.ts'
import { type Stack, startStack } from './stack.ts'

const GOOD = 'GET / HTTP/1.1\r\nHost: example.com\r\n\r\n'

/** A complete request, cut somewhere: the server must wait for the rest and then answer. */
const CUT_AT: readonly (readonly [string, string])[] = [
  ['in the method', 'G'],
  ['behind the method', 'GET '],
  ['in the target', 'GET /hello'],
  ['behind the target', 'GET /hello '],
  ['in the version', 'GET /hello HTTP'],
  ['behind the version', 'GET /hello HTTP/1.1'],
  ['in the line end of the request line', 'GET /hello HTTP/1.1\r'],
  ['behind the request line', 'GET /hello HTTP/1.1\r\n'],
  ['in a field name', 'GET /hello HTTP/1.1\r\nHos'],
  ['behind the colon', 'GET /hello HTTP/1.1\r\nHost:'],
  ['before the value', 'GET /hello HTTP/1.1\r\nHost: '],
  ['behind the value', 'GET /hello HTTP/1.1\r\nHost: localhost'],
  ['in the line end of a field', 'GET /hello HTTP/1.1\r\nHost: localhost\r'],
  ['before the empty line', 'GET /hello HTTP/1.1\r\nHost: localhost\r\n'],
  ['in the empty line', 'GET /hello HTTP/1.1\r\nHost: localhost\r\n\r']
]
const WHOLE = 'GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n'

const field = (line: string) => GOOD.replace('\r\n\r\n', `\r\n${line}\r\n\r\n`)
const post = (fields: string, body: string) => `POST / HTTP/1.1\r\nHost: example.com\r\n${fields}\r\n\r\n${body}`
const CHUNKS = 'c\r\nHellO world1\r\n0\r\n\r\n'
const CLIENT_ERROR = [400, 499] as const
const ANY_ERROR = [400, 599] as const
const SUCCESS = [200, 299] as const

/** name, request, range of statuses, body when it succeeds. */
const ANSWERED: readonly (readonly [string, string, readonly [number, number], string?])[] = [
  ['no version', 'GET / \r\n\r\n', ANY_ERROR],
  ['an expectation without a body', field('Expect: 100-continue'), SUCCESS],
  ['a plain GET', GOOD, SUCCESS],
  ['a tab before a value, an empty value', 'GET / HTTP/1.1\r\nhoSt:\texample.com\r\nempty:\r\n\r\n', SUCCESS],
  ['brackets in a name', field('X-Invalid[]: test'), CLIENT_ERROR],
  ['no Host', 'GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n', CLIENT_ERROR],
  ['two Hosts', field('Host: example.org'), CLIENT_ERROR],
  ['a negative length that overflows', field('Content-Length: -123456789123456789123456789'), CLIENT_ERROR],
  ['a negative length', field('Content-Length: -1234'), CLIENT_ERROR],
  ['a length of letters', field('Content-Length: abc'), CLIENT_ERROR],
  ['an empty value behind a blank', field('X-Empty-Header: '), SUCCESS],
  ['a control character', field('X-Bad-Control-Char: test\x07'), CLIENT_ERROR],
  ['HTTP/9.9', GOOD.replace('1.1', '9.9'), ANY_ERROR],
  ['something before the method', `Extra line${GOOD}`, ANY_ERROR],
  ['a lone CR in the empty line', 'GET / HTTP/1.1\r\nHost: example.com\r\n\rSome-Header: Test\r\n\r\n', CLIENT_ERROR],
  ['a body with a length', post('Content-Length: 5', 'hello'), SUCCESS, 'hello'],
  ['a body in chunks', post('Transfer-Encoding: chunked', CHUNKS), SUCCESS, 'HellO world1'],
  ['length and coding', post('content-LengtH: 5\r\nTransFer-Encoding: chunked', CHUNKS), CLIENT_ERROR]
]

for (const sockets of ['handles', 'net'] as const) {
  describe(`h1spec, over ${sockets}`, () => {
    let origin: Origin
    let stack: Stack
    let passed = 0
    before(async () => {
      origin = await startOrigin((response, { body }) => {
        response.setHeader('Content-Length', body.length)
        response.end(body)
      })
      stack = await startStack({ upstream: origin.port, sockets })
    })
    after(() => {
      stack.close()
      origin.close()
    })

    for (const [name, part] of CUT_AT) {
      it(`a request cut ${name} waits for its rest`, async () => {
        const client = await rawClient(stack.port)
        client.send(part)
        // A whole exchange on another connection: time enough for a wrong answer to show.
        const other = await rawClient(stack.port)
        other.send(GOOD)
        await other.until('\r\n\r\n')
        other.close()
        equal(client.received, '')
        ok(!client.ended)
        client.send(WHOLE.slice(part.length))
        deepEqual(statuses(await client.until('\r\n\r\n')), [200])
        client.close()
        passed++
      })
    }

    for (const [name, request, [low, high], body] of ANSWERED) {
      it(`${name}: ${low} to ${high}`, async () => {
        const client = await rawClient(stack.port)
        client.send(request)
        const end = body === undefined ? '\r\n\r\n' : `\r\n\r\n${body}`
        const [status] = statuses(await client.until(end))
        ok(status !== undefined && status >= low && status <= high, `${status}`)
        client.close()
        passed++
      })
    }

    it('all of them', (t) => {
      t.diagnostic(`h1spec: ${passed} of ${CUT_AT.length + ANSWERED.length}`)
      equal(passed, 33)
    })
  })
}
