import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream'
import fc from 'fast-check'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, Json, JsonObject, Part, Signature, Usage } from '#backends/llm/conversation.ts'
import { FormatError, Losses, type WireEvent } from '#backends/llm/formats/format.ts'
import { messages } from '#backends/llm/formats/messages/index.ts'

const CONTEXT = { model: 'alias', wantsUsage: false, at: 0, id: 'fresh' }

function wireEvents(text: string): WireEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((event) => {
      const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(event)!
      return { name: name!, data: data! }
    })
}

const wire = (data: JsonObject): WireEvent => ({ name: String(data.type), data: JSON.stringify(data) })

function readAll(events: readonly WireEvent[]): ChatEvent[] {
  const reader = messages.streamReader()
  return events.flatMap((event) => reader.read(event))
}

function writeAll(events: readonly ChatEvent[]): string {
  const writer = messages.streamWriter(CONTEXT)
  return events.map((event) => writer.write(event)).join('')
}

const block = (index: number, content: JsonObject, ...deltas: JsonObject[]): WireEvent[] => [
  wire({ type: 'content_block_start', index, content_block: content }),
  ...deltas.map((delta) => wire({ type: 'content_block_delta', index, delta })),
  wire({ type: 'content_block_stop', index })
]

const CITATION = { type: 'page_location', cited_text: 'y' }
const START = wire({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude-opus-4-6',
    stop_reason: null,
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 7,
      cache_read_input_tokens: 100,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      output_tokens: 1,
      service_tier: 'standard'
    }
  }
})
const STREAM: readonly WireEvent[] = [
  START,
  wire({ type: 'ping' }),
  ...block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'H' },
    { type: 'thinking_delta', thinking: 'm' },
    { type: 'signature_delta', signature: 'c2ln' }
  ),
  ...block(1, { type: 'redacted_thinking', data: 'ZGF0YQ' }),
  ...block(
    2,
    { type: 'text', text: '', citations: [] },
    { type: 'text_delta', text: 'Ye' },
    { type: 'citations_delta', citation: CITATION },
    { type: 'text_delta', text: 's' }
  ),
  ...block(
    3,
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    { type: 'input_json_delta', partial_json: '{"query":' },
    { type: 'input_json_delta', partial_json: '"q"}' }
  ),
  ...block(4, { type: 'compaction', content: 'a' }, { type: 'compaction_delta', content: 'b', encrypted_content: 'c' }),
  ...block(
    5,
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
    { type: 'input_json_delta', partial_json: '' },
    { type: 'input_json_delta', partial_json: '{"a":1}' }
  ),
  ...block(
    6,
    { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} },
    { type: 'input_json_delta', partial_json: '' }
  ),
  wire({ type: 'new_event' }),
  wire({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 50, output_tokens_details: { thinking_tokens: 20 } }
  }),
  wire({ type: 'message_stop' })
]

test('a streamed answer equals the unstreamed one', () => {
  const unstreamed = messages.readAnswer({
    id: 'msg_1',
    model: 'claude-opus-4-6',
    content: [
      { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'ZGF0YQ' },
      { type: 'text', text: 'Yes', citations: [CITATION] },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
      { type: 'compaction', content: 'ab', encrypted_content: 'c' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
      { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} }
    ],
    stop_reason: 'tool_use',
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 7,
      cache_read_input_tokens: 100,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 20 },
      service_tier: 'standard'
    }
  })
  const events = readAll(STREAM)
  assert.deepEqual(assemble(events, 'messages'), unstreamed)
  assert.deepEqual(events.at(-1), { kind: 'done' })
  assert.deepEqual(assemble(readAll(wireEvents(writeAll(events))), 'messages'), { ...unstreamed, model: 'alias' })
})

test('parts do not overlap, and begin and end once each', () => {
  let isOpen = false
  for (const { kind } of readAll(STREAM)) {
    if (kind === 'begin' || kind === 'end') assert.equal(isOpen, kind === 'end')
    if (kind === 'begin' || kind === 'end') isOpen = kind === 'begin'
    if (kind === 'delta' || kind === 'signature') assert.ok(isOpen)
    if (kind === 'stop' || kind === 'done') assert.ok(!isOpen)
  }
})

test('the input of a call may come whole at its beginning, and totals may come again', () => {
  const usage = { input_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 9, output_tokens: 4 }
  const events = [
    START,
    ...block(0, { type: 'tool_use', id: 'a', name: 'f', input: { a: 1 } }),
    wire({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } }),
    wire({ type: 'message_delta', delta: {}, usage }),
    wire({ type: 'message_stop' })
  ]
  const answer = assemble(readAll(events), 'messages')
  assert.deepEqual(answer.usage, {
    ...NONE,
    input: 14,
    cacheRead: 2,
    cacheWrite5m: 5,
    cacheWrite1h: 4,
    output: 4
  })
  const [part] = answer.choices[0]!.parts
  assert.equal(part?.kind === 'toolCall' && part.arguments, '{"a":1}')
})

test('an error ends the stream in both directions', () => {
  const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  const error = { status: 529, type: 'overloaded', message: 'Overloaded', code: null, param: null } as const
  assert.deepEqual(readAll([wire(body)]), [{ kind: 'error', error }])
  assert.deepEqual(wireEvents(writeAll([{ kind: 'error', error }])), [wire({ ...body, request_id: null })])
})

test('a malformed event is an error with its path', () => {
  const text = { type: 'text', text: '' }
  const begun = wire({ type: 'content_block_start', index: 0, content_block: text })
  const delta = (index: number, of: Json): WireEvent => wire({ type: 'content_block_delta', index, delta: of })
  const wrong: readonly (readonly [field: string, ...WireEvent[]])[] = [
    ['', { name: 'message_start', data: '{' }],
    ['', { name: 'message_start', data: '[]' }],
    ['message', wire({ type: 'message_start' })],
    ['content_block', wire({ type: 'content_block_start', index: 0 })],
    ['content_block.id', wire({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use' } })],
    ['index', wire({ type: 'content_block_start', content_block: text })],
    ['index', delta(0, { type: 'text_delta', text: 'x' })],
    ['index', begun, delta(1, { type: 'text_delta', text: 'x' })],
    ['delta', begun, delta(0, 'x')],
    ['delta.text', begun, delta(0, { type: 'text_delta', text: 1 })],
    ['delta.type', begun, delta(0, { type: 'input_json_delta', partial_json: '{' })],
    ['delta.partial_json', ...block(0, { type: 'server_tool_use' }, { type: 'input_json_delta', partial_json: '{' })],
    ['usage.output_tokens', wire({ type: 'message_delta', delta: {}, usage: { output_tokens: 'x' } })]
  ]
  for (const [field, ...events] of wrong) {
    assert.throws(
      () => readAll(events),
      (error) => error instanceof FormatError && error.field === field,
      field
    )
  }
})

test('a delta without text, another choice and content that the format lacks make no events', () => {
  const image: Part = {
    kind: 'image',
    source: { kind: 'url', url: 'x' },
    mediaType: null,
    name: null,
    detail: null,
    cache: null
  }
  const text: Part = { kind: 'text', text: '', cache: null }
  const silent: readonly ChatEvent[] = [
    { kind: 'begin', choice: 0, part: image },
    { kind: 'end', choice: 0 },
    { kind: 'begin', choice: 0, part: { kind: 'opaque', format: 'gemini', value: {} } },
    { kind: 'end', choice: 0 },
    { kind: 'begin', choice: 1, part: text },
    { kind: 'delta', choice: 1, text: 'x', logprobs: null },
    { kind: 'signature', choice: 1, signature: { format: 'gemini', data: 'x' } },
    { kind: 'end', choice: 1 },
    { kind: 'stop', choice: 1, stop: 'length', stopSequence: null },
    { kind: 'delta', choice: 0, text: '', logprobs: null }
  ]
  assert.equal(writeAll(silent), '')
})

// --- properties ---

const NONE: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  output: 0,
  reasoning: 0,
  outputAudio: 0,
  outputImage: 0
}

const words = fc.string()
const some = fc.string({ minLength: 1 })
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json)
const input = fc.dictionary(some, json, { maxKeys: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonObject)
const signature: fc.Arbitrary<Signature> = fc.record({
  format: fc.constantFrom('messages', 'gemini', 'responses'),
  data: fc.base64String({ minLength: 4 })
})
const fixed = <T extends string | null>(value: T) => fc.constant(value)
const text = fc.record({ kind: fixed('text'), text: words, cache: fixed(null) })
const call = fc.record({
  kind: fixed('toolCall'),
  id: some,
  name: some,
  arguments: fc.oneof(
    fixed(''),
    input.map((value) => JSON.stringify(value))
  ),
  signature: fc.option(signature.filter(({ format }) => format !== 'messages')),
  cache: fixed(null)
})
const thought = fc.oneof(
  fc.record({ kind: fixed('thinking'), text: words, signature: fc.option(signature), isRedacted: fc.constant(false) }),
  fc.record({ kind: fixed('thinking'), text: fixed(''), signature, isRedacted: fc.constant(true) })
)
const ownValue = fc.oneof(
  fc.record({ type: fc.constantFrom<Json>('server_tool_use', 'mcp_tool_use'), input: input as fc.Arbitrary<Json> }),
  fc.record({ type: fixed('weir.citations'), citations: fc.array(json, { minLength: 1 }) }),
  fc.record({ type: fixed('web_search_tool_result'), content: json })
) as fc.Arbitrary<JsonObject>
const opaque = fc.record({ kind: fixed('opaque'), format: fc.constantFrom('messages', 'gemini'), value: ownValue })
const refusal = fc.record({ kind: fixed('refusal'), text: words })
const part = fc.oneof(text, call, thought, opaque, refusal) as fc.Arbitrary<Part>
const usage = fc
  .record({
    plain: fc.nat(1000),
    cacheRead: fc.nat(1000),
    cacheWrite5m: fc.nat(1000),
    cacheWrite1h: fc.nat(1000),
    output: fc.nat(1000),
    reasoning: fc.nat(1000)
  })
  .map(({ plain, output, ...of }) => {
    const input = plain + of.cacheRead + of.cacheWrite5m + of.cacheWrite1h
    return { ...NONE, ...of, input, output: output + of.reasoning }
  })
const choice = fc.record({
  parts: fc.array(part, { maxLength: 6 }),
  stop: fc.constantFrom<Answer['choices'][number]['stop']>('end', 'length', 'tools', 'filter', 'error', 'pause'),
  stopSequence: fc.option(some),
  logprobs: fixed(null)
})
const answer: fc.Arbitrary<Answer> = fc.record({
  id: words,
  model: some,
  created: fc.nat(),
  choices: fc.array(choice, { maxLength: 2 }),
  usage: fc.option(usage),
  serviceTier: fc.option(fc.constantFrom('default', 'priority', 'flex')),
  origin: fc.constant({ format: 'completions', unknownFields: new Map() } as const)
})

/** As a provider tells it: `early` its usage at the start, too, and signatures with the part or after it. */
function eventsOf(of: Answer, isEarly: boolean): ChatEvent[] {
  const events: ChatEvent[] = [
    { kind: 'start', id: of.id, model: of.model, created: of.created, usage: isEarly ? of.usage : null }
  ]
  of.choices.forEach(({ parts, stop, stopSequence }, i) => {
    for (const whole of parts) {
      const hasText = whole.kind === 'text' || whole.kind === 'refusal' || whole.kind === 'thinking'
      const words = hasText ? whole.text : whole.kind === 'toolCall' ? whole.arguments : ''
      const late = (whole.kind === 'thinking' || whole.kind === 'toolCall') && !isEarly ? whole.signature : null
      let bare: Part = hasText ? { ...whole, text: '' } : whole
      if (bare.kind === 'toolCall') bare = { ...bare, arguments: '' }
      if (late !== null && (bare.kind === 'thinking' || bare.kind === 'toolCall')) bare = { ...bare, signature: null }
      events.push({ kind: 'begin', choice: i, part: bare })
      const half = words.length >> 1
      for (const text of [words.slice(0, half), words.slice(half)]) {
        events.push({ kind: 'delta', choice: i, text, logprobs: null })
      }
      if (late !== null) events.push({ kind: 'signature', choice: i, signature: late })
      events.push({ kind: 'end', choice: i })
    }
    events.push({ kind: 'stop', choice: i, stop, stopSequence })
  })
  if (of.usage !== null) events.push({ kind: 'usage', usage: of.usage, serviceTier: of.serviceTier })
  return [...events, { kind: 'done' }]
}

test('property: a streamed answer equals the unstreamed one', () => {
  fc.assert(
    fc.property(answer, fc.boolean(), (of, isEarly) => {
      const whole = of.usage === null ? { ...of, serviceTier: null } : of
      const streamed = assemble(readAll(wireEvents(writeAll(eventsOf(whole, isEarly)))), 'messages')
      const body = JSON.stringify(messages.writeAnswer(whole, CONTEXT, new Losses()))
      const unstreamed = messages.readAnswer(JSON.parse(body) as JsonObject)
      assert.deepEqual(streamed, unstreamed)
    }),
    { numRuns: 1000 }
  )
})

test("property: Anthropic's own client reads the stream as the unstreamed answer", async () => {
  // Its types know all blocks of the stable API; usage of caches by age and the tier are told with the last event.
  const stable = answer.filter(({ choices }) => choices[0]?.parts.every(({ kind }) => kind !== 'opaque') ?? true)
  await fc.assert(
    fc.asyncProperty(stable, fc.boolean(), async (of, isEarly) => {
      const lines = wireEvents(writeAll(eventsOf(of, isEarly))).map(({ data }) => new TextEncoder().encode(`${data}\n`))
      const stream = MessageStream.fromReadableStream(ReadableStream.from(lines))
      const {
        usage,
        stop_details: _,
        parsed_output: __,
        ...final
      } = (await stream.finalMessage()) as unknown as JsonObject
      const { usage: expected, ...body } = messages.writeAnswer(of, CONTEXT, new Losses())
      assert.deepEqual(JSON.parse(JSON.stringify(final)), body)
      const counts = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
      for (const name of counts) assert.equal((usage as JsonObject)[name], (expected as JsonObject)[name], name)
    }),
    { numRuns: 200 }
  )
})
