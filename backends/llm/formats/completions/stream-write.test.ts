import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, Choice, Json, JsonObject, Part, Signature } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { Losses } from '#backends/llm/formats/format.ts'

const CONTEXT = { model: 'gpt-5', wantsUsage: true, at: 1_700_000_000_500, id: 'x' }
const LEGACY: Part = {
  kind: 'toolCall',
  id: 'function_call_0',
  name: 'f',
  arguments: '{}',
  signature: null,
  cache: null
}

/** The events of an answer, every text in pieces of `size`. */
function* eventsOf(answer: Answer, size: number): Generator<ChatEvent> {
  yield { kind: 'start', id: answer.id, model: answer.model, created: answer.created, usage: null }
  for (const [choice, { parts: all, stop, stopSequence, logprobs }] of answer.choices.entries()) {
    let left: Json = logprobs
    for (const part of all) {
      const text = part.kind === 'toolCall' ? part.arguments : 'text' in part ? part.text : ''
      const empty =
        part.kind === 'toolCall' ? { ...part, arguments: '', signature: null } : { ...part, text: '', signature: null }
      yield { kind: 'begin', choice, part: part.kind === 'opaque' || part.kind === 'image' ? part : (empty as Part) }
      for (let i = 0; i < text.length; i += size) {
        yield { kind: 'delta', choice, text: text.slice(i, i + size), logprobs: part.kind === 'text' ? left : null }
        if (part.kind === 'text') left = null
      }
      if ('signature' in part && part.signature !== null) yield { kind: 'signature', choice, signature: part.signature }
      yield { kind: 'end', choice }
    }
    yield { kind: 'stop', choice, stop, stopSequence }
  }
  if (answer.usage !== null) yield { kind: 'usage', usage: answer.usage, serviceTier: answer.serviceTier }
  yield { kind: 'done' }
}

function streamed(answer: Answer, size: number, context = CONTEXT): string {
  const writer = completions.streamWriter(context)
  return [...eventsOf(answer, size)].map((event) => writer.write(event)).join('')
}

function readStream(text: string): ChatEvent[] {
  const reader = completions.streamReader()
  return text.split('\n\n').flatMap((event) => [...reader.read({ name: '', data: event.replace(/^data: /, '') })])
}

const signature: fc.Arbitrary<Signature> = fc.record({
  format: fc.constantFrom('messages', 'gemini', 'responses', 'completions'),
  data: fc.string({ minLength: 1 })
})
const words = fc.string({ minLength: 1, unit: 'grapheme' })
const thoughts = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('thinking' as const),
      text: words,
      signature: fc.option(signature),
      isRedacted: fc.constant(false)
    }),
    fc.record({
      kind: fc.constant('thinking' as const),
      text: fc.constant(''),
      signature,
      isRedacted: fc.constant(true)
    })
  ),
  { maxLength: 4 }
)
const textPart = words.map((text): Part => ({ kind: 'text', text, cache: null }))
const callPart = fc.record({
  kind: fc.constant('toolCall' as const),
  id: fc.string({ minLength: 3, unit: fc.constantFrom('a', 'b', 'c', '1') }),
  name: fc.constantFrom('f', 'g'),
  arguments: fc.oneof(
    fc.constant('{}'),
    fc.json().map((json) => `{"a":${json}}`)
  ),
  signature: fc.option(signature),
  cache: fc.constant(null)
})
const logprobs = fc.option(
  fc.array(fc.record({ token: fc.string(), logprob: fc.integer() }), { minLength: 1, maxLength: 2 })
)
const choice: fc.Arbitrary<Choice> = fc
  .record({
    thoughts,
    text: fc.option(textPart),
    refusal: fc.option(words),
    calls: fc.uniqueArray(callPart, { maxLength: 3, selector: ({ id }) => id }),
    isOpaque: fc.boolean(),
    isLegacy: fc.boolean(),
    logprobs,
    stop: fc.constantFrom(
      'end',
      'length',
      'stopSequence',
      'tools',
      'filter',
      'refusal',
      'pause',
      'contextWindow',
      'error'
    )
  })
  .map((made): Choice => {
    const all: Part[] = [...made.thoughts]
    if (made.text !== null) all.push(made.text)
    if (made.refusal !== null) all.push({ kind: 'refusal', text: made.refusal })
    // A function_call has no id, and ids of calls without one are told by their place.
    if (made.isLegacy) all.push(LEGACY)
    else all.push(...made.calls)
    if (made.isOpaque) all.push({ kind: 'opaque', format: 'completions', value: { annotations: [{ type: 'x' }] } })
    const stopSequence = made.stop === 'stopSequence' ? 'END' : null
    return {
      parts: all,
      stop: made.stop as Choice['stop'],
      stopSequence,
      logprobs: made.text === null ? null : made.logprobs
    }
  })
const tokens = fc.nat({ max: 1000 })
const usage = fc
  .record({
    cacheRead: tokens,
    cacheWrite5m: tokens,
    cacheWrite1h: tokens,
    inputAudio: tokens,
    inputImage: tokens,
    reasoning: tokens,
    outputAudio: tokens,
    outputImage: tokens
  })
  .map((some) => ({ ...some, input: 4000, output: 2000 }))
const answers: fc.Arbitrary<Answer> = fc.record({
  id: fc.string(),
  model: fc.constant('gpt-5'),
  created: fc.nat(),
  choices: fc.array(choice, { minLength: 1, maxLength: 2 }),
  usage: fc.option(usage),
  serviceTier: fc.constant(null),
  origin: fc.constant({ format: 'messages' as const, unknownFields: new Map() })
})

test('streamed is what it is unstreamed', () => {
  const property = fc.property(answers, fc.integer({ min: 1, max: 5 }), (answer, size) => {
    const { origin: _, ...whole } = completions.readAnswer(
      JSON.parse(JSON.stringify(completions.writeAnswer(answer, CONTEXT, new Losses()))) as JsonObject
    )
    const { origin: __, ...again } = assemble(readStream(streamed(answer, size)), 'completions')
    assert.deepEqual(again, whole)
  })
  fc.assert(property, { numRuns: 500 })
})

const PLAIN: Answer = {
  id: 'chatcmpl-1',
  model: 'm',
  created: 1,
  usage: {
    input: 1,
    cacheRead: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    inputAudio: 0,
    inputImage: 0,
    output: 2,
    reasoning: 0,
    outputAudio: 0,
    outputImage: 0
  },
  serviceTier: null,
  origin: { format: 'messages', unknownFields: new Map() },
  choices: [{ parts: [{ kind: 'text', text: 'Hi', cache: null }], stop: 'end', stopSequence: null, logprobs: null }]
}

test('usage is written only for clients that asked', () => {
  const head = { id: 'chatcmpl-1', created: 1, model: 'gpt-5', object: 'chat.completion.chunk' }
  const chunk = (choices: string, more = '') =>
    `data: ${JSON.stringify(head).slice(0, -1)},"choices":[${choices}]${more}}\n\n`
  const choiceText = (deltaText: string, finish: string) => `{"index":0,"delta":${deltaText},"finish_reason":${finish}}`
  const chunks = [
    choiceText('{"role":"assistant","content":""}', 'null'),
    choiceText('{"content":"Hi"}', 'null'),
    choiceText('{}', '"stop"')
  ]
  assert.equal(
    streamed(PLAIN, 9, { ...CONTEXT, wantsUsage: false }),
    `${chunks.map((text) => chunk(text)).join('')}data: [DONE]\n\n`
  )
  const events = streamed(PLAIN, 9).split('\n\n')
  assert.match(events[0] ?? '', /"usage":null\}$/)
  assert.match(events[3] ?? '', /"choices":\[\],"usage":\{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,/)
  assert.equal(events[4], 'data: [DONE]')
})

test('an error takes the place of the rest', () => {
  const writer = completions.streamWriter(CONTEXT)
  const error = { status: 503, type: 'overloaded', message: 'busy', code: null, param: null } as const
  assert.equal(
    writer.write({ kind: 'error', error }),
    'data: {"error":{"message":"busy","type":"overloaded_error","param":null,"code":null}}\n\n'
  )
  assert.equal(writer.write({ kind: 'done' }), '')
})

test('a call without arguments has empty ones', () => {
  const part: Part = { ...LEGACY, id: 'a', arguments: '' } as Part
  const text = streamed({ ...PLAIN, choices: [{ ...PLAIN.choices[0]!, parts: [part], stop: 'tools' }] }, 9)
  assert.match(text, /"tool_calls":\[\{"index":0,"function":\{"arguments":"\{\}"\}\}\]/)
})
