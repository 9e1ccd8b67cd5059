import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { feed, feedEveryWay } from '#engine/testing/messages.ts'
import { HeaderBlock } from './headers.ts'
import { Llhttp, REQUEST, RESPONSE } from './llhttp.ts'
import { FAULT_FRAMING, FAULT_VERSION } from './llhttp-faults.ts'
import type { MessageHandler } from './llhttp-parser.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')

it('notes fields by offsets: values trimmed, empty ones in place, however the head is cut', () => {
  const { messages } = feedEveryWay(
    REQUEST,
    bytes('GET /x HTTP/1.1\r\nHost: a\r\nEmpty:\r\nBlank: \r\nLong: \t two  words \t\r\nlast:z\r\n\r\n')
  )
  deepEqual(messages[0]?.fields, ['Host', 'a', 'Empty', '', 'Blank', '', 'Long', 'two  words', 'last', 'z'])
  equal(messages[0]?.target, '/x')
})

it('an empty field ends at its colon, so that forwarded lines never end the head', () => {
  const { messages } = feed(REQUEST, bytes('GET / HTTP/1.1\r\nEmpty:\r\nHost: a\r\n\r\n'), [])
  equal(messages[0]?.lines, 'Empty:\r\nHost: a\r\n')
  const only = feed(REQUEST, bytes('GET / HTTP/1.1\r\nEmpty:\r\n\r\n'), [])
  equal(only.messages[0]?.lines, 'Empty:\r\n')
})

it('gives trailers as lines', () => {
  const { messages } = feedEveryWay(
    RESPONSE,
    bytes('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA:\r\nB: 1\r\n\r\n')
  )
  equal(messages[0]?.trailers, 'A: \r\nB: 1')
  equal(messages[0]?.body, 'x')
})

it('tells faults apart', () => {
  equal(feed(REQUEST, bytes('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), []).fault, FAULT_VERSION)
  equal(feed(REQUEST, bytes('GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n'), []).fault, FAULT_FRAMING)
})

it('has room for all its parsers without moving the memory that sockets read into', () => {
  const own = new Llhttp()
  const handler: MessageHandler = { onHead: () => 0, onBody() {}, onComplete() {} }
  const block = new HeaderBlock()
  const all = ([REQUEST, RESPONSE] as const).map((type) => {
    const parsers = []
    // The second type has as many although the first has used all of its own.
    for (let parser = own.acquire(type, handler, block); parser !== null; parser = own.acquire(type, handler, block)) {
      parsers.push(parser)
    }
    ok(parsers.length >= 10_000, `type ${type}: ${parsers.length} parsers`)
    return { type, parsers }
  })
  equal(own.busy, all[0]!.parsers.length + all[1]!.parsers.length)
  // Growth would detach the buffer and leave it empty.
  notEqual(own.memory.bytes.length, 0)
  equal(own.memory.bytes.length, own.memory.bytes.buffer.byteLength)
  for (const { type, parsers } of all) for (const parser of parsers) own.release(type, parser)
  equal(own.busy, 0)
})
