/** The event-stream decoder: the same messages or the same fault, whatever the pieces. Checksums are put right. */
import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import { FormatError } from '#backends/llm/formats/format.ts'
import { type EventMessage, EventStreamDecoder } from '#backends/llm/stream/aws-event-stream.ts'

export const name = 'event-stream'

export const dictionary = [
  ':message-type',
  ':event-type',
  ':exception-type',
  ':error-code',
  'event',
  'exception',
  'error'
]

const BYTES_MAX = 64 * 1024

function decode(bytes: Buffer, size: number): { messages: EventMessage[]; fault: string | null } {
  const decoder = new EventStreamDecoder()
  const messages: EventMessage[] = []
  try {
    for (let at = 0; at < bytes.length; at += size) messages.push(...decoder.push(bytes.subarray(at, at + size)))
    decoder.end()
  } catch (error) {
    assert.ok(error instanceof FormatError)
    return { messages, fault: error.message }
  }
  return { messages, fault: null }
}

/** Mutated bytes would never get past the checksums. */
function withChecksums(data: Buffer): Buffer {
  const bytes = Buffer.from(data.subarray(0, BYTES_MAX))
  for (let at = 0; at + 16 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    bytes.writeUInt32BE(crc32(bytes.subarray(at, at + 8)), at + 8)
    if (length < 16 || at + length > bytes.length) break
    const end = at + length - 4
    bytes.writeUInt32BE(crc32(bytes.subarray(at, end)), end)
    at += length
  }
  return bytes
}

export function run(data: Buffer): void {
  for (const bytes of [data.subarray(0, BYTES_MAX), withChecksums(data)]) {
    const bytewise = decode(bytes, 1)
    // In one piece, what came before a fault is not handed out.
    const whole = decode(bytes, bytes.length)
    assert.equal(whole.fault, bytewise.fault)
    if (whole.fault === null) assert.deepEqual(whole.messages, bytewise.messages)
  }
}
