import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { framed, MessageReader } from './grpc-framing.ts'

const texts = ['', 'a', 'hello', 'x'.repeat(300)]
const wire = Buffer.concat(texts.map((text) => framed(Buffer.from(text))))

test('messages are found wherever the bytes are cut', () => {
  for (let size = 1; size <= wire.length; size++) {
    const heard: string[] = []
    const reader = new MessageReader(1000, (bytes) => heard.push(Buffer.from(bytes).toString()) > 0)
    for (let at = 0; at < wire.length; at += size) {
      equal(reader.push(wire, at, Math.min(at + size, wire.length)), null)
    }
    deepEqual(heard, texts)
    equal(reader.isBetween, true)
  }
})

test('a full taker gets no more until it has room', () => {
  const heard: string[] = []
  const reader = new MessageReader(1000, (bytes) => {
    heard.push(Buffer.from(bytes).toString())
    return false
  })
  reader.push(wire, 0, 7)
  reader.push(wire, 7, wire.length)
  for (let count = 1; count <= texts.length; count++) {
    equal(heard.length, count)
    reader.resume()
  }
  deepEqual(heard, texts)
})

test('a message that is too large, compressed, or finds no room is a fault, and nothing follows it', () => {
  const faults = (bytes: Buffer, hasRoom = true) => {
    const heard: Uint8Array[] = []
    const reader = new MessageReader(
      10,
      (message) => heard.push(message) > 0,
      () => hasRoom
    )
    return [reader.push(bytes, 0, bytes.length), reader.push(framed(Buffer.from('a')), 0, 6), heard.length]
  }
  deepEqual(faults(framed(Buffer.alloc(11))), ['too large', 'too large', 0])
  deepEqual(faults(Buffer.from([1, 0, 0, 0, 1, 65])), ['compressed', 'compressed', 0])
  deepEqual(faults(Buffer.from([2, 0, 0, 0, 1, 65])), ['malformed', 'malformed', 0])
  deepEqual(faults(framed(Buffer.alloc(5)), false), ['no room', 'no room', 0])
})
