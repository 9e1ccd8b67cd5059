/** Streams of Cohere's chat, against the whole answers that they are the pieces of. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { cohereV2 } from './index.ts'

const eventsOf = (events: readonly JsonObject[]) => {
  const reader = cohereV2.streamReader()
  return events.flatMap((event) => reader.read({ name: '', data: JSON.stringify(event) }))
}
const delta = (type: string, message: JsonObject, more: JsonObject = {}): JsonObject => ({
  type,
  delta: { message },
  ...more
})
const text = (piece: string, more: JsonObject = {}) => delta('content-delta', { content: { text: piece } }, more)
const START = { type: 'message-start', id: 'i', delta: { message: { role: 'assistant' } } }
const BEGIN = delta('content-start', { content: { type: 'text', text: '' } }, { index: 0 })
const UNITS = { billed_units: { input_tokens: 3.0, output_tokens: 2.0, search_units: 1 } }
const last = (reason: string, more: JsonObject = {}) => ({
  type: 'message-end',
  delta: { finish_reason: reason, usage: UNITS, ...more }
})
const CITED = { start: 0, end: 1, text: 'a', sources: [{ type: 'tool', id: 't:0', tool_output: { b: 'c' } }] }

test('what is cited among the pieces of a text stands behind it, as unstreamed', () => {
  const { choices, usage, id } = assemble(
    eventsOf([
      ...[START, BEGIN, text('a')],
      delta('citation-start', { citations: CITED }, { index: 0 }),
      { type: 'citation-end', index: 0 },
      ...[text('b'), { type: 'content-end', index: 0 }, { type: 'event-of-tomorrow' }, last('COMPLETE')]
    ]),
    'cohereV2'
  )
  const message = { content: [{ type: 'text', text: 'ab' }], citations: [CITED] }
  const whole = cohereV2.readAnswer({ id: 'i', message, finish_reason: 'COMPLETE', usage: UNITS })
  deepEqual({ choices, usage, id }, { choices: whole.choices, usage: whole.usage, id: whole.id })
  deepEqual([usage?.input, usage?.output, usage?.searches], [3, 2, 1])
})

test('no arguments, and "null" for them, are an object without members', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '' } }
  for (const pieces of [[], ['nu', 'll'], ['null']]) {
    const { choices } = assemble(
      eventsOf([
        ...[START, delta('tool-call-start', { tool_calls: call }, { index: 0 })],
        ...pieces.map((piece) => delta('tool-call-delta', { tool_calls: { function: { arguments: piece } } })),
        ...[{ type: 'tool-call-end', index: 0 }, last('TOOL_CALL')]
      ]),
      'cohereV2'
    )
    const [part] = choices[0]!.parts
    equal(part?.kind === 'toolCall' && part.arguments, '{}', pieces.join())
  }
  const message = { tool_calls: [{ ...call, function: { name: 'f', arguments: 'null' } }] }
  const [part] = cohereV2.readAnswer({ message, finish_reason: 'TOOL_CALL' }).choices[0]!.parts
  equal(part?.kind === 'toolCall' && part.arguments, '{}')
})

test('probabilities are told with their pieces', () => {
  const logprobs = { text: 'a', token_ids: [1, 2], logprobs: [-0.5, -0.25] }
  const { choices } = assemble(eventsOf([START, BEGIN, text('a', { logprobs }), last('COMPLETE')]), 'cohereV2')
  const entry: Json = { token: 'a', logprob: -0.75, bytes: null, top_logprobs: [] }
  deepEqual(choices[0]!.logprobs, [entry])
  const content = [{ type: 'text', text: 'a' }]
  const whole = cohereV2.readAnswer({ message: { content }, logprobs: [logprobs], finish_reason: 'COMPLETE' })
  deepEqual(whole.choices[0]!.logprobs, [entry])
})

test('a generation that fails is an error, and says what it has cost', () => {
  const events = eventsOf([START, BEGIN, text('a'), last('ERROR', { error: 'out of memory' })])
  deepEqual(
    events.slice(-2).map(({ kind }) => kind),
    ['usage', 'error']
  )
  const end = events.at(-1)
  equal(end?.kind === 'error' && end.error.message, 'out of memory')
})

test('reasons to end are those of all formats; an unknown one ends all the same', () => {
  const words = ['COMPLETE', 'MAX_TOKENS', 'STOP_SEQUENCE', 'TOOL_CALL', 'ERROR_TOXIC', 'ERROR_LIMIT', 'TIMEOUT', 'X']
  deepEqual(
    words.map((word) => cohereV2.readSummary({ finish_reason: word }).stops[0]),
    ['end', 'length', 'stopSequence', 'tools', 'filter', 'contextWindow', 'error', 'end']
  )
})

test('tokens of a server that charges nothing are those that it counts', () => {
  const usage = { tokens: { input_tokens: 20, output_tokens: 4 }, cached_tokens: 9 }
  const counted = cohereV2.readSummary({ usage }).usage
  deepEqual([counted?.input, counted?.output, counted?.cacheRead], [20, 4, 0])
  equal(cohereV2.readSummary({ usage: { billed_units: {} } }).usage, null)
})

test('pieces of a call that has not begun, and what is no object, are mistakes of the provider', () => {
  const piece = delta('tool-call-delta', { tool_calls: { function: { arguments: '{' } } })
  throws(() => eventsOf([START, piece]), FormatError)
  throws(() => cohereV2.streamReader().read({ name: '', data: '[1]' }), FormatError)
  throws(() => eventsOf([START, delta('tool-call-start', {})]), FormatError)
})
