/**
 * Request heads and their framing: cuts change nothing; what is forwarded is made of whole header lines and
 * means the same to the next parser.
 */
import assert from 'node:assert/strict'
import { takeFraming } from '#engine/http/fields.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { REQUEST } from '#engine/http/llhttp.ts'
import { HEAD_OK, HEAD_REFUSED, type Parser } from '#engine/http/llhttp-parser.ts'
import { safeTrailers } from '#engine/http/trailers.ts'
import { checkLines, feed, feedEveryWay, INPUT_BYTES_MAX } from '#engine/testing/messages.ts'

export const name = 'request'

export const dictionary = [
  'GET / HTTP/1.1\r\n',
  'POST ',
  'HTTP/1.0\r\n',
  'Host: a\r\n',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: ',
  'close',
  'keep-alive',
  'Upgrade: h2c\r\n',
  'Empty:\r\n',
  '\r\n',
  '\r\n\r\n',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  'Expect: 100-continue\r\n',
  'TE: trailers\r\n',
  ', ',
  ' ',
  '\t',
  '\0'
]

export function run(data: Buffer): void {
  const input = data.subarray(0, INPUT_BYTES_MAX)
  forwarded.length = 0
  const { messages } = feedEveryWay(REQUEST, input, judge)
  for (const { fields, lines, trailers } of messages) {
    checkLines(lines)
    if (trailers !== null) checkLines(safeTrailers(trailers))
    for (const text of fields) assert.ok(!/[\r\n\0]/.test(text))
  }
  parseForwarded()
}

function judge(parser: Parser, block: HeaderBlock): number {
  if (parser.versionMajor !== 1) return HEAD_REFUSED
  const framing = takeFraming(block)
  const isOdd = framing.length === -2 || (framing.coded && (!framing.chunked || parser.versionMinor === 0))
  if (isOdd || (framing.coded && framing.length >= 0)) return HEAD_REFUSED
  const kept: string[] = []
  block.forEach((key, value) => {
    kept.push(key, value)
  })
  const lines = block.lines()
  compare(lines, kept)
  forwarded.push({ lines, length: framing.length })
  return HEAD_OK
}

/** Heads as they would go upstream; parsed when no parser is running, for it is not re-entrant. */
const forwarded: { lines: string; length: number }[] = []

/** `lines` must show the kept fields, one by one. */
function compare(lines: string, kept: readonly string[]): void {
  checkLines(lines)
  const shown = lines.split('\r\n').filter((line) => line !== '')
  assert.equal(shown.length, kept.length / 2)
  for (const [i, line] of shown.entries()) {
    const colon = line.indexOf(':')
    assert.equal(line.slice(0, colon), kept[2 * i])
    assert.equal(line.slice(colon + 1).replace(/^[\t ]+|[\t ]+$/g, ''), kept[2 * i + 1])
  }
}

/** The next parser must see one message with the same lines. */
function parseForwarded(): void {
  for (const { lines, length } of forwarded.splice(0)) {
    const body = length > 0 && length < 64 ? 'x'.repeat(length) : ''
    const again = feed(REQUEST, Buffer.from(`POST / HTTP/1.1\r\n${lines}\r\n${body}`, 'latin1'), [])
    assert.equal(again.fault, 0)
    assert.equal(again.messages.length, 1)
    assert.equal(again.messages[0]!.lines, lines)
  }
}
