/** Server-sent events: cut anywhere, the same events come out, and invalid bytes do no harm. */
import assert from 'node:assert/strict'
import { type SseEvent, SseReader } from '#engine/http/sse.ts'

export const name = 'sse'

export const dictionary = [
  'data:',
  'data: ',
  'event: ',
  'id:',
  ':',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\ufeff',
  '[DONE]',
  '\0',
  '\xff'
]

/** How often an input is cut: the number of cuts grows with its square. */
const CUTS_MAX = 64

export function run(data: Buffer): void {
  const whole = read(data, data.length)
  for (let size = 1; size < Math.min(data.length, CUTS_MAX); size++) assert.deepEqual(read(data, size), whole)
  for (const { name, data: text } of whole) assert.doesNotMatch(name + text, /\r/)
}

function read(data: Buffer, size: number): SseEvent[] {
  const reader = new SseReader()
  const events: SseEvent[] = []
  for (let at = 0; at < data.length; at += size) reader.push(data, at, Math.min(at + size, data.length), events)
  return events
}
