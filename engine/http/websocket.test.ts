import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  acceptOf,
  BINARY,
  CLOSE,
  encodeClose,
  encodeFrame,
  FrameDecoder,
  type FrameHandler,
  NO_STATUS,
  PING,
  PONG,
  TEXT
} from './websocket.ts'

/** Collects what a decoder says, messages put together. */
class Collector implements FrameHandler {
  readonly messages: string[] = []
  #message = ''

  onMessage(isText: boolean, chunk: Buffer, start: number, end: number, first: boolean, last: boolean): void {
    if (first) this.#message = isText ? 'text ' : 'binary '
    this.#message += chunk.toString('latin1', start, end)
    if (last) this.messages.push(this.#message)
  }

  onPing(payload: Buffer): void {
    this.messages.push(`ping ${payload}`)
  }

  onClose(code: number, reason: Buffer): void {
    this.messages.push(`close ${code} ${reason}`)
  }
}

/** Decodes `bytes` in pieces of `size`. */
function decode(bytes: Buffer, size = bytes.length): { messages: string[]; fault: string | null } {
  const collector = new Collector()
  const decoder = new FrameDecoder(collector)
  for (let at = 0; at < bytes.length; at += size) {
    const piece = Buffer.concat([Buffer.from('??'), bytes.subarray(at, at + size), Buffer.from('??')])
    decoder.execute(piece, 2, piece.length - 2)
  }
  return { messages: collector.messages, fault: decoder.fault }
}

/** A frame as a server sends it: `first` is the first byte of the head. */
function serverFrame(first: number, payload: string | Buffer): Buffer {
  const body = Buffer.from(payload)
  const { length } = body
  const head = length < 126 ? [first, length] : length < 65_536 ? [first, 126, length >> 8, length & 255] : null
  if (head !== null) return Buffer.concat([Buffer.from(head), body])
  const long = Buffer.alloc(10)
  long[0] = first
  long[1] = 127
  long.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([long, body])
}

const FIN = 128

test('frames are decoded alike, however they are cut', () => {
  const bytes = Buffer.concat([
    serverFrame(FIN | TEXT, 'hello'),
    serverFrame(FIN | BINARY, ''),
    serverFrame(TEXT, 'one '),
    serverFrame(FIN | PING, 'p'),
    serverFrame(0, ''),
    serverFrame(FIN, 'two'),
    serverFrame(FIN | PONG, 'ignored'),
    serverFrame(FIN | BINARY, 'x'.repeat(126)),
    serverFrame(FIN | BINARY, 'y'.repeat(65_536)),
    serverFrame(FIN | CLOSE, Buffer.from([0x03, 0xe8, 0x6f, 0x6b])),
    serverFrame(FIN | TEXT, 'too late')
  ])
  const whole = decode(bytes)
  assert.equal(whole.fault, null)
  assert.deepEqual(
    whole.messages.map((text) => text.slice(0, 20)),
    [
      'text hello',
      'binary ',
      'ping p',
      'text one two',
      `binary ${'x'.repeat(13)}`,
      `binary ${'y'.repeat(13)}`,
      'close 1000 ok'
    ]
  )
  for (const size of [1, 2, 3, 7, 1000]) assert.deepEqual(decode(bytes, size), whole, `pieces of ${size}`)
})

test('frames that RFC 6455 forbids are faults', () => {
  const faults: [string, Buffer][] = [
    ['reserved bit', serverFrame(FIN | 0x40 | TEXT, 'a')],
    ['mask', Buffer.from([FIN | TEXT, 128 | 1, 0, 0, 0, 0, 65])],
    ['opcode 3', serverFrame(FIN | 3, '')],
    ['opcode 11', serverFrame(FIN | 11, '')],
    ['16-bit form of 125', Buffer.from([FIN | TEXT, 126, 0, 125])],
    ['64-bit form of 65535', Buffer.from([FIN | TEXT, 127, 0, 0, 0, 0, 0, 0, 255, 255])],
    ['length beyond counting', Buffer.from([FIN | TEXT, 127, 255, 255, 255, 255, 255, 255, 255, 255])],
    ['continuation of nothing', serverFrame(FIN, 'a')],
    ['message within a message', Buffer.concat([serverFrame(TEXT, 'a'), serverFrame(FIN | TEXT, 'b')])],
    ['control frame in fragments', serverFrame(PING, 'a')],
    ['control frame of 126 bytes', serverFrame(FIN | PING, 'a'.repeat(126))],
    ['close with one byte', serverFrame(FIN | CLOSE, 'a')]
  ]
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 2999, 5000]) {
    faults.push([`close ${code}`, serverFrame(FIN | CLOSE, Buffer.from([code >> 8, code & 255]))])
  }
  for (const [name, bytes] of faults) {
    const { messages, fault } = decode(Buffer.concat([bytes, serverFrame(FIN | TEXT, 'after')]))
    assert.notEqual(fault, null, name)
    assert.ok(!messages.includes('text after'), name)
  }
  assert.deepEqual(decode(serverFrame(FIN | CLOSE, '')).messages, [`close ${NO_STATUS} `])
})

/** Unmasks a frame of ours. */
function unmask(frame: Buffer): { opcode: number; payload: Buffer } {
  assert.ok(frame[0]! >= FIN && frame[1]! >= 128)
  const short = frame[1]! & 127
  const at = short < 126 ? 2 : short === 126 ? 4 : 10
  const length = short < 126 ? short : short === 126 ? frame.readUInt16BE(2) : Number(frame.readBigUInt64BE(2))
  const payload = Buffer.from(frame.subarray(at + 4))
  assert.equal(payload.length, length)
  for (let i = 0; i < length; i++) payload[i]! ^= frame[at + (i % 4)]!
  return { opcode: frame[0]! & 15, payload }
}

test('frames of every length form are masked and come out whole', () => {
  for (const size of [0, 1, 2, 3, 4, 5, 125, 126, 65_535, 65_536, 70_001]) {
    const payload = randomBytes(size)
    const { opcode, payload: got } = unmask(encodeFrame(BINARY, payload))
    assert.equal(opcode, BINARY)
    assert.equal(Buffer.compare(got, payload), 0, `${size} bytes`)
  }
})

test('masks do not repeat', () => {
  const masks = new Set<string>()
  for (let i = 0; i < 3000; i++) masks.add(encodeFrame(PING, Buffer.alloc(0)).toString('hex', 2, 6))
  assert.ok(masks.size > 2990)
})

test('close frames carry code and reason, cut to what a control frame holds', () => {
  assert.deepEqual(unmask(encodeClose(NO_STATUS, Buffer.from('x'))), { opcode: CLOSE, payload: Buffer.alloc(0) })
  const { payload } = unmask(encodeClose(1001, Buffer.alloc(200, 'a')))
  assert.equal(payload.readUInt16BE(0), 1001)
  assert.equal(payload.length, 125)
})

test('the accept value is the one of RFC 6455 section 1.3', () => {
  assert.equal(acceptOf('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})
