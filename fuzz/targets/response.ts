/** Response heads and their framing: cuts change nothing, and what is forwarded is made of whole header lines. */
import assert from 'node:assert/strict'
import { takeFraming } from '#engine/http/fields.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { RESPONSE } from '#engine/http/llhttp.ts'
import { HEAD_NO_BODY, HEAD_OK, HEAD_REFUSED, type Parser } from '#engine/http/llhttp-parser.ts'
import { safeTrailers } from '#engine/http/trailers.ts'
import { checkLines, feedEveryWay, INPUT_BYTES_MAX } from '#engine/testing/messages.ts'

export const name = 'response'

export const dictionary = [
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.0 200 OK\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\n',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: close\r\n',
  'Upgrade: x\r\n',
  'Empty:\r\n',
  '\r\n',
  '\r\n\r\n',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  'X-T: 1\r\n',
  ' ',
  '\t',
  '\0'
]

export function run(data: Buffer): void {
  const { messages } = feedEveryWay(RESPONSE, data.subarray(0, INPUT_BYTES_MAX), judge)
  for (const { lines, trailers, status } of messages) {
    checkLines(lines)
    if (trailers !== null) checkLines(safeTrailers(trailers))
    assert.ok(status >= 0 && status <= 999)
  }
}

function judge(parser: Parser, block: HeaderBlock): number {
  const framing = takeFraming(block)
  checkLines(block.lines())
  if (parser.status < 200) return HEAD_NO_BODY
  const isOdd = framing.length === -2 || (framing.coded && (!framing.chunked || framing.length >= 0))
  return isOdd ? HEAD_REFUSED : HEAD_OK
}
