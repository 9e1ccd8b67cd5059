/**
 * Answers of gRPC services: messages cut anywhere come out the same, and what an authorization service answers is a
 * failure or changes only what a service may change.
 */
import assert from 'node:assert/strict'
import { type FramingFault, MessageReader } from '#engine/http/grpc-framing.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { decisionOf } from '#policies/traffic/ext-auth/grpc.ts'
import { applyVerdict, writeResponseFields } from '#policies/traffic/ext-auth/verdict.ts'

export const name = 'grpc'

export const dictionary = [
  '\0\0\0\0\0',
  '\0\0\0\0\x05',
  '\x01\0\0\0\x05',
  '\x0a\x02\x08\x07',
  '\x1a',
  '\x12',
  '\x22',
  'x-name',
  'content-length',
  '__proto__',
  '\r\n'
]

const MESSAGE_BYTES_MAX = 1000
/** How often an input is cut: the number of cuts grows with its square. */
const CUTS_MAX = 64

export function run(data: Buffer): void {
  const whole = read(data, data.length)
  for (let size = 1; size < Math.min(data.length, CUTS_MAX); size++) assert.deepEqual(read(data, size), whole)
  judge(data)
  for (const message of whole.messages) judge(message)
}

interface Read {
  readonly messages: readonly Uint8Array[]
  readonly fault: FramingFault | null
}

function read(data: Buffer, size: number): Read {
  const messages: Uint8Array[] = []
  const reader = new MessageReader(MESSAGE_BYTES_MAX, (message) => messages.push(message) % 3 !== 0)
  let fault: FramingFault | null = null
  for (let at = 0; at < data.length; at += size) {
    fault = reader.push(data, at, Math.min(at + size, data.length))
    while (fault === null && reader.isFull) fault = reader.resume()
  }
  return { messages, fault }
}

/** As a CheckResponse. */
function judge(bytes: Uint8Array): void {
  const answer = { error: null, status: 0, message: '', trailers: '', bytes, metadata: new HeaderBlock() }
  const decision = decisionOf(answer, 'authz', () => {})
  if ('kind' in decision) return
  const ex = fakeExchange({ target: '/path?a=b&c' })
  applyVerdict(ex, decision.verdict)
  assert.match(ex.query, /^(?:\?[!-"$-~]+)?$/)
  checkLines(ex.request)
  if (ex.localReply !== null) assert.ok(ex.localReply.status >= 300 && ex.localReply.status <= 599)
  ex.response = new HeaderBlock()
  writeResponseFields(ex)
  checkLines(ex.response)
}

function checkLines(block: HeaderBlock): void {
  block.forEach((field, value) => {
    assert.match(field, /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/)
    assert.doesNotMatch(value, /[\r\n\0]/)
    assert.ok(!['content-length', 'connection', 'transfer-encoding', 'te'].includes(field.toLowerCase()))
  })
}
