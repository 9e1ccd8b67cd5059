import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, JsonObject, Part, StopReason, Usage } from '#backends/llm/conversation.ts'
import { type AnswerContext, Losses } from '#backends/llm/formats/format.ts'
import { EventStreamDecoder } from '#backends/llm/stream/aws-event-stream.ts'
import { frameEvents } from '#backends/llm/testing/aws-event-stream.ts'
import { converse } from '#backends/llm/testing/converse/index.ts'

const CONTEXT: AnswerContext = { model: 'm', wantsUsage: true, at: 0, id: 'i' }
const write = (answer: Answer): JsonObject => converse.writeAnswer(answer, CONTEXT, new Losses())
const word = fc.string({ unit: 'binary' }).map((value) => value.toWellFormed())
const bytes = fc.uint8Array({ minLength: 1, maxLength: 9 }).map((data) => Buffer.from(data).toString('base64'))
const format = fc.constantFrom('converse' as const, 'messages' as const, 'gemini' as const)
const part: fc.Arbitrary<Part> = fc.oneof(
  word.map((text): Part => ({ kind: 'text', text, cache: null })),
  fc
    .record({
      id: fc.stringMatching(/^[\w-]{1,20}$/),
      name: fc.stringMatching(/^[a-z_-]{1,9}$/),
      input: fc.dictionary(word, fc.jsonValue(), { noNullPrototype: true })
    })
    .map(
      ({ id, name, input }): Part => ({
        kind: 'toolCall',
        id,
        name,
        arguments: JSON.stringify(input),
        signature: null,
        cache: null
      })
    ),
  fc.record({ text: word, format, data: bytes, isRedacted: fc.boolean(), isSigned: fc.boolean() }).map(
    ({ text, format: from, data, isRedacted, isSigned }): Part => ({
      kind: 'thinking',
      text: isRedacted ? '' : text,
      signature: isSigned ? { format: from, data } : null,
      isRedacted
    })
  ),
  bytes.map(
    (data): Part => ({
      kind: 'image',
      source: { kind: 'base64', data },
      mediaType: 'image/png',
      name: null,
      detail: null,
      cache: null
    })
  ),
  word.map((text): Part => ({ kind: 'refusal', text })),
  word.map((text): Part => ({ kind: 'opaque', format: 'gemini', value: { text } })),
  fc.constantFrom<Part>(
    {
      kind: 'opaque',
      format: 'converse',
      value: { toolUse: { toolUseId: 'a', name: 'f', input: { x: 1 }, type: 'server_tool_use' } }
    },
    {
      kind: 'opaque',
      format: 'converse',
      value: { toolResult: { toolUseId: 'a', type: 'x', content: [{ text: 'r' }, { json: {} }] } }
    }
  )
)
const tokens = fc.nat({ max: 10_000 })
const answers: fc.Arbitrary<Answer> = fc
  .record({
    parts: fc.array(part, { maxLength: 6 }),
    stop: fc.constantFrom<StopReason>(
      'end',
      'length',
      'stopSequence',
      'tools',
      'filter',
      'refusal',
      'pause',
      'contextWindow',
      'error'
    ),
    stopSequence: fc.option(word),
    usage: fc.option(
      fc.record({ uncached: tokens, cacheRead: tokens, cacheWrite5m: tokens, cacheWrite1h: tokens, output: tokens })
    ),
    tier: fc.constantFrom(null, 'flex')
  })
  .map(({ parts, stop, stopSequence, usage, tier }) => ({
    id: 'x',
    model: 'm',
    created: 1,
    choices: [{ parts, stop, stopSequence, logprobs: null }],
    usage: usage === null ? null : usageOf(usage),
    serviceTier: usage === null ? null : tier,
    origin: { format: 'messages', unknownFields: new Map() }
  }))

function usageOf({
  uncached,
  ...usage
}: {
  uncached: number
  cacheRead: number
  cacheWrite5m: number
  cacheWrite1h: number
  output: number
}): Usage {
  const input = uncached + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h
  return { ...usage, input, inputAudio: 0, inputImage: 0, reasoning: 0, outputAudio: 0, outputImage: 0 }
}

/** The events of an answer, contents in pieces of `size` characters. */
function eventsOf(answer: Answer, size: number): ChatEvent[] {
  const events: ChatEvent[] = [{ kind: 'start', id: 'x', model: 'm', created: 1, usage: null }]
  const choice = 0
  for (const whole of answer.choices[0]!.parts) {
    const text = whole.kind === 'toolCall' ? whole.arguments : 'text' in whole ? whole.text : ''
    const isOpen = whole.kind === 'toolCall' || 'text' in whole
    let begun: Part = whole
    if (whole.kind === 'toolCall') begun = { ...whole, arguments: '' }
    else if (whole.kind === 'thinking') begun = { ...whole, text: '', signature: null }
    else if ('text' in whole) begun = { ...whole, text: '' }
    events.push({ kind: 'begin', choice, part: begun })
    const chars = [...text]
    for (let at = 0; isOpen && at < chars.length; at += size) {
      events.push({ kind: 'delta', choice, text: chars.slice(at, at + size).join(''), logprobs: null })
    }
    if (whole.kind === 'thinking' && whole.signature !== null)
      events.push({ kind: 'signature', choice, signature: whole.signature })
    events.push({ kind: 'end', choice })
  }
  const { stop, stopSequence } = answer.choices[0]!
  events.push({ kind: 'stop', choice, stop, stopSequence })
  if (answer.usage !== null) events.push({ kind: 'usage', usage: answer.usage, serviceTier: answer.serviceTier })
  events.push({ kind: 'done' })
  return events
}

test('streamed is unstreamed: any answer, any pieces, through the binary messages', () => {
  fc.assert(
    fc.property(answers, fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 400 }), (answer, size, cut) => {
      const writer = converse.streamWriter(CONTEXT)
      const wire = Buffer.concat(eventsOf(answer, size).map((event) => frameEvents(writer.write(event))))
      const decoder = new EventStreamDecoder()
      const reader = converse.streamReader()
      const events: ChatEvent[] = []
      for (let at = 0; at < wire.length; at += cut) {
        for (const event of decoder.push(wire.subarray(at, at + cut))) events.push(...reader.read(event))
      }
      decoder.end()
      assert.equal(events.at(-1)?.kind, 'done')
      const streamed = assemble(events, 'converse')
      const unstreamed = converse.readAnswer(JSON.parse(JSON.stringify(write(answer))) as JsonObject)
      assert.deepEqual({ ...streamed, origin: null }, { ...unstreamed, origin: null })
      assert.deepEqual(unstreamed.usage, answer.usage)
    }),
    { numRuns: 1000 }
  )
})
