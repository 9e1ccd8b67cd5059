import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { EventStreamCodec } from '@smithy/core/event-streams'
import fc from 'fast-check'
import { FormatError } from '#backends/llm/formats/format.ts'
import { encodeEvent, encodeMessage, frameEvents } from '#backends/llm/testing/aws-event-stream.ts'
import {
  type EventMessage,
  EventStreamDecoder,
  type Headers,
  type HeaderValue,
  readHeaders
} from './aws-event-stream.ts'

const text = (value: string): HeaderValue => ({ type: 'string', value })
const headers = (entries: { [name: string]: string }): Headers =>
  new Map(Object.entries(entries).map(([name, value]) => [name, text(value)]))
const decodeAll = (...chunks: Uint8Array[]): EventMessage[] => {
  const decoder = new EventStreamDecoder()
  const messages = chunks.flatMap((chunk) => decoder.push(chunk))
  decoder.end()
  return messages
}
const reference = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString(),
  (value) => Buffer.from(value)
)

const ALL_TYPES: Headers = new Map<string, HeaderValue>([
  ['yes', { type: 'boolean', value: true }],
  ['no', { type: 'boolean', value: false }],
  ['byte', { type: 'byte', value: -7 }],
  ['short', { type: 'short', value: -300 }],
  ['integer', { type: 'integer', value: -70_000 }],
  ['long', { type: 'long', value: -(2n ** 40n) }],
  ['binary', { type: 'binary', value: Uint8Array.of(1, 2, 255) }],
  ['string', { type: 'string', value: 'grüße' }],
  ['timestamp', { type: 'timestamp', value: 1_700_000_000_123n }],
  ['uuid', { type: 'uuid', value: '01234567-89ab-cdef-0123-456789abcdef' }]
])

const STREAM = Buffer.concat([
  encodeEvent('event', 'messageStart', '{"role":"assistant"}'),
  encodeEvent('event', 'contentBlockDelta', '{"delta":{"text":"grüße"},"contentBlockIndex":0}'),
  encodeEvent('exception', 'throttlingException', '{"message":"slow down"}'),
  encodeMessage(headers({ ':message-type': 'error', ':error-code': 'Boom', ':error-message': 'it broke' }), ''),
  encodeEvent('event', 'empty', '')
])
const MESSAGES: EventMessage[] = [
  { kind: 'event', name: 'messageStart', data: '{"role":"assistant"}' },
  { kind: 'event', name: 'contentBlockDelta', data: '{"delta":{"text":"grüße"},"contentBlockIndex":0}' },
  { kind: 'exception', name: 'throttlingException', data: '{"message":"slow down"}' },
  { kind: 'error', name: 'error', data: '{"code":"Boom","message":"it broke"}' },
  { kind: 'event', name: 'empty', data: '' }
]

test('events, exceptions and errors, split at every byte and in every size of piece', () => {
  assert.deepEqual(decodeAll(STREAM), MESSAGES)
  for (let at = 0; at <= STREAM.length; at++) {
    assert.deepEqual(decodeAll(STREAM.subarray(0, at), STREAM.subarray(at)), MESSAGES)
  }
  for (let size = 1; size < 64; size++) {
    const chunks: Uint8Array[] = []
    for (let at = 0; at < STREAM.length; at += size) chunks.push(STREAM.subarray(at, at + size))
    assert.deepEqual(decodeAll(...chunks), MESSAGES)
  }
})

test('any messages in any pieces', () => {
  const message = fc.tuple(
    fc.constantFrom<'event' | 'exception'>('event', 'exception'),
    fc.string({ minLength: 1 }),
    fc.string({ unit: 'binary' }).map((value) => value.toWellFormed())
  )
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.nat()), (messages, cuts) => {
      const bytes = Buffer.concat(messages.map(([kind, name, data]) => encodeEvent(kind, name, data)))
      const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
      const chunks = at.slice(1).map((end, i) => bytes.subarray(at[i], end))
      assert.deepEqual(
        decodeAll(...chunks),
        messages.map(([kind, name, data]) => ({ kind, name, data }))
      )
    })
  )
})

test("headers of all types, in both directions, against AWS's own codec", () => {
  const bytes = encodeMessage(ALL_TYPES, 'body')
  assert.deepEqual(readHeaders(bytes.subarray(12, 12 + bytes.readUInt32BE(4))), ALL_TYPES)
  const theirs = reference.decode(bytes)
  assert.equal(Buffer.from(theirs.body).toString(), 'body')
  assert.deepEqual(Object.keys(theirs.headers), [...ALL_TYPES.keys()])
  assert.equal(theirs.headers.uuid?.value, '01234567-89ab-cdef-0123-456789abcdef')
  assert.deepEqual(Buffer.from(reference.encode(theirs)), bytes)
})

const fails = (bytes: Uint8Array, message: RegExp, bytesMax?: number) =>
  assert.throws(
    () => new EventStreamDecoder(bytesMax).push(bytes),
    (error) => error instanceof FormatError && message.test(error.message)
  )

test('broken messages are errors, and end the stream', () => {
  const good = encodeEvent('event', 'a', '{}')
  const broken = (at: number): Buffer => {
    const copy = Buffer.from(good)
    copy[at]! ^= 1
    return copy
  }
  fails(broken(3), /checksum of a prelude/)
  fails(broken(9), /checksum of a prelude/)
  fails(broken(14), /checksum of a message/)
  fails(broken(good.length - 1), /checksum of a message/)
  fails(good, /more than 20 bytes/, 20)
  fails(encodeMessage(new Map(), ''), /is required/)
  fails(encodeMessage(headers({ ':message-type': 'other' }), ''), /is not known/)
  fails(encodeMessage(headers({ ':message-type': 'event' }), ''), /is required/)
  fails(encodeMessage(headers({ ':message-type': 'event', ':event-type': 'a' }), Uint8Array.of(255)), /not UTF-8/)
  assert.throws(() => readHeaders(Buffer.of(1, 97, 7, 0, 9, 1)), /cut off/)
  assert.throws(() => readHeaders(Buffer.of(1, 97, 10)), /has a type/)
  assert.throws(() => readHeaders(Buffer.of(1, 97, 0, 1, 97, 0)), /wrong header/)

  const decoder = new EventStreamDecoder()
  assert.throws(() => decoder.push(broken(3)), FormatError)
  assert.throws(() => decoder.push(good), FormatError)
  assert.throws(() => decoder.end(), FormatError)
  const cut = new EventStreamDecoder()
  cut.push(good.subarray(0, 20))
  assert.throws(() => cut.end(), /ends within a message/)
})

test('a length that is only claimed takes no memory', () => {
  const claim = Buffer.from(encodeMessage(new Map(), Buffer.alloc(20 * 1024 * 1024)).subarray(0, 12))
  const before = process.memoryUsage().arrayBuffers
  const decoders = Array.from({ length: 64 }, () => {
    const decoder = new EventStreamDecoder()
    decoder.push(claim)
    decoder.push(Buffer.alloc(100))
    return decoder
  })
  assert.ok(process.memoryUsage().arrayBuffers - before < 4 * 1024 * 1024)
  assert.equal(decoders.length, 64)
})

test('mutated bytes are messages or a FormatError, whatever the pieces', () => {
  const mutation = fc.record({ at: fc.nat({ max: STREAM.length - 1 }), byte: fc.nat({ max: 255 }) })
  fc.assert(
    fc.property(fc.array(mutation, { maxLength: 5 }), fc.integer({ min: 1, max: 90 }), (mutations, size) => {
      const bytes = Buffer.from(STREAM)
      for (const { at, byte } of mutations) bytes[at] = byte
      const decoder = new EventStreamDecoder()
      try {
        for (let at = 0; at < bytes.length; at += size) decoder.push(bytes.subarray(at, at + size))
        decoder.end()
      } catch (error) {
        assert.ok(error instanceof FormatError)
      }
    }),
    { numRuns: 2000 }
  )
})

test('mutated headers and lengths under right checksums are messages or a FormatError', () => {
  const good = encodeMessage(
    new Map([...ALL_TYPES, ...headers({ ':message-type': 'event', ':event-type': 'a' })]),
    '{}'
  )
  const mutation = fc.record({ at: fc.integer({ min: 12, max: good.length - 5 }), byte: fc.nat({ max: 255 }) })
  fc.assert(
    fc.property(fc.array(mutation, { maxLength: 5 }), fc.nat({ max: 300 }), (mutations, headerBytes) => {
      const bytes = Buffer.from(good)
      for (const { at, byte } of mutations) bytes[at] = byte
      if (headerBytes > 200) bytes.writeUInt32BE(headerBytes, 4)
      bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
      bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4)
      try {
        assert.equal(new EventStreamDecoder().push(bytes).length, 1)
      } catch (error) {
        assert.ok(error instanceof FormatError)
        assert.doesNotMatch(error.message, /checksum|Error/)
      }
    }),
    { numRuns: 5000 }
  )
})

test('lines of the stream writer become messages', () => {
  const lines = '{"messageStart":{"role":"assistant"}}\n{"throttlingException":{"message":"slow down"}}\n'
  assert.deepEqual(decodeAll(frameEvents(lines)), [MESSAGES[0], MESSAGES[2]])
  assert.equal(frameEvents('').length, 0)
})
