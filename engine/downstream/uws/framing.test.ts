/**
 * What uWebSockets.js takes that RFC 9112 forbids, each held against our own parser, which refuses it. The library
 * hands over values without the bytes around them and bodies without their chunks, so we cannot refuse it either: who
 * is in front of such a bind must not read it in another way (docs/design/005-uws-transport.md). When a release of the
 * library is stricter, or laxer, this test and that page change.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import { UWS_STACK } from '#engine/testing/transports.ts'

const HEAD = 'POST /odd HTTP/1.1\r\nHost: a\r\n'
const coded = (value: string) => `${HEAD}Transfer-Encoding:${value}\r\n\r\n0\r\n\r\n`
const sized = (value: string) => `${HEAD}Content-Length:${value}\r\n\r\nhello`
const chunks = (body: string) => `${HEAD}Transfer-Encoding: chunked\r\n\r\n${body}`
const lined = (line: string, body = '') => `${HEAD}${line}\r\n\r\n${body}`

/** Served by uws. */
const TAKEN: Record<string, string> = {
  'a coding with a byte above 7F behind it': coded(' chunked\xff'),
  'a coding with a byte above 7F before it': coded(' \xffchunked'),
  'a coding behind a blank of Latin-1': coded('\xa0chunked'),
  'a coding with a blank of UTF-8 behind it': coded(' chunked\xc2\xa0'),
  'a length with a byte above 7F behind it': sized(' 5\xff'),
  'a length with a byte above 7F before it': sized(' \xff5'),
  'a length with a blank of UTF-8 behind it': sized(' 5\xc2\xa0'),
  'a blank before the size of a chunk': chunks(' 5\r\nhello\r\n0\r\n\r\n'),
  'a blank behind the size of a chunk': chunks('5 \r\nhello\r\n0\r\n\r\n'),
  'no size of a chunk': chunks('\r\nhello\r\n0\r\n\r\n'),
  'a byte above 7F behind the size of a chunk': chunks('5\xff\r\nhello\r\n0\r\n\r\n'),
  'a byte above 7F before the size of a chunk': chunks('\xff5\r\nhello\r\n0\r\n\r\n'),
  'LF behind the size of a chunk': chunks('5\nhello\r\n0\r\n\r\n'),
  'other bytes than CRLF behind a chunk': chunks('5\r\nhelloXX0\r\n\r\n'),
  'LF behind a chunk': chunks('5\r\nhello\n0\r\n\r\n'),
  'LF behind the last chunk': chunks('5\r\nhello\r\n0\n\n'),
  'other bytes than CRLF behind the last chunk': chunks('5\r\nhello\r\n0\r\nXX'),
  'a field without a name': lined(': a'),
  'a length behind a field without a name': lined(': a\r\nContent-Length: 5', 'hello'),
  'a byte above 7F in Host': 'GET /odd HTTP/1.1\r\nHost: a\xff\r\n\r\n'
}

/** Refused, or left without an answer. */
const REFUSED: Record<string, string> = {
  'a coding with a byte above 7F in it': coded(' chu\xa0nked'),
  'a coding with a control character before it': coded(' \x0bchunked'),
  'a coding with a control character behind it': coded(' chunked\x0b'),
  'a coding with DEL behind it': coded(' chunked\x7f'),
  'another coding': coded(' gzip, chunked'),
  'two codings': lined('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', '0\r\n\r\n'),
  'a coding in a name with a byte above 7F': lined('Transfer-Encoding\xff: chunked', '0\r\n\r\n'),
  'a coding behind a blank and before a colon': lined('Transfer-Encoding : chunked', '0\r\n\r\n'),
  'a folded coding': lined('Transfer-Encoding:\r\n chunked', '0\r\n\r\n'),
  'a length with a byte above 7F in it': sized(' 5\xff5'),
  'a length with a sign': sized(' +5'),
  'a negative length': sized(' -5'),
  'a length of another base': sized(' 0x5'),
  'a length with a blank in it': sized(' 5 5'),
  'a list of lengths': sized(' 5, 5'),
  'a length that overflows': sized(' 18446744073709551621'),
  'a length behind a blank and before a colon': lined('Content-Length : 5', 'hello'),
  'two lengths': lined('Content-Length: 5\r\nContent-Length: 0', 'hello'),
  'length and coding': lined('Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
  'a size of a chunk with a sign': chunks('+5\r\nhello\r\n0\r\n\r\n'),
  'a negative size of a chunk': chunks('-5\r\nhello\r\n0\r\n\r\n'),
  'a size of a chunk in C': chunks('0x5\r\nhello\r\n0\r\n\r\n'),
  'a size of a chunk that is no number': chunks('xyz\r\nhello\r\n0\r\n\r\n'),
  'a size of a chunk that overflows': chunks('10000000000000005\r\nhello\r\n0\r\n\r\n'),
  'CR behind the size of a chunk': chunks('5\rXhello\r\n0\r\n\r\n'),
  'lines of LF': 'POST /odd HTTP/1.1\nHost: a\nContent-Length: 5\n\nhello',
  'one line of LF': 'POST /odd HTTP/1.1\r\nHost: a\nContent-Length: 5\r\n\r\nhello',
  'LF in a value': lined('X: a\nContent-Length: 5', 'hello'),
  'CR in a value': lined('X: a\rb'),
  'NUL in a value': lined('X: a\0b'),
  'a byte above 7F in a name': lined('X\xff: a'),
  'a blank in a name': lined('X Y: a'),
  'a line without a colon': lined('Xabc'),
  'a blank before the first name': 'GET /odd HTTP/1.1\r\n Host: a\r\n\r\n',
  'a coding in HTTP/1.0': coded(' chunked').replace('1.1', '1.0')
}

describe('malformed framing', () => {
  let origin: Origin
  let node: Stack
  let uws: Stack
  before(async () => {
    origin = await startOrigin((response) => response.end('ok'))
    node = await startStack({ upstream: origin.port, transport: 'node' })
    uws = await startStack({ upstream: origin.port, ...UWS_STACK })
  })
  after(() => {
    node.close()
    uws.close()
    origin.close()
  })

  for (const [name, text] of Object.entries({ ...TAKEN, ...REFUSED })) {
    test(`${name}: refused by node`, async () => {
      const client = await rawClient(node.port)
      client.send(text)
      match(await client.untilEnd(), /^HTTP\/1\.1 (?:4|5)\d\d /)
      client.close()
    })
  }

  for (const [name, text] of Object.entries(TAKEN)) {
    test(`${name}: uws takes it`, async () => {
      const client = await rawClient(uws.port)
      client.send(text)
      match(await client.until('\r\n\r\n'), /^HTTP\/1\.1 200 /)
      client.close()
    })
  }

  for (const [name, text] of Object.entries(REFUSED)) {
    test(`${name}: uws serves nothing of it`, async () => {
      const seen = origin.seen.length
      const client = await rawClient(uws.port)
      client.send(text)
      // It may say nothing: what it has served by the time that others are served it has served.
      for (let n = 0; n < 3; n++) {
        const other = await rawClient(uws.port)
        other.send('GET /good HTTP/1.1\r\nHost: a\r\n\r\n')
        await other.until('\r\n\r\nok')
        other.close()
      }
      client.close()
      deepEqual(
        origin.seen.slice(seen).map(({ url }) => url),
        ['/good', '/good', '/good']
      )
      equal(client.received.includes(' 200 '), false)
    })
  }
})
