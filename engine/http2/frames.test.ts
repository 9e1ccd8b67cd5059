import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { type FrameHandler, FrameReader } from './frame-reader.ts'
import {
  frameHead,
  goawayFrame,
  headersFrame,
  pingFrame,
  resetFrame,
  SETTINGS_ACK,
  settingsFrame,
  windowUpdateFrame
} from './frame-writer.ts'
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FRAME_SIZE_ERROR,
  HEADERS,
  PADDED,
  PRIORITY,
  PROTOCOL_ERROR,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  WITH_PRIORITY
} from './protocol.ts'

/** Notes what it is told; pieces of DATA are joined. */
class Log implements FrameHandler {
  readonly events: string[] = []
  #data = ''
  #flow = 0
  #note(text: string): number {
    this.events.push(text)
    return 0
  }
  onHeaders(stream: number, endStream: boolean, bytes: Buffer, start: number, end: number): number {
    return this.#note(`headers ${stream} ${endStream} ${bytes.latin1Slice(start, end)}`)
  }
  onData(stream: number, bytes: Buffer, start: number, end: number, flow: number, endStream: boolean): number {
    this.#data += bytes.latin1Slice(start, end)
    this.#flow += flow
    if (!endStream) return 0
    const text = `data ${stream} ${this.#flow} ${this.#data}`
    this.#data = ''
    this.#flow = 0
    return this.#note(text)
  }
  onReset = (stream: number, code: number) => this.#note(`reset ${stream} ${code}`)
  onSettings = (bytes: Buffer, start: number, end: number) =>
    this.#note(`settings ${bytes.toString('hex', start, end)}`)
  onSettingsAck = () => this.#note('settings ack')
  onPing = (isAck: boolean, bytes: Buffer, start: number) =>
    this.#note(`ping ${isAck} ${bytes.latin1Slice(start, start + 8)}`)
  onGoaway = (lastStream: number, code: number) => this.#note(`goaway ${lastStream} ${code}`)
  onWindowUpdate = (stream: number, increment: number) => this.#note(`window ${stream} ${increment}`)
  onIdle = () => this.#note('idle')
  onStreamError = (stream: number, code: number) => this.#note(`broken ${stream} ${code}`)
}

function read(text: string, step = Number.POSITIVE_INFINITY): { code: number; events: string[]; buffered: number } {
  const log = new Log()
  const reader = new FrameReader(log, 16_384, 1000)
  const greeting = Buffer.from(settingsFrame([]), 'latin1')
  reader.execute(greeting, 0, greeting.length)
  log.events.length = 0
  const bytes = Buffer.from(text, 'latin1')
  let buffered = 0
  for (let at = 0; at < bytes.length; at += step) {
    const code = reader.execute(bytes, at, Math.min(bytes.length, at + step))
    buffered = Math.max(buffered, reader.heldBytes)
    if (code !== 0) return { code, events: log.events, buffered }
  }
  return { code: 0, events: log.events, buffered }
}

const frame = (type: number, flags: number, stream: number, payload: string) =>
  frameHead(payload.length, type, flags, stream) + payload

test('every frame, whole and in pieces of any size', () => {
  const text =
    settingsFrame([4, 65_536, 8, 1]) +
    SETTINGS_ACK +
    headersFrame('0123456789', END_STREAM, 1, 16_384) +
    headersFrame('abcdefghij', 0, 3, 4) +
    frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, 5, '\x02\0\0\0\x03\x10block\0\0') +
    frame(DATA, 0, 3, 'hello') +
    frame(DATA, PADDED, 3, '\x03 wo\0\0\0') +
    frame(DATA, PADDED, 3, '\x00') +
    frame(DATA, END_STREAM | PADDED, 3, '\x01rld\0') +
    frame(DATA, END_STREAM, 5, '') +
    pingFrame(false, '12345678') +
    pingFrame(true, '12345678') +
    windowUpdateFrame(0, 0x7fffffff) +
    windowUpdateFrame(3, 1) +
    resetFrame(5, 8) +
    frame(PRIORITY, 0, 7, '\0\0\0\x01\x10') +
    frame(99, 255, 7, 'anything') +
    frame(98, 255, 0, '') +
    goawayFrame(0x7fffffff, 2)
  const events = [
    'settings 000400010000000800000001',
    'settings ack',
    'headers 1 true 0123456789',
    'headers 3 false abcdefghij',
    'headers 5 false block',
    'data 3 18 hello world',
    'data 5 0 ',
    'ping false 12345678',
    'ping true 12345678',
    'window 0 2147483647',
    'window 3 1',
    'reset 5 8',
    'idle',
    'idle',
    'idle',
    'goaway 2147483647 2'
  ]
  for (let step = 1; step < 40; step++)
    deepEqual(read(text, step), { code: 0, events, buffered: read(text, step).buffered })
  deepEqual(read(text).events, events)
})

test('frames that break the connection', () => {
  const cases: [string, string, number][] = [
    ['longer than allowed', frameHead(16_385, DATA, 0, 1), FRAME_SIZE_ERROR],
    ['DATA of no stream', frame(DATA, 0, 0, 'a'), PROTOCOL_ERROR],
    ['padding that is too long', frame(DATA, PADDED, 1, '\x05abc'), PROTOCOL_ERROR],
    ['padding of no length', frame(DATA, PADDED, 1, ''), FRAME_SIZE_ERROR],
    ['HEADERS of no stream', frame(HEADERS, END_HEADERS, 0, 'a'), PROTOCOL_ERROR],
    ['padded HEADERS, too short', frame(HEADERS, END_HEADERS | PADDED, 1, '\x05ab'), PROTOCOL_ERROR],
    ['padded HEADERS, empty', frame(HEADERS, END_HEADERS | PADDED, 1, ''), FRAME_SIZE_ERROR],
    ['HEADERS without their priority', frame(HEADERS, END_HEADERS | WITH_PRIORITY, 1, 'abc'), FRAME_SIZE_ERROR],
    ['CONTINUATION of nothing', frame(CONTINUATION, END_HEADERS, 1, 'a'), PROTOCOL_ERROR],
    ['a frame inside a block', frame(HEADERS, 0, 1, 'a') + frame(DATA, 0, 1, 'a'), PROTOCOL_ERROR],
    ['a CONTINUATION of another stream', frame(HEADERS, 0, 1, 'a') + frame(CONTINUATION, 4, 3, 'a'), PROTOCOL_ERROR],
    ['PRIORITY of no stream', frame(PRIORITY, 0, 0, '12345'), PROTOCOL_ERROR],
    ['RST_STREAM of no stream', frame(RST_STREAM, 0, 0, '1234'), PROTOCOL_ERROR],
    ['RST_STREAM of another length', frame(RST_STREAM, 0, 1, '123'), FRAME_SIZE_ERROR],
    ['SETTINGS of a stream', frame(SETTINGS, 0, 1, ''), PROTOCOL_ERROR],
    ['SETTINGS of an odd length', frame(SETTINGS, 0, 0, '12345'), FRAME_SIZE_ERROR],
    ['an acknowledgement with settings', frame(SETTINGS, 1, 0, '123456'), FRAME_SIZE_ERROR],
    ['a hundred settings', frame(SETTINGS, 0, 0, '123456'.repeat(100)), ENHANCE_YOUR_CALM],
    ['PUSH_PROMISE', frame(PUSH_PROMISE, 4, 1, '\0\0\0\x02a'), PROTOCOL_ERROR],
    ['PING of a stream', frame(6, 0, 1, '12345678'), PROTOCOL_ERROR],
    ['PING of another length', frame(6, 0, 0, '1234567'), FRAME_SIZE_ERROR],
    ['GOAWAY of a stream', frame(7, 0, 1, '12345678'), PROTOCOL_ERROR],
    ['GOAWAY of another length', frame(7, 0, 0, '1234567'), FRAME_SIZE_ERROR],
    ['WINDOW_UPDATE of nothing', windowUpdateFrame(0, 0), PROTOCOL_ERROR],
    ['WINDOW_UPDATE of another length', frame(8, 0, 0, '12345'), FRAME_SIZE_ERROR]
  ]
  for (const [name, text, code] of cases) {
    equal(read(text).code, code, name)
    equal(read(text, 1).code, code, `${name}, in pieces`)
  }
})

test('the first frame is SETTINGS, and no acknowledgement', () => {
  for (const text of [pingFrame(false, '12345678'), SETTINGS_ACK]) {
    const bytes = Buffer.from(text, 'latin1')
    equal(new FrameReader(new Log(), 16_384, 1000).execute(bytes, 0, bytes.length), PROTOCOL_ERROR)
  }
})

test('frames that break their stream alone', () => {
  const cases: [string, number][] = [
    [frame(PRIORITY, 0, 1, '1234'), FRAME_SIZE_ERROR],
    [frame(PRIORITY, 0, 1, '\0\0\0\x01\x10'), PROTOCOL_ERROR],
    [windowUpdateFrame(1, 0), PROTOCOL_ERROR]
  ]
  for (const [text, code] of cases) deepEqual(read(text).events, [`broken 1 ${code}`])
  const own = frame(HEADERS, END_HEADERS | WITH_PRIORITY, 1, '\0\0\0\x01\x10a')
  deepEqual(read(own).events, ['headers 1 false a', `broken 1 ${PROTOCOL_ERROR}`])
})

test('header blocks are bounded in bytes and in frames', () => {
  const begin = frame(HEADERS, 0, 1, 'a'.repeat(400))
  const more = frame(CONTINUATION, 0, 1, 'a'.repeat(400))
  equal(read(begin + more).code, 0)
  equal(read(begin + more + more).code, ENHANCE_YOUR_CALM)
  equal(read(frameHead(1001, HEADERS, 0, 1)).code, ENHANCE_YOUR_CALM, 'before it has arrived')
  equal(read(begin + frame(CONTINUATION, 0, 1, '').repeat(100)).code, ENHANCE_YOUR_CALM)
  ok(read(begin + more + more, 7).buffered <= 1000)
})

test('a DATA frame is not kept', () => {
  ok(read(frame(DATA, 0, 1, 'a'.repeat(16_000)), 100).buffered < 9)
})
