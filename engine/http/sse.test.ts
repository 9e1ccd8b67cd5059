import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SSE_EVENT_BYTES_MAX, type SseEvent, SseReader, SseTooLong } from './sse.ts'

function read(bytes: Buffer, ...cuts: readonly number[]): SseEvent[] {
  const reader = new SseReader()
  const events: SseEvent[] = []
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    // As from a socket: the same memory again and again.
    const memory = Buffer.from(bytes.subarray(from, cut))
    reader.push(memory, 0, memory.length, events)
    memory.fill(0)
    from = cut
  }
  return events
}

const CASES: readonly (readonly [text: string, events: readonly (readonly [string, string])[]])[] = [
  ['data: a\n\n', [['', 'a']]],
  ['data:a\r\n\r\ndata: b\r\r', [['', 'a'], ['', 'b']]], // biome-ignore format: a case per line
  ['\ufeffevent: x\ndata: 1\n\n', [['x', '1']]],
  ['data: 1\ndata\ndata:  2\n\n', [['', '1\n\n 2']]],
  [': ping\n\nid: 3\nretry: 5\nevent: only\n\ndata: ü€😀\n\n', [['', 'ü€😀']]],
  ['database: no\neventual: no\ndata: yes\n\n', [['', 'yes']]],
  ['event: a\ndata: {}\r\n\nevent: b\rdata: [DONE]\n\r\n', [['a', '{}'], ['b', '[DONE]']]], // biome-ignore format: as above
  ['data: not complete\n', []]
]

test('events are the same however their bytes are cut', () => {
  for (const [text, wanted] of CASES) {
    const bytes = Buffer.from(text)
    const expected = wanted.map(([name, data]) => ({ name, data }))
    for (let i = 0; i <= bytes.length; i++) {
      for (let j = i; j <= bytes.length; j++) assert.deepEqual(read(bytes, i, j), expected, `${text} at ${i}, ${j}`)
    }
  }
})

test('an event without end is refused, in one line or in many', () => {
  const reader = new SseReader()
  const piece = Buffer.alloc(1024 * 1024, 'x')
  const endless = () => {
    for (let sent = 0; sent <= SSE_EVENT_BYTES_MAX; sent += piece.length) reader.push(piece, 0, piece.length, [])
  }
  assert.throws(endless, SseTooLong)
  const lines = new SseReader()
  const line = Buffer.from(`data: ${'x'.repeat(1024 * 1024)}\n`)
  const many = () => {
    for (let sent = 0; sent <= SSE_EVENT_BYTES_MAX; sent += line.length) lines.push(line, 0, line.length, [])
  }
  assert.throws(many, SseTooLong)
})
