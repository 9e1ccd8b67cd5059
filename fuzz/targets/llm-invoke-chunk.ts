/**
 * Events of InvokeModelWithResponseStream: a payload that claims to be one is an event of the model's own format, or a
 * fault of the format. The input is the payload, and what its `bytes` are.
 */
import assert from 'node:assert/strict'
import { isJson } from '#backends/llm/formats/fields.ts'
import { FormatError, type WireEvent } from '#backends/llm/formats/format.ts'
import { framingOf } from '#backends/llm/stream/framing.ts'
import { encodeEvent } from '#backends/llm/testing/aws-event-stream.ts'

export const name = 'llm-invoke-chunk'

export const dictionary = [
  '"bytes":',
  '"type":',
  '"p":',
  'null',
  '[]',
  '{}',
  '""',
  'e30=',
  '\\ud800',
  'eyJ0eXBlIjoiYSJ9'
]

const BYTES_MAX = 64 * 1024

export function run(data: Buffer): void {
  const text = data.subarray(0, BYTES_MAX).toString()
  for (const payload of [text, JSON.stringify({ bytes: Buffer.from(text).toString('base64'), p: 'a' })]) {
    const whole = eventsOf(payload, Number.POSITIVE_INFINITY)
    assert.deepEqual(eventsOf(payload, 5), whole)
    for (const event of whole ?? []) {
      assert.ok(isJson(event.data))
      // It becomes a line of a server-sent event.
      assert.doesNotMatch(event.name, /[\r\n]/)
    }
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
}

/** Null: it is no event. */
function eventsOf(payload: string, size: number): WireEvent[] | null {
  const framing = framingOf('application/vnd.amazon.eventstream')!
  const message = encodeEvent('event', 'chunk', payload)
  const events: WireEvent[] = []
  try {
    for (let at = 0; at < message.length; at += size)
      framing.push(message, at, Math.min(at + size, message.length), events)
  } catch (error) {
    assert.ok(error instanceof FormatError, String(error))
    return null
  }
  return events
}
