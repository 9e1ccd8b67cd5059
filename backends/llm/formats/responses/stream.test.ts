import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import OpenAI from 'openai'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, Json, JsonObject, Part, StopReason } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { responses } from '#backends/llm/formats/responses/index.ts'

const CONTEXT = { model: 'asked', wantsUsage: false, at: 1_700_000_000_000, id: 'i' }

/** The events of an answer: texts in two deltas, where there are two characters. */
function eventsOf(answer: Answer): ChatEvent[] {
  const [choice] = answer.choices
  const events: ChatEvent[] = [
    { kind: 'start', id: answer.id, model: answer.model, created: answer.created, usage: null }
  ]
  let logprobs = choice!.logprobs
  for (const part of choice!.parts) {
    const text = part.kind === 'toolCall' ? part.arguments : 'text' in part ? part.text : ''
    events.push({ kind: 'begin', choice: 0, part: empty(part) })
    for (const half of [text.slice(0, 1), text.slice(1)]) {
      const isFirst: boolean = part.kind === 'text' && logprobs !== null
      if (half !== '' || isFirst)
        events.push({ kind: 'delta', choice: 0, text: half, logprobs: isFirst ? logprobs : null })
      if (isFirst) logprobs = null
    }
    if ('signature' in part && part.signature !== null)
      events.push({ kind: 'signature', choice: 0, signature: part.signature })
    events.push({ kind: 'end', choice: 0 })
  }
  events.push({ kind: 'stop', choice: 0, stop: choice!.stop, stopSequence: choice!.stopSequence })
  if (answer.usage !== null) events.push({ kind: 'usage', usage: answer.usage, serviceTier: answer.serviceTier })
  return [...events, { kind: 'done' }]
}

function empty(part: Part): Part {
  if (part.kind === 'toolCall') return { ...part, arguments: '', signature: null }
  if (part.kind === 'thinking') return { ...part, text: '', signature: null }
  return part.kind === 'text' || part.kind === 'refusal' ? { ...part, text: '' } : part
}

function wireOf(events: readonly ChatEvent[]): string {
  const writer = responses.streamWriter(CONTEXT)
  return events.map((event) => writer.write(event)).join('')
}

function dataOf(wire: string): JsonObject[] {
  return wire
    .split('\n\n')
    .slice(0, -1)
    .map((event) => {
      const [name, data] = event.split('\n')
      const value = JSON.parse(data!.slice('data: '.length)) as JsonObject
      assert.equal(name, `event: ${String(value.type)}`)
      return value
    })
}

function readAll(data: readonly JsonObject[]): ChatEvent[] {
  const reader = responses.streamReader()
  return data.flatMap((value) => reader.read({ name: String(value.type), data: JSON.stringify(value) }))
}

/** Parts do not overlap, and all of them end. */
function isInOrder(events: readonly ChatEvent[]): void {
  let isOpen = false
  for (const { kind } of events) {
    if (kind === 'begin' || kind === 'end') {
      assert.equal(isOpen, kind === 'end')
      isOpen = kind === 'begin'
    } else {
      assert.equal(isOpen, kind === 'delta' || kind === 'signature', kind)
    }
  }
}

const client = (body: string, type: string) =>
  new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': type } }))
  })

const word = fc.string({ maxLength: 4 })
const signature = fc.record(
  { format: fc.constantFrom('messages', 'gemini', 'responses'), data: word },
  { noNullPrototype: true }
)
const foreign = fc.record({ format: fc.constantFrom('messages', 'gemini'), data: word }, { noNullPrototype: true })
const kind = (value: string) => fc.constant(value)
const nothing = fc.constant(null)
const part = fc.oneof(
  fc.record({ kind: kind('text'), text: word, cache: nothing }, { noNullPrototype: true }),
  fc.record({ kind: kind('refusal'), text: word }, { noNullPrototype: true }),
  fc.record(
    { kind: kind('thinking'), text: word, signature: fc.option(signature), isRedacted: fc.constant(false) },
    { noNullPrototype: true }
  ),
  fc.record(
    { kind: kind('thinking'), text: fc.constant(''), signature: foreign, isRedacted: fc.constant(true) },
    { noNullPrototype: true }
  ),
  fc.record(
    { kind: kind('toolCall'), id: word, name: word, arguments: word, signature: fc.option(foreign), cache: nothing },
    { noNullPrototype: true }
  ),
  fc.constant({
    kind: 'image',
    source: { kind: 'base64', data: 'AA' },
    mediaType: 'image/png',
    name: null,
    detail: null,
    cache: null
  }),
  fc.constant({
    kind: 'opaque',
    format: 'responses',
    value: { type: 'web_search_call', id: 'ws', status: 'completed' }
  }),
  fc.constant({ kind: 'opaque', format: 'messages', value: {} })
) as fc.Arbitrary<Part>

const STOPS: readonly StopReason[] = [
  'end',
  'length',
  'stopSequence',
  'tools',
  'filter',
  'refusal',
  'pause',
  'contextWindow'
]
const count = fc.nat(1000)
const answers = fc
  .record({
    parts: fc.array(part, { maxLength: 5 }),
    stop: fc.constantFrom(...STOPS),
    logprobs: fc.option(fc.constant<Json>([{ token: 'a', logprob: -1 }])),
    usage: fc.option(
      fc.record(
        {
          input: count,
          cacheRead: count,
          cacheWrite5m: count,
          cacheWrite1h: count,
          inputAudio: count,
          inputImage: count,
          output: count,
          reasoning: count,
          outputAudio: count,
          outputImage: count
        },
        { noNullPrototype: true }
      )
    ),
    tier: fc.option(fc.constant('flex'))
  })
  .map(
    ({ parts, stop, logprobs, usage, tier }): Answer => ({
      id: 'resp_x',
      model: 'm',
      created: 5,
      choices: [
        { parts, stop, stopSequence: null, logprobs: parts.some((one) => one.kind === 'text') ? logprobs : null }
      ],
      usage,
      // The tier comes with the usage.
      serviceTier: usage === null ? null : tier,
      origin: { format: 'messages', unknownFields: new Map() }
    })
  )

test('a streamed answer is the unstreamed one', () => {
  fc.assert(
    fc.property(answers, (answer) => {
      const unstreamed = responses.readAnswer(responses.writeAnswer(answer, CONTEXT, new Losses()))
      const events = readAll(dataOf(wireOf(eventsOf(answer))))
      isInOrder(events)
      const streamed = assemble(events, 'responses')
      const choices = streamed.choices.length === 0 ? unstreamed.choices : streamed.choices
      assert.deepEqual({ ...streamed, choices, origin: null }, { ...unstreamed, origin: null })
    }),
    { numRuns: 500 }
  )
})

test('all events are numbered, and an item keeps its id', () => {
  fc.assert(
    fc.property(answers, (answer) => {
      const data = dataOf(wireOf(eventsOf(answer)))
      assert.deepEqual(
        data.map((event) => event.sequence_number),
        [...data.keys()]
      )
      const ids = new Map<Json | undefined, Json | undefined>()
      for (const event of data) {
        const id = (event.item as JsonObject | undefined)?.id ?? event.item_id
        if (id === undefined) continue
        assert.equal(ids.get(event.output_index) ?? id, id)
        ids.set(event.output_index, id)
      }
    })
  )
})

test('the official SDK builds the same response from the stream as it reads unstreamed', async () => {
  await fc.assert(
    fc.asyncProperty(answers, async (answer) => {
      const whole = JSON.stringify(responses.writeAnswer(answer, CONTEXT, new Losses()))
      const unstreamed = await client(whole, 'application/json').responses.create({ model: 'm', input: 'x' })
      const stream = client(wireOf(eventsOf(answer)), 'text/event-stream').responses.stream({ model: 'm', input: 'x' })
      const partial: string[] = []
      stream.on('response.output_text.delta', (event) => partial.push(event.delta))
      const streamed = await stream.finalResponse()
      // What the SDK's own parser adds is no matter of the wire.
      const plain = (value: unknown) =>
        JSON.parse(
          JSON.stringify(value, (name, field: unknown) => (/parsed/.test(name) ? undefined : field))
        ) as unknown
      assert.deepEqual(plain({ ...streamed }), plain({ ...unstreamed }))
      assert.equal(partial.join(''), streamed.output_text)
    }),
    { numRuns: 60 }
  )
})

test('an error reaches the SDK, and the reader, once', async () => {
  const error = { status: 529, type: 'overloaded', message: 'busy', code: null, param: null } as const
  const start: ChatEvent = { kind: 'start', id: 'r', model: 'm', created: 1, usage: null }
  const wire = wireOf([start, { kind: 'error', error }, { kind: 'done' }])
  const types = dataOf(wire).map((event) => event.type)
  assert.deepEqual(types, ['response.created', 'response.in_progress', 'error', 'response.failed'])
  const events = readAll(dataOf(wire))
  assert.deepEqual(
    events.map((event) => event.kind),
    ['start', 'error']
  )
  assert.deepEqual(events[1], { kind: 'error', error: { ...error, status: 503, code: 'overloaded_error' } })
  const stream = client(wire, 'text/event-stream').responses.stream({ model: 'm', input: 'x' })
  await assert.rejects(stream.finalResponse())
})

const START = { type: 'response.created', response: { id: 'r', model: 'm', created_at: 1, status: 'in_progress' } }
const done = (fields: JsonObject = {}) => ({
  type: 'response.completed',
  response: { id: 'r', status: 'completed', ...fields }
})
const message = (text: string) => ({
  type: 'message',
  id: 'm',
  role: 'assistant',
  content: [{ type: 'output_text', text }]
})

test('a stream of OpenAI: hosted tools come whole, unknown events are skipped', () => {
  const search = { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search' } }
  const reasoning = { type: 'reasoning', id: 'rs', summary: [] }
  const pieces = ['a', 'b'].map((text) => ({ type: 'summary_text', text }))
  const events = readAll([
    START,
    { type: 'response.output_item.added', output_index: 0, item: reasoning },
    { type: 'response.reasoning_summary_text.delta', item_id: 'rs', output_index: 0, summary_index: 0, delta: 'a' },
    { type: 'response.reasoning_summary_text.delta', item_id: 'rs', output_index: 0, summary_index: 1, delta: 'b' },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { ...reasoning, summary: pieces, encrypted_content: 'g' }
    },
    { type: 'response.output_item.added', output_index: 1, item: { ...search, status: 'in_progress' } },
    { type: 'response.web_search_call.searching', output_index: 1, item_id: 'ws' },
    { type: 'response.unheard_of', anything: 1 },
    { type: 'response.output_item.done', output_index: 1, item: search },
    { type: 'response.output_item.added', output_index: 2, item: { ...message(''), content: [] } },
    { type: 'response.output_text.delta', output_index: 2, content_index: 0, delta: 'Hi', logprobs: [] },
    { type: 'response.output_item.done', output_index: 2, item: message('Hi!') },
    done({ usage: { input_tokens: 1, output_tokens: 2 } })
  ])
  isInOrder(events)
  const answer = assemble(events, 'responses')
  assert.deepEqual(answer.choices[0]!.parts, [
    { kind: 'thinking', text: 'a\n\nb', signature: { format: 'responses', data: 'g' }, isRedacted: false },
    { kind: 'opaque', format: 'responses', value: search },
    { kind: 'text', text: 'Hi!', cache: null }
  ])
  assert.deepEqual([answer.usage?.input, answer.usage?.output], [1, 2])
})

test('items that overlap, and items without events, follow one another', () => {
  const call = (id: string) => ({ type: 'function_call', id, call_id: id, name: 'f', arguments: '' })
  const events = readAll([
    START,
    { type: 'response.output_item.added', output_index: 0, item: call('a') },
    { type: 'response.output_item.added', output_index: 1, item: call('b') },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: '2' },
    { type: 'response.function_call_arguments.delta', output_index: 0, delta: '1' },
    { type: 'response.output_item.done', output_index: 1, item: { ...call('b'), arguments: '2' } },
    { type: 'response.output_item.done', output_index: 0, item: { ...call('a'), arguments: '1' } },
    done({ output: [{ ...call('a'), arguments: '1' }, { ...call('b'), arguments: '2' }, message('x'), call('c')] })
  ])
  isInOrder(events)
  const choice = assemble(events, 'responses').choices[0]!
  const texts = choice.parts.map((part) => (part.kind === 'toolCall' ? part.arguments : part.kind))
  assert.deepEqual(texts, ['1', '2', 'text', '{}'])
  assert.equal(choice.stop, 'tools')
})

test('errors of providers, in the event and in an object of it', () => {
  const nested = {
    type: 'error',
    error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'long' }
  }
  const failed = {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow' } }
  }
  const cases: [JsonObject, string, string][] = [
    [{ type: 'error', code: 'server_error', message: 'm', param: null }, 'internal', 'm'],
    [nested, 'invalidRequest', 'long'],
    [failed, 'rateLimit', 'slow'],
    [{ error: { message: 'x' } }, 'internal', 'x']
  ]
  for (const [event, type, text] of cases) {
    const last = readAll([START, event, done()]).at(-1)
    assert.ok(last?.kind === 'error')
    assert.deepEqual([last.error.type, last.error.message], [type, text])
  }
})

test('events that are none are format errors', () => {
  const reader = responses.streamReader()
  const cases: [string, string][] = [
    ['{', ''],
    ['[]', ''],
    ['{}', 'type'],
    ['{"type":"response.created"}', 'response'],
    ['{"type":"response.output_item.added","item":{}}', 'output_index'],
    ['{"type":"response.output_item.done","output_index":0}', 'item']
  ]
  for (const [data, field] of cases) {
    assert.throws(
      () => reader.read({ name: '', data }),
      (error) => error instanceof FormatError && error.field === field,
      data
    )
  }
  assert.deepEqual(reader.read({ name: '', data: '[DONE]' }), [])
})

test('hostile answers and streams are format errors and nothing else', () => {
  const value = fc.jsonValue({ maxDepth: 2 })
  const item = fc.oneof(
    value,
    fc.dictionary(fc.constantFrom('type', 'id', 'role', 'content', 'summary', 'encrypted_content', 'arguments'), value),
    fc.record({
      type: fc.constantFrom('message', 'reasoning', 'function_call'),
      role: word,
      content: value,
      call_id: word,
      name: word
    })
  )
  const type = fc.constantFrom(
    ...['created', 'output_item.added', 'output_item.done', 'content_part.added', 'output_text.delta', 'completed'],
    ...['refusal.delta', 'reasoning_text.delta', 'function_call_arguments.delta', 'failed']
  )
  const event = fc.record(
    {
      type: fc.oneof(
        type.map((name) => `response.${name}`),
        kind('error')
      ),
      item,
      output_index: fc.oneof(fc.nat(1), value),
      delta: fc.oneof(word, value),
      part: item,
      error: value,
      response: fc.oneof(
        value,
        fc.record({ output: fc.array(item), status: fc.oneof(word, value), usage: value, error: value })
      )
    },
    { requiredKeys: ['type'], noNullPrototype: true }
  ) as fc.Arbitrary<JsonObject>
  const isQuiet = (read: () => unknown) => {
    try {
      read()
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error))
    }
  }
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), (events) => {
      isQuiet(() => readAll(events))
      for (const { response } of events) isQuiet(() => responses.readAnswer((response ?? {}) as JsonObject))
    }),
    { numRuns: 1000 }
  )
})
