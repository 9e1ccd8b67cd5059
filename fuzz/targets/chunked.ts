/** The chunk decoder against a second one, written from the grammar of RFC 9112 section 7.1 alone. */
import assert from 'node:assert/strict'
import { REQUEST } from '#engine/http/llhttp.ts'
import { feedEveryWay, INPUT_BYTES_MAX } from '#engine/testing/messages.ts'

export const name = 'chunked'

export const dictionary = [
  '0\r\n',
  '\r\n',
  '5\r\nhello\r\n',
  ';a=b',
  ';a="b"',
  'X: 1\r\n',
  'a\r\n',
  'FF\r\n',
  '00',
  ' ',
  '\n',
  '\r'
]

const HEAD = Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
/** `loose` knows more extensions and sizes than the parser has to take. */
const SIZE = { loose: /([0-9a-f]+)(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n/iy, strict: /([0-9a-f]{1,8})\r\n/iy }
const TRAILERS = {
  loose: /(?:[!#$%&'*+.^_`|~0-9a-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/iy,
  strict: /\r\n/y
}

interface Decoded {
  readonly body: string
  /** Offset behind the last byte. */
  readonly end: number
}

/** The body that starts `text`, or null when it is malformed or not complete. */
function decode(text: string, grammar: 'loose' | 'strict'): Decoded | null {
  const size = SIZE[grammar]
  let body = ''
  let at = 0
  for (;;) {
    size.lastIndex = at
    const found = size.exec(text)
    if (found === null) return null
    at = size.lastIndex
    const length = Number.parseInt(found[1]!, 16)
    if (length === 0) break
    if (at + length + 2 > text.length || text.slice(at + length, at + length + 2) !== '\r\n') return null
    body += text.slice(at, at + length)
    at += length + 2
  }
  const trailers = TRAILERS[grammar]
  trailers.lastIndex = at
  return trailers.test(text) ? { body, end: trailers.lastIndex } : null
}

export function run(data: Buffer): void {
  const input = data.subarray(0, INPUT_BYTES_MAX)
  const text = input.latin1Slice()
  const strict = decode(text, 'strict')
  const loose = decode(text, 'loose')
  // What follows the body would be another request: cut it off, its faults are not of interest here.
  const end = loose?.end ?? input.length
  const { messages, fault, taken } = feedEveryWay(REQUEST, Buffer.concat([HEAD, input.subarray(0, end)]))
  const [message] = messages
  assert.ok(message !== undefined)
  if (message.trailers !== null) {
    assert.equal(message.body, loose?.body)
    assert.equal(taken, HEAD.length + (loose?.end ?? -1))
  }
  if (strict !== null) {
    assert.equal(fault, 0)
    assert.equal(message.body, strict.body)
    assert.notEqual(message.trailers, null)
  }
}
