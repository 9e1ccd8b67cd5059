import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { messages } from '#backends/llm/formats/messages/index.ts'

const CACHE = { type: 'ephemeral', ttl: '1h' }
const CITATION = { type: 'char_location', cited_text: 'a', document_index: 0 }

function rewritten(body: JsonObject): [again: JsonObject, losses: string[]] {
  const losses = new Losses()
  const again = messages.writeRequest(messages.readRequest(body, { model: null, isStreamed: null }), losses)
  return [again, losses.fields]
}

const word = fc.string({ minLength: 1 })
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json)
const object = fc.dictionary(word, json, { maxKeys: 3 }) as fc.Arbitrary<JsonObject>
const cache = fc.constantFrom<JsonObject>({ type: 'ephemeral' }, CACHE, { type: 'ephemeral', scope: 's' })
const record = (needed: { [name: string]: fc.Arbitrary<Json> }, optional: { [name: string]: fc.Arbitrary<Json> }) =>
  fc.record({ ...needed, ...optional }, { requiredKeys: Object.keys(needed) }) as fc.Arbitrary<JsonObject>
const constant = (value: string) => fc.constant(value) as fc.Arbitrary<Json>
const list = (of: fc.Arbitrary<JsonObject>, minLength = 0) => fc.array(of, { minLength, maxLength: 4 })

const citations = fc.constant([CITATION])
const textBlock = record({ type: constant('text'), text: word }, { cache_control: cache, citations })
const image = record(
  {
    type: constant('image'),
    source: fc.oneof(
      record({ type: constant('base64'), media_type: constant('image/gif'), data: word }, {}),
      record({ type: constant('url'), url: word }, { extra: json.filter((value) => value !== null) }),
      record({ type: constant('file'), file_id: word }, {})
    )
  },
  { cache_control: cache, transformations: object }
)
const document = record(
  {
    type: constant('document'),
    source: fc.oneof(
      record({ type: constant('text'), media_type: constant('text/plain'), data: word }, {}),
      record({ type: constant('content'), content: word }, {})
    )
  },
  { cache_control: cache, title: word, context: word, citations: fc.constant({ enabled: true }) }
)
const server = record({ type: fc.constantFrom<Json>('server_tool_use', 'search_result', 'new_block') }, { input: json })
/** Exactly one plain text is the same as a string, and is written so. */
const content = (block: fc.Arbitrary<JsonObject>, minLength: number) =>
  fc.oneof(word, list(block, minLength)).filter((value) => {
    const only = Array.isArray(value) && value.length === 1 ? value[0]! : null
    return only?.type !== 'text' || Object.keys(only).length > 2
  }) as fc.Arbitrary<Json>
const toolResult = record(
  { type: constant('tool_result'), tool_use_id: fc.stringMatching(/^[\w-]+$/) },
  {
    content: content(fc.oneof(textBlock, image, document, server), 1),
    is_error: fc.constant(true),
    cache_control: cache
  }
)
const toolUse = record(
  { type: constant('tool_use'), id: fc.stringMatching(/^[\w-]+$/), name: word, input: object },
  { cache_control: cache, caller: object }
)
const thought = fc.oneof(
  record({ type: constant('thinking'), thinking: word, signature: fc.base64String({ minLength: 4 }) }, {}),
  record({ type: constant('redacted_thinking'), data: fc.base64String({ minLength: 4 }) }, {})
)
const block = fc.oneof(textBlock, image, document, server, toolResult, toolUse, thought)
const message = record(
  { role: fc.constantFrom<Json>('user', 'assistant', 'system'), content: content(block, 1) },
  { clear_at: constant('never') }
)
const tool = fc.oneof(
  record(
    { name: word, input_schema: object },
    { description: word, strict: fc.boolean(), cache_control: cache, defer_loading: fc.boolean() }
  ),
  record({ type: constant('bash_20250124'), name: constant('bash') }, { cache_control: cache })
)
const thinking = fc.oneof(
  record({ type: constant('enabled'), budget_tokens: fc.nat() }, { display: constant('omitted'), extra: word }),
  record({ type: fc.constantFrom<Json>('adaptive', 'disabled', 'between_tools') }, {})
)
const outputConfig = record(
  { effort: word },
  { format: record({ type: constant('json_schema'), schema: object }, { extra: word }), task_budget: object }
)
const toolChoice = record(
  { type: fc.constantFrom<Json>('auto', 'any', 'none', 'other') },
  { disable_parallel_tool_use: fc.boolean() }
)
const request = record(
  { model: word, max_tokens: fc.nat(), messages: list(message) },
  {
    system: content(textBlock, 1),
    tools: list(tool, 1),
    tool_choice: toolChoice,
    temperature: fc.constantFrom(0, 0.7, 1, 2),
    top_p: fc.constantFrom(0, 0.5),
    top_k: fc.nat(),
    stop_sequences: fc.array(word, { minLength: 1 }),
    thinking,
    output_config: outputConfig,
    metadata: record({ user_id: word }, { other: word }),
    service_tier: fc.constantFrom<Json>('auto', 'standard_only', 'new'),
    stream: fc.constant(true),
    container: word,
    mcp_servers: list(object),
    context_management: object,
    cache_control: cache
  }
)

test('property: every request of the format is written as it came', () => {
  fc.assert(
    fc.property(request, (body) => {
      const [again, losses] = rewritten(body)
      assert.equal(JSON.stringify(canonical(again)), JSON.stringify(canonical(body)))
      assert.deepEqual(losses, [])
    }),
    { numRuns: 500 }
  )
})

/** Keys in order: the order of fields says nothing. */
function canonical(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return fields.map(([name, of]) => [name, canonical(of)])
}

test('property: any JSON is read, or refused with a path', () => {
  const near = fc.oneof(json, request as fc.Arbitrary<Json>)
  const body = fc.dictionary(fc.constantFrom('model', 'messages', 'system', 'tools', 'thinking', 'metadata', 'x'), near)
  const anyMessages = fc.record({ model: word, messages: fc.array(fc.record({ role: word, content: json })) })
  fc.assert(
    fc.property(fc.oneof(body, anyMessages), (value) => {
      try {
        rewritten(value as JsonObject)
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error))
      }
    }),
    { numRuns: 500 }
  )
})
