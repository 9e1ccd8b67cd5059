import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ClientFormat, Conversation, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { responses } from '#backends/llm/formats/responses/index.ts'
import { requestOrigin } from '#backends/llm/testing/request-origin.ts'

const FROM = { model: null, isStreamed: null }
const read = (body: JsonObject) => responses.readRequest(body, FROM)
const write = (conversation: Conversation, losses = new Losses()) => responses.writeRequest(conversation, losses)
const text = (value: string): Part => ({ kind: 'text', text: value, cache: null })

/** As another format would have read the same, without what only this one knows. */
const foreign = (body: JsonObject, format: ClientFormat, more: Partial<Conversation> = {}): Conversation => ({
  ...read(body),
  origin: requestOrigin(format),
  ...more
})

test('a string, instructions and sampling', () => {
  const body = {
    model: 'gpt-5',
    instructions: 'Be brief.',
    input: 'Hello',
    max_output_tokens: 10,
    temperature: 0.5,
    top_p: 0.9,
    stream: true,
    service_tier: 'flex',
    metadata: { team: 'a' },
    user: 'u'
  }
  const conversation = read(body)
  assert.deepEqual(conversation.system, [text('Be brief.')])
  assert.deepEqual(conversation.turns, [{ role: 'user', parts: [text('Hello')] }])
  assert.deepEqual([conversation.isStreamed, conversation.serviceTier, conversation.user], [true, 'flex', 'u'])
  assert.deepEqual([conversation.sampling.maxTokens, conversation.sampling.topP], [10, 0.9])
  assert.equal(conversation.origin.unknownFields.size, 0)
  assert.deepEqual(write(conversation), body)
})

test('a history of messages, thoughts, calls and results, in turns', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] }
  const body = {
    model: 'm',
    input: [
      { role: 'developer', content: 'Rules' },
      { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
      { ...reasoning, encrypted_content: 'gAAA' },
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{"x":1}', status: 'completed' },
      { type: 'function_call', call_id: 'c2', name: 'g', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'sun' },
      {
        type: 'function_call_output',
        call_id: 'c2',
        output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }]
      },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Sun.', annotations: [] }]
      },
      { role: 'user', content: 'Thanks' }
    ]
  }
  const { system, turns, origin } = read(body)
  assert.deepEqual(system, [text('Rules')])
  assert.deepEqual(
    turns.map((turn) => [turn.role, ...turn.parts.map((part) => part.kind)]),
    [
      ['user', 'text'],
      ['assistant', 'thinking', 'toolCall', 'toolCall'],
      ['user', 'toolResult', 'toolResult'],
      ['assistant', 'text'],
      ['user', 'text']
    ]
  )
  assert.deepEqual(turns[1]!.parts[0], {
    kind: 'thinking',
    text: 'hm',
    signature: { format: 'responses', data: 'gAAA' },
    isRedacted: false
  })
  assert.equal(origin.unknownFields.size, 0, 'ids and statuses are no loss to others')
  assert.deepEqual(write(read(body)), body)
})

test('tools, choice, shape of the answer and thinking', () => {
  const tool = { type: 'function', name: 'f', description: 'F', parameters: { type: 'object' }, strict: true }
  const body = {
    model: 'm',
    input: 'x',
    tools: [tool, { type: 'web_search', search_context_size: 'low' }, { type: 'custom', name: 'c' }],
    tool_choice: { type: 'function', name: 'f' },
    parallel_tool_calls: false,
    text: { format: { type: 'json_schema', name: 's', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
    reasoning: { effort: 'high', summary: 'detailed' }
  }
  const conversation = read(body)
  assert.deepEqual(
    conversation.tools.map((one) => [one.name, one.native === null]),
    [
      ['f', true],
      ['web_search', false],
      ['c', false]
    ]
  )
  assert.deepEqual(conversation.toolChoice, { kind: 'tool', name: 'f', parallel: false })
  assert.deepEqual(conversation.thinking, { mode: 'on', effort: 'high', budgetTokens: null, isShown: true })
  assert.deepEqual([...conversation.origin.unknownFields], [['text.verbosity', 'low']])
  assert.deepEqual(write(conversation), body)
})

test('features of this API alone are unknown fields with their paths; fields without effect elsewhere are not', () => {
  const stateful = {
    previous_response_id: 'resp_1',
    conversation: { id: 'conv_1' },
    prompt: { id: 'p' },
    background: true,
    store: true,
    truncation: 'auto',
    include: ['file_search_call.results'],
    unheard: { of: 1 }
  }
  const body = { model: 'm', input: [{ role: 'user', content: 'x', name: 'n' }], ...stateful }
  assert.deepEqual(
    [...read(body).origin.unknownFields.keys()].sort(),
    [...Object.keys(stateful), 'input[0].name'].sort()
  )
  assert.deepEqual(write(read(body)), body)
  const harmless = {
    store: false,
    background: false,
    truncation: 'disabled',
    include: ['reasoning.encrypted_content'],
    stream_options: { include_obfuscation: false },
    text: { format: { type: 'text' } }
  }
  const quiet = { model: 'm', input: 'x', ...harmless }
  assert.equal(read(quiet).origin.unknownFields.size, 0)
  assert.deepEqual(write(read(quiet)), quiet)
})

test('files, images and audio', () => {
  const content = [
    { type: 'input_image', image_url: 'https://x/y.png', detail: 'high' },
    { type: 'input_image', file_id: 'file-1' },
    { type: 'input_file', file_data: 'data:application/pdf;base64,QQ==', filename: 'a.pdf' },
    { type: 'input_file', file_data: 'QQ==', filename: 'a.pdf' },
    { type: 'input_file', file_url: 'https://x/a.pdf' },
    { type: 'input_audio', input_audio: { data: 'QQ==', format: 'mp3' } },
    { type: 'input_text', text: 't', prompt_cache_breakpoint: { mode: 'explicit' } }
  ]
  const body = { model: 'm', input: [{ type: 'message', role: 'user', content }] }
  const parts = read(body).turns[0]!.parts
  assert.deepEqual(
    parts.map((part) => part.kind),
    ['image', 'image', 'document', 'document', 'document', 'audio', 'text']
  )
  assert.deepEqual(parts[2], {
    kind: 'document',
    source: { kind: 'base64', data: 'QQ==' },
    mediaType: 'application/pdf',
    name: 'a.pdf',
    detail: null,
    cache: null
  })
  assert.deepEqual((parts[6] as { cache: unknown }).cache, { ttl: null })
  assert.deepEqual(write(read(body)), body)
})

test('hosted tools and references are opaque items, and losses elsewhere', () => {
  const items = [
    { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search' } },
    { type: 'item_reference', id: 'x' },
    { type: 'mcp_approval_response', approval_request_id: 'a', approve: true },
    { type: 'message', role: 'user', content: [{ type: 'input_video', url: 'u' }] }
  ]
  const body = { model: 'm', input: items }
  assert.deepEqual(
    read(body).turns.map((turn) => [turn.role, turn.parts.length]),
    [
      ['assistant', 2],
      ['user', 2]
    ]
  )
  assert.deepEqual(write(read(body)), body)
})

test('from other formats: nothing is stored, tools are not strict, thoughts come back', () => {
  const source = { model: 'm', input: 'x', instructions: 'i', tools: [{ type: 'function', name: 'f', parameters: {} }] }
  const thinking = { mode: 'on', effort: null, budgetTokens: 1000, isShown: true } as const
  const user = 'u'.repeat(65)
  const losses = new Losses()
  const body = write(foreign(source, 'messages', { thinking, user, serviceTier: 'standard_only' }), losses)
  assert.deepEqual(
    { ...body, safety_identifier: '' },
    {
      model: 'm',
      instructions: 'i',
      input: [{ type: 'message', role: 'user', content: 'x' }],
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }],
      reasoning: { effort: 'low', summary: 'auto' },
      service_tier: 'default',
      safety_identifier: '',
      store: false,
      include: ['reasoning.encrypted_content']
    }
  )
  assert.match(String(body.safety_identifier), /^[0-9a-f]{64}$/)
  assert.deepEqual(losses.fields, [])
})

test('fields of other formats that this one lacks are losses, by their names there', () => {
  const losses = new Losses()
  const sampling = { ...read({ model: 'm', input: '' }).sampling, stop: ['a'], topK: 3, seed: 1, count: 2 }
  const thought = {
    kind: 'thinking',
    text: 't',
    signature: { format: 'messages', data: 's' },
    isRedacted: false
  } as const
  const result = { kind: 'toolResult', callId: 'c', name: null, content: [], isError: true, cache: null } as const
  const server = { kind: 'opaque', format: 'messages', value: {} } as const
  const video = { ...imagePart, kind: 'video' } as const
  const conversation = foreign({ model: 'm', input: '' }, 'messages', {
    sampling,
    turns: [{ role: 'user', parts: [thought, result, server, video] }],
    origin: requestOrigin('messages', new Map<string, Json>([['container', 'c']]))
  })
  const body = write(conversation, losses)
  assert.deepEqual(losses.fields.sort(), [
    'container',
    'messages[0].content[0]',
    'messages[0].content[1].isError',
    'messages[0].content[2]',
    'messages[0].content[3]',
    'n',
    'seed',
    'stop_sequences',
    'top_k'
  ])
  assert.deepEqual((body.input as JsonObject[])[0], { type: 'function_call_output', call_id: 'c', output: '' })
})

const imagePart = {
  kind: 'image',
  source: { kind: 'base64', data: 'AA' },
  mediaType: 'image/png',
  name: null,
  detail: null,
  cache: null
} as const

test('fields of Chat Completions that are the same here are carried', () => {
  const unknownFields = new Map<string, Json>([
    ['store', true],
    ['prompt_cache_key', 'k'],
    ['verbosity', 'low'],
    ['logit_bias', {}]
  ])
  const losses = new Losses()
  const body = write(
    foreign({ model: 'm', input: 'x' }, 'completions', { origin: requestOrigin('completions', unknownFields) }),
    losses
  )
  assert.deepEqual([body.store, body.prompt_cache_key, body.text], [true, 'k', { verbosity: 'low' }])
  assert.deepEqual(losses.fields, ['logit_bias'])
})

test('wrong input is refused with its path', () => {
  const cases: [JsonObject, string][] = [
    [{ input: 'x' }, 'model'],
    [{ model: 1 }, 'model'],
    [{ model: 'm', input: 3 }, 'input'],
    [{ model: 'm', input: [null] }, 'input[0]'],
    [{ model: 'm', input: [{ role: 'tool', content: '' }] }, 'input[0].role'],
    [{ model: 'm', input: [{ role: 'user' }] }, 'input[0].content'],
    [{ model: 'm', input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input[0].content[0].text'],
    [{ model: 'm', input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input[0].content[0].image_url'],
    [{ model: 'm', input: [{ role: 'user', content: [3] }] }, 'input[0].content[0]'],
    [{ model: 'm', input: [{ type: 'function_call', name: 'f' }] }, 'input[0].call_id'],
    [{ model: 'm', input: [{ type: 'reasoning', summary: [{}] }] }, 'input[0].summary[0].type'],
    [{ model: 'm', tools: [{}] }, 'tools[0].type'],
    [{ model: 'm', tool_choice: 'constructor' }, 'tool_choice'],
    [{ model: 'm', metadata: { a: 1 } }, 'metadata.a'],
    [{ model: 'm', text: { format: { type: 'json_schema', name: 's' } } }, 'text.format.schema'],
    [{ model: 'm', reasoning: 'high' }, 'reasoning']
  ]
  for (const [body, field] of cases) {
    assert.throws(
      () => read(body),
      (error) => error instanceof FormatError && error.field === field,
      field
    )
  }
})

test('names like __proto__ are names, and a great many parts are no trouble', () => {
  const body = JSON.parse('{"model":"m","input":"x","__proto__":{"a":1},"metadata":{"__proto__":"b"}}') as JsonObject
  assert.equal(JSON.stringify(write(read(body)).metadata), '{"__proto__":"b"}')
  assert.ok(Object.hasOwn(write(read(body)), '__proto__'))
  const content = Array.from({ length: 200_000 }, () => ({ type: 'input_text', text: 'x' }))
  assert.equal(
    read({
      model: 'm',
      input: [
        { role: 'system', content },
        { role: 'user', content }
      ]
    }).system.length,
    200_000
  )
})

// --- properties ---

const word = fc.string({ maxLength: 6 })
const json = fc.jsonValue({ maxDepth: 1 }).filter((value) => value !== null) as fc.Arbitrary<Json>
const record = (fields: { [name: string]: fc.Arbitrary<unknown> }, requiredKeys: string[]) =>
  fc.record(fields, { requiredKeys, noNullPrototype: true })
const is = (value: Json) => fc.constant(value)
const breakpoint = { prompt_cache_breakpoint: is({ mode: 'explicit' }) }
const status = fc.constantFrom('in_progress', 'completed', 'incomplete')
const own = { id: word, status, unheard: json }

const inputContent = fc.oneof(
  record({ type: is('input_text'), text: word, ...breakpoint }, ['type', 'text']),
  record(
    { type: is('input_image'), image_url: fc.oneof(word, is('data:image/png;base64,AA')), detail: word, ...breakpoint },
    ['type', 'image_url']
  ),
  record({ type: is('input_file'), file_data: fc.oneof(word, is('data:a/b;base64,AA')), filename: word, x: json }, [
    'type',
    'file_data'
  ]),
  record({ type: is('input_file'), file_id: word, filename: word, detail: word }, ['type', 'file_id'])
)
const audio = record({ data: word, format: fc.constantFrom('mp3', 'wav') }, ['data', 'format'])
const userContent = fc.oneof(
  inputContent,
  record({ type: is('input_audio'), input_audio: audio }, ['type', 'input_audio'])
)
const outputContent = fc.oneof(
  record({ type: is('output_text'), text: word, annotations: fc.array(json, { maxLength: 1 }), logprobs: is([]) }, [
    'type',
    'text'
  ]),
  record({ type: is('refusal'), refusal: word }, ['type', 'refusal']),
  record({ type: is('input_text'), text: word }, ['type', 'text'])
)
const several = (content: fc.Arbitrary<unknown>) => fc.oneof(word, fc.array(content, { maxLength: 3 }))
const piece = (type: string) => fc.array(record({ type: is(type), text: word }, ['type', 'text']), { maxLength: 2 })
const sealed = `weir.${Buffer.from('["gemini","s"]').toString('base64url')}`
const item = fc.oneof(
  record(
    {
      type: is('message'),
      role: fc.constantFrom('user', 'system', 'developer'),
      content: several(userContent),
      ...own
    },
    ['role', 'content']
  ),
  record({ type: is('message'), role: is('assistant'), content: several(outputContent), phase: word, ...own }, [
    'role',
    'content'
  ]),
  record({ type: is('function_call'), call_id: word, name: word, arguments: word, ...own }, [
    'type',
    'call_id',
    'name',
    'arguments'
  ]),
  record({ type: is('function_call_output'), call_id: word, output: several(inputContent), ...own }, [
    'type',
    'call_id',
    'output'
  ]),
  record(
    {
      type: is('reasoning'),
      summary: piece('summary_text'),
      content: piece('reasoning_text').filter((list) => list.length > 0),
      encrypted_content: fc.constantFrom('gA', sealed, `redacted.${sealed}`),
      ...own
    },
    ['type']
  ),
  record({ type: fc.constantFrom('web_search_call', 'mcp_call', 'computer_call_output'), id: word, x: json }, ['type']),
  record({ id: word, type: is('item_reference') }, ['id'])
)
const tool = fc.oneof(
  record(
    {
      type: is('function'),
      name: word,
      description: word,
      parameters: is({ type: 'object' }),
      strict: fc.boolean(),
      defer_loading: fc.boolean()
    },
    ['type', 'name']
  ),
  record({ type: fc.constantFrom('web_search', 'mcp', 'custom'), name: word, x: json }, ['type'])
)
const choice = fc.oneof(
  fc.constantFrom('auto', 'none', 'required'),
  record({ type: is('function'), name: word, x: json }, ['type', 'name']),
  record({ type: fc.constantFrom('allowed_tools', 'mcp'), x: json }, ['type'])
)
const shape = fc.oneof(
  is({ type: 'text' }),
  is({ type: 'json_object' }),
  record({ type: is('json_schema'), name: word, schema: is({}), description: word, strict: fc.boolean(), x: json }, [
    'type',
    'name',
    'schema'
  ]),
  is({ type: 'grammar', syntax: 'lark' })
)
const request = record(
  {
    model: word.filter((name) => name !== ''),
    input: fc.oneof(word, fc.array(item, { maxLength: 6 })),
    instructions: word,
    stream: fc.boolean(),
    stream_options: record({ include_obfuscation: fc.boolean(), x: json }, []),
    tools: fc.array(tool, { maxLength: 3 }),
    tool_choice: choice,
    parallel_tool_calls: fc.boolean(),
    text: record({ format: shape, verbosity: word }, []),
    reasoning: record(
      { effort: fc.constantFrom('none', 'low', 'max'), summary: fc.constantFrom('auto', 'concise'), mode: word },
      []
    ),
    max_output_tokens: fc.nat(),
    temperature: fc.double({ noNaN: true }),
    top_p: fc.double({ noNaN: true }),
    top_logprobs: fc.nat(),
    include: fc.array(fc.constantFrom('reasoning.encrypted_content', 'message.output_text.logprobs', 'other'), {
      maxLength: 2
    }),
    service_tier: word,
    user: word,
    safety_identifier: word,
    metadata: fc.dictionary(word, word, { noNullPrototype: true }),
    truncation: fc.constantFrom('auto', 'disabled'),
    store: fc.boolean(),
    background: fc.boolean(),
    previous_response_id: word,
    conversation: json,
    prompt: json,
    prompt_cache_key: word,
    max_tool_calls: fc.nat(),
    unheard: json
  },
  ['model']
) as fc.Arbitrary<JsonObject>

test('a request is written as it was read, whatever fields it has', () => {
  fc.assert(
    fc.property(request, (body) => {
      const losses = new Losses()
      assert.deepEqual(write(read(body), losses), body)
      assert.deepEqual(losses.fields, [])
    }),
    { numRuns: 500 }
  )
})

test('hostile bodies are format errors and nothing else', () => {
  const hostile = fc.dictionary(
    fc.constantFrom(
      'model',
      'input',
      'tools',
      'text',
      'reasoning',
      'tool_choice',
      'include',
      'metadata',
      'stream_options'
    ),
    fc.oneof(
      json,
      item,
      fc.array(fc.oneof(json, item, tool)),
      is([{ type: 'message', role: 'user', content: [{}] }]) as fc.Arbitrary<unknown>
    )
  ) as fc.Arbitrary<JsonObject>
  fc.assert(
    fc.property(hostile, (body) => {
      try {
        write(read(body))
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error))
      }
    }),
    { numRuns: 500 }
  )
})
