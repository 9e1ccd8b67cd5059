/**
 * Streams of containers on SageMaker, which AWS cuts into pieces anywhere: the events are those of the stream before it
 * was cut, or the same fault. The input is that stream, and what an exception in it says.
 */
import assert from 'node:assert/strict'
import { isJson } from '#backends/llm/formats/fields.ts'
import { FormatError, type WireEvent } from '#backends/llm/formats/format.ts'
import { framingOf, LINE_ENDS } from '#backends/llm/stream/framing.ts'
import { frame } from '#backends/llm/stream/translating-tap.ts'
import { encodeEvent } from '#backends/llm/testing/aws-event-stream.ts'
import { SseReader } from '#engine/http/sse.ts'

export const name = 'llm-payload-parts'

export const dictionary = [
  'data: ',
  '\n\n',
  '\r\n',
  '{"choices":[]}\n',
  '[DONE]',
  'event: ',
  ': ',
  '"ErrorCode":',
  'é',
  ' '
]

const BYTES_MAX = 16 * 1024

export function run(data: Buffer): void {
  const stream = data.subarray(0, BYTES_MAX)
  const whole = eventsOf([encodeEvent('event', 'PayloadPart', stream)])
  const cuts = [1, 3, 64].filter((size) => stream.length / size < 2048)
  for (const size of cuts) assert.deepEqual(eventsOf(pieces(stream, size)), whole)
  assert.deepEqual(whole, expected(stream))
  const fault = encodeEvent('exception', 'ModelStreamError', stream.toString())
  const [error, ...more] = eventsOf([fault])
  assert.deepEqual(more, [])
  assert.ok(isJson(error!.data))
  for (const event of [...whole, error!]) assert.equal(frame(event).split('\n\n').length, 2)
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
}

function pieces(stream: Buffer, size: number): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < stream.length; at += size)
    parts.push(encodeEvent('event', 'PayloadPart', stream.subarray(at, at + size)))
  return parts
}

/** What the stream says by itself. */
function expected(stream: Buffer): WireEvent[] {
  const text = stream.toString('latin1').replace(/^[ \t\r\n]+/, '')
  const events: WireEvent[] = []
  if (!text.startsWith('{')) {
    const bytes = Buffer.concat([Buffer.from(text, 'latin1'), LINE_ENDS])
    new SseReader().push(bytes, 0, bytes.length, events)
    return events
  }
  const lines = text.split('\n').map((line) => line.replace(/^\r+/, ''))
  for (const line of lines.filter((one) => one !== '')) {
    const bytes = Buffer.from(`data: ${line}\n\n`, 'latin1')
    new SseReader().push(bytes, 0, bytes.length, events)
  }
  return events
}

function eventsOf(messages: readonly Buffer[]): WireEvent[] {
  const framing = framingOf('application/vnd.amazon.eventstream')!
  const events: WireEvent[] = []
  try {
    for (const bytes of [...messages, LINE_ENDS]) framing.push(bytes, 0, bytes.length, events)
  } catch (error) {
    assert.ok(error instanceof FormatError, String(error))
  }
  return events
}
