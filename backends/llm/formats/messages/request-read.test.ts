import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { messages } from '#backends/llm/formats/messages/index.ts'

const FROM = { model: null, isStreamed: null }
const read = (body: JsonObject) => messages.readRequest(body, FROM)

function written(conversation: Conversation): [body: JsonObject, losses: string[]] {
  const losses = new Losses()
  return [messages.writeRequest(conversation, losses), losses.fields]
}

const base = { model: 'claude-sonnet-4-5', max_tokens: 1024 }
const requestWith = (fields: JsonObject): JsonObject => ({
  ...base,
  messages: [{ role: 'user', content: 'Hi' }],
  ...fields
})
const userTurn = (...content: Json[]): JsonObject => ({ ...base, messages: [{ role: 'user', content }] })
const replied = (...content: Json[]): JsonObject => ({ ...base, messages: [{ role: 'assistant', content }] })

const CACHE = { type: 'ephemeral', ttl: '1h' }
const CITATION = { type: 'char_location', cited_text: 'a', document_index: 0, start_char_index: 0, end_char_index: 1 }
const png = { type: 'base64', media_type: 'image/png', data: 'iVBO' }

const KEPT: { readonly [name: string]: JsonObject } = {
  'system as text': requestWith({ system: 'Be brief.' }),
  'system as blocks': requestWith({
    system: [
      { type: 'text', text: 'a', cache_control: CACHE },
      { type: 'text', text: 'b' }
    ]
  }),
  'cited system': requestWith({ system: [{ type: 'text', text: 'a', citations: [CITATION] }] }),
  'text with citations': userTurn({
    type: 'text',
    text: 'a',
    citations: [CITATION],
    cache_control: { type: 'ephemeral' }
  }),
  'image, base64': userTurn({ type: 'image', source: png, transformations: { oversized_image: 'error' } }),
  'image, url': userTurn({
    type: 'image',
    source: { type: 'url', url: 'https://a.example/b.png' },
    cache_control: CACHE
  }),
  'image, file': userTurn({ type: 'image', source: { type: 'file', file_id: 'file_1' } }),
  'document, base64': userTurn({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
    title: 'T',
    context: 'C',
    citations: { enabled: true }
  }),
  'document, text': userTurn({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } }),
  'document, url': userTurn({ type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } }),
  'document, file': userTurn({ type: 'document', source: { type: 'file', file_id: 'file_1' } }),
  'document of blocks': userTurn({
    type: 'document',
    source: { type: 'content', content: [{ type: 'text', text: 'a' }] }
  }),
  'search result': userTurn({ type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] }),
  'tool use': replied({
    type: 'tool_use',
    id: 'toolu_1',
    name: 'f',
    input: { a: [1, { b: null }] },
    cache_control: CACHE,
    caller: { type: 'direct' }
  }),
  'tool results': userTurn(
    { type: 'tool_result', tool_use_id: 'toolu_1', content: 'text', is_error: true, cache_control: CACHE },
    { type: 'tool_result', tool_use_id: 'toolu_2' },
    { type: 'tool_result', tool_use_id: 'toolu_3', content: '' },
    {
      type: 'tool_result',
      tool_use_id: 'toolu_4',
      content: [
        { type: 'tool_reference', tool_name: 'f' },
        { type: 'text', text: 'a', citations: [CITATION] },
        { type: 'search_result', source: 's', title: 't', content: [] },
        { type: 'image', source: png },
        { type: 'document', source: { type: 'content', content: 'x' } }
      ]
    }
  ),
  thinking: replied(
    { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'ZGF0YQ' },
    { type: 'text', text: 'Yes' }
  ),
  'server tools': replied(
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' }, cache_control: CACHE },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_2', content: { type: 'x' } },
    { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'n', server_name: 's', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [] },
    { type: 'container_upload', file_id: 'file_1' }
  ),
  tools: requestWith({
    tools: [
      { name: 'f', description: 'd', input_schema: { type: 'object' }, strict: true, cache_control: CACHE },
      { name: 'g', input_schema: { type: 'object' }, defer_loading: true, input_examples: [{ a: 1 }] },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 5, cache_control: CACHE },
      { type: 'mcp_toolset', mcp_server_name: 's' }
    ],
    tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true }
  }),
  'tool choice any': requestWith({ tool_choice: { type: 'any', disable_parallel_tool_use: false } }),
  'tool choice none': requestWith({ tool_choice: { type: 'none' } }),
  'tool choice of a new kind': requestWith({ tool_choice: { type: 'some', of: ['f'] } }),
  sampling: requestWith({ temperature: 1, top_p: 0.5, top_k: 3, stop_sequences: ['a', 'b'] }),
  'thinking, enabled': requestWith({ thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' } }),
  'thinking, disabled': requestWith({ thinking: { type: 'disabled' } }),
  'thinking, adaptive': requestWith({
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'max', task_budget: { type: 'tokens', total: 9 } }
  }),
  'thinking between tools': requestWith({ thinking: { type: 'between_tools' }, output_config: { effort: 'low' } }),
  'structured output': requestWith({
    output_config: { effort: 'low', format: { type: 'json_schema', schema: { a: 1 } } }
  }),
  'an output format of a new kind': requestWith({ output_config: { format: { type: 'grammar', text: 'x' } } }),
  metadata: requestWith({ metadata: { user_id: 'u' } }),
  'metadata of a new kind': requestWith({ metadata: { trace: 'u' } }),
  tiers: requestWith({ service_tier: 'standard_only', stream: true }),
  'the rest': requestWith({
    anthropic_version: 'vertex-2023-10-16',
    cache_control: { type: 'ephemeral' },
    container: { id: 'c', skills: [] },
    context_management: { edits: [] },
    inference_geo: 'eu',
    mcp_servers: [{ type: 'url', url: 'https://a.example', name: 's' }],
    speed: 'fast'
  }),
  'system messages': {
    ...base,
    messages: [
      { role: 'user', content: 'a' },
      { role: 'system', content: 'b', clear_at: 'next_user_message' },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: 'd' },
      { role: 'user', content: [{ type: 'text', text: 'e', cache_control: { type: 'ephemeral', scope: 'new' } }] },
      { role: 'system', output_config: { effort: 'low' } }
    ]
  }
}

for (const [name, body] of Object.entries(KEPT)) {
  test(`a request of the format is written as it came: ${name}`, () => {
    const [again, losses] = written(read(body))
    assert.deepEqual([again, losses], [body, []])
  })
}

test('spellings that the API documents to be the same become one', () => {
  const body = requestWith({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    tools: [{ type: 'custom', name: 'f', input_schema: { type: 'object' } }],
    output_format: { type: 'json_schema', schema: {} },
    stream: false,
    temperature: null
  })
  const [again] = written(read(body))
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  const output = { format: { type: 'json_schema', schema: {} } }
  assert.deepEqual(again, requestWith({ tools, output_config: output }))
})

test('a request is read field by field', () => {
  const body = requestWith({
    ...KEPT.sampling,
    messages: KEPT['tool use']!.messages!,
    system: 'S',
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 2000 },
    metadata: { user_id: 'u' },
    service_tier: 'standard_only',
    output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } }
  })
  const conversation = messages.readRequest(body, { model: 'claude-x', isStreamed: true })
  assert.deepEqual([conversation.model, conversation.isStreamed], ['claude-x', true])
  assert.deepEqual(conversation.system, [{ kind: 'text', text: 'S', cache: null }])
  const call = { kind: 'toolCall', id: 'toolu_1', name: 'f', arguments: '{"a":[1,{"b":null}]}', signature: null }
  assert.deepEqual(conversation.turns, [{ role: 'assistant', parts: [{ ...call, cache: { ttl: '1h' } }] }])
  assert.deepEqual(conversation.toolChoice, { kind: 'any', name: null, parallel: false })
  assert.deepEqual(conversation.thinking, { mode: 'on', effort: 'high', budgetTokens: 2000, isShown: null })
  assert.deepEqual(conversation.output, {
    kind: 'schema',
    name: null,
    description: null,
    schema: { type: 'object' },
    strict: null
  })
  const { maxTokens, temperature, topP, topK, stop } = conversation.sampling
  assert.deepEqual([maxTokens, temperature, topP, topK, stop], [1024, 1, 0.5, 3, ['a', 'b']])
  assert.deepEqual([conversation.user, conversation.serviceTier], ['u', 'default'])
  assert.deepEqual([...conversation.origin.unknownFields], [['messages[0].content[0].caller', { type: 'direct' }]])
})

const deep = (() => {
  let value: Json = 1
  for (let i = 0; i < 200_000; i++) value = [value]
  return value
})()

const WRONG: readonly (readonly [body: JsonObject, field: string])[] = [
  [{ messages: [] }, 'model'],
  [{ model: 3, messages: [] }, 'model'],
  [{ model: 'm' }, 'messages'],
  [{ model: 'm', messages: {} }, 'messages'],
  [requestWith({ messages: [3] }), 'messages[0]'],
  [requestWith({ messages: [{ content: 'x' }] }), 'messages[0].role'],
  [requestWith({ messages: [{ role: 'tool', content: 'x' }] }), 'messages[0].role'],
  [requestWith({ messages: [{ role: 'user' }] }), 'messages[0].content'],
  [userTurn('x'), 'messages[0].content[0]'],
  [userTurn({ text: 'x' }), 'messages[0].content[0].type'],
  [userTurn({ type: 'text' }), 'messages[0].content[0].text'],
  [userTurn({ type: 'text', text: 'x', cache_control: 'yes' }), 'messages[0].content[0].cache_control'],
  [userTurn({ type: 'image' }), 'messages[0].content[0].source'],
  [userTurn({ type: 'image', source: { type: 'base64' } }), 'messages[0].content[0].source.data'],
  [userTurn({ type: 'tool_result', content: 'x' }), 'messages[0].content[0].tool_use_id'],
  [userTurn({ type: 'tool_result', tool_use_id: 'x', content: 3 }), 'messages[0].content[0].content'],
  [replied({ type: 'tool_use', id: 'x', name: 'f', input: deep }), 'messages[0].content[0].input'],
  [replied({ type: 'thinking', thinking: 1 }), 'messages[0].content[0].thinking'],
  [requestWith({ system: 3 }), 'system'],
  [requestWith({ system: [{ type: 'image', source: png }] }), 'system'],
  [requestWith({ tools: [{ name: 'f' }] }), 'tools[0].input_schema'],
  [requestWith({ tools: 'x' }), 'tools'],
  [requestWith({ tool_choice: 'auto' }), 'tool_choice'],
  [requestWith({ tool_choice: { type: 'tool' } }), 'tool_choice.name'],
  [requestWith({ stop_sequences: ['a', 1] }), 'stop_sequences[1]'],
  [requestWith({ thinking: { type: 'enabled' } }), 'thinking.budget_tokens'],
  [requestWith({ metadata: { user_id: 1 } }), 'metadata.user_id'],
  [requestWith({ max_tokens: '1' }), 'max_tokens'],
  [requestWith({ 'messages[0].content[1]': { type: 'text', text: 'unseen' } }), 'messages[0].content[1]'],
  [requestWith({ messages: [{ role: 'user', content: 'a', 'content[0].b': 'unseen' }] }), 'messages[0].content[0].b']
]

test('a field of the wrong type is refused with its path', () => {
  for (const [body, field] of WRONG) {
    assert.throws(
      () => read(body),
      (error) => error instanceof FormatError && error.field === field,
      field
    )
  }
})

test('a field called __proto__ is a field like any other', () => {
  const body = JSON.parse(`{"model":"m","max_tokens":1,"messages":[],"__proto__":{"polluted":true},
    "tools":[{"name":"f","input_schema":{"type":"object","__proto__":{"a":1}},"__proto__":{"b":2}}]}`) as JsonObject
  assert.equal(JSON.stringify(sorted(written(read(body))[0])), JSON.stringify(sorted(body)))
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

function sorted(value: JsonObject): [string, Json][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}
