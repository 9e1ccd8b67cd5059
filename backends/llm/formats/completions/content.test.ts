import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Conversation, JsonObject, Part } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { requestOrigin } from '#backends/llm/testing/request-origin.ts'

const NOWHERE = { model: null, isStreamed: null }
const read = (body: object): Conversation => completions.readRequest(body as JsonObject, NOWHERE)
const HI = { role: 'user', content: 'Hi' }
const ask = (body: object): JsonObject => ({ model: 'gpt-5', messages: [HI], ...body }) as JsonObject
const requestWith = (...messages: object[]): JsonObject => ({ model: 'gpt-5', messages }) as JsonObject

function written(conversation: Conversation): { readonly body: JsonObject; readonly losses: readonly string[] } {
  const losses = new Losses()
  return { body: completions.writeRequest(conversation, losses), losses: losses.fields }
}

/** As another format would have read it. */
function foreign(parts: Partial<Conversation>, rest: readonly (readonly [string, string])[] = []): Conversation {
  return { ...read(ask({})), ...parts, origin: requestOrigin('messages', new Map(rest)) }
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a": 1.0}' } }
const PNG = 'data:image/png;base64,iVBORw0KGgo='

test('a request says what it says', () => {
  const { turns, system, tools, sampling, thinking, origin } = read({
    ...requestWith(
      { role: 'system', content: 's' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: PNG } }] },
      {
        role: 'assistant',
        tool_calls: [{ ...CALL, extra_content: { google: { thought_signature: 'c2ln' } } }, CALL],
        thinking_blocks: [{ type: 'thinking', thinking: 't', signature: 'x' }]
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'r' },
      { role: 'tool', tool_call_id: 'call_2', content: 'r' }
    ),
    reasoning_effort: 'low',
    max_tokens: 9,
    stop: 'x',
    logit_bias: { '1': 2 },
    stream_options: { include_usage: true }
  })
  assert.deepEqual(system, [{ kind: 'text', text: 's', cache: null }])
  assert.deepEqual(
    turns.map((turn) => [turn.role, turn.parts.map((part) => part.kind)]),
    [
      ['user', ['image']],
      ['assistant', ['thinking', 'toolCall', 'toolCall']],
      ['user', ['toolResult', 'toolResult']]
    ]
  )
  const image = turns[0]?.parts[0]
  assert.ok(image?.kind === 'image')
  assert.deepEqual([image.source, image.mediaType], [{ kind: 'base64', data: 'iVBORw0KGgo=' }, 'image/png'])
  const [thought, call] = turns[1]?.parts ?? []
  assert.deepEqual(thought?.kind === 'thinking' && thought.signature, { format: 'messages', data: 'x' })
  assert.deepEqual(call?.kind === 'toolCall' && call.signature, { format: 'gemini', data: 'c2ln' })
  assert.deepEqual([tools.length, sampling.maxTokens, sampling.stop, thinking?.effort], [0, 9, ['x'], 'low'])
  assert.deepEqual([...origin.unknownFields], [['logit_bias', { '1': 2 }]])
})

test('the model of the path wins', () => {
  const { model, isStreamed } = completions.readRequest(requestWith(HI), { model: 'deployment', isStreamed: true })
  assert.deepEqual([model, isStreamed], ['deployment', true])
})

const text = (value: string) => ({ kind: 'text', text: value, cache: null }) as const
const image = {
  kind: 'image',
  source: { kind: 'base64', data: 'AA==' },
  mediaType: 'image/png',
  name: null,
  detail: null,
  cache: null
} as const
const result = {
  kind: 'toolResult',
  callId: 'c',
  name: null,
  content: [text('x')],
  isError: false,
  cache: null
} as const

test('fields of other formats are written here', () => {
  const opaque: Part = { kind: 'opaque', format: 'messages', value: { type: 'server_tool_use', id: 'x' } }
  const { body, losses } = written(
    foreign(
      {
        system: [text('s'), text('t')],
        turns: [
          {
            role: 'user',
            parts: [text('q'), { ...result, isError: true }, { ...result, content: [text('see'), image] }]
          },
          {
            role: 'assistant',
            parts: [
              { kind: 'thinking', text: 'Hm.', signature: { format: 'messages', data: 'sig' }, isRedacted: false },
              opaque
            ]
          },
          { role: 'user', parts: [result, { ...image, source: { kind: 'file', id: 'f' } }] }
        ],
        isStreamed: true,
        sampling: { ...read(ask({})).sampling, maxTokens: 5, topK: 3 },
        thinking: { mode: 'on', effort: null, budgetTokens: 9000, isShown: true },
        serviceTier: 'standard_only'
      },
      [['container', 'c']]
    )
  )
  assert.deepEqual(body, {
    model: 'gpt-5',
    messages: [
      {
        role: 'system',
        content: [
          { type: 'text', text: 's' },
          { type: 'text', text: 't' }
        ]
      },
      { role: 'tool', tool_call_id: 'c', content: 'Error: x' },
      { role: 'tool', tool_call_id: 'c', content: 'see' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          { type: 'text', text: 'q' }
        ]
      },
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'Hm.',
        thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }]
      },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
      { role: 'user', content: '' }
    ],
    max_completion_tokens: 5,
    reasoning_effort: 'high',
    service_tier: 'default',
    stream: true,
    stream_options: { include_usage: true }
  })
  assert.deepEqual(losses, ['messages[1].content[1]', 'messages[2].content[1]', 'top_k', 'container'])
})

test('signatures of others travel sealed and come back', () => {
  const parts: Part[] = [
    { kind: 'thinking', text: '', signature: { format: 'responses', data: 'enc' }, isRedacted: true },
    { kind: 'toolCall', id: 'c', name: 'f', arguments: '{}', signature: { format: 'messages', data: 's' }, cache: null }
  ]
  const { body } = written(foreign({ turns: [{ role: 'assistant', parts }] }))
  assert.deepEqual(read(body).turns[0]?.parts, parts)
})

const WRONG: readonly (readonly [field: string, body: unknown])[] = [
  ['model', { messages: [HI] }],
  ['messages', { model: 'm' }],
  ['messages', { model: 'm', messages: 'Hi' }],
  ['messages[0]', requestWith([])],
  ['messages[0].role', requestWith({ content: 'x' })],
  ['messages[0].role', requestWith({ role: 'nobody', content: 'x' })],
  ['messages[0].content', requestWith({ role: 'user' })],
  ['messages[0].content', requestWith({ role: 'user', content: 3 })],
  ['messages[0].content[0]', requestWith({ role: 'user', content: ['x'] })],
  ['messages[0].content[0].type', requestWith({ role: 'user', content: [{}] })],
  ['messages[0].content[0].text', requestWith({ role: 'user', content: [{ type: 'text' }] })],
  [
    'messages[0].content[0].image_url.url',
    requestWith({ role: 'user', content: [{ type: 'image_url', image_url: {} }] })
  ],
  ['messages[0].tool_calls[0].function.name', requestWith({ role: 'assistant', tool_calls: [{ function: {} }] })],
  ['messages[0].tool_call_id', requestWith({ role: 'tool', content: 'x' })],
  ['messages[0].thinking_blocks[0].type', requestWith({ role: 'assistant', thinking_blocks: [{}] })],
  ['tools[0].function', ask({ tools: [{ type: 'function' }] })],
  ['tool_choice', ask({ tool_choice: 3 })],
  ['stop', ask({ stop: [1] })],
  ['response_format.json_schema', ask({ response_format: { type: 'json_schema' } })],
  ['metadata.a', ask({ metadata: { a: 1 } })],
  ['stream_options', ask({ stream_options: true })],
  ['top_p', ask({ top_p: 'x' })]
]

for (const [field, body] of WRONG) {
  test(`what is wrong is refused with its path: ${field}`, () => {
    const isOfField = (error: unknown) => error instanceof FormatError && error.field === field
    assert.throws(() => read(body as JsonObject), isOfField)
  })
}

/** Fields that are looked into. */
const NAMES = ['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls', 'response_format', 'stop']
NAMES.push('stream', 'stream_options', 'reasoning_effort', 'metadata', 'user', 'logprobs', 'max_tokens', '__proto__')

test('any JSON in any place is read or refused, and written again', () => {
  const words = fc.constantFrom(
    '__proto__',
    'type',
    'text',
    'function',
    'role',
    'content',
    'constructor',
    'a.b',
    'x[0]'
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      words,
      fc.integer(),
      fc.constant(null),
      fc.boolean(),
      tie('list'),
      tie('object')
    ),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(words, tie('value'), { maxKeys: 4, noNullPrototype: true })
  }))
  const body = fc.dictionary(fc.constantFrom(...NAMES), value, { noNullPrototype: true })
  const property = fc.property(
    body,
    fc.array(fc.constantFrom('user', 'assistant', 'tool', 'system')),
    value,
    (some, roles, content) => {
      const messages = roles.map((role) => ({
        role,
        content,
        tool_calls: content,
        thinking_blocks: content,
        tool_call_id: 'x'
      }))
      try {
        written(read(JSON.parse(JSON.stringify({ model: 'm', messages, ...some })) as JsonObject))
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error))
      }
      assert.equal(({} as Record<string, unknown>).type, undefined)
    }
  )
  fc.assert(property, { numRuns: 500 })
})

test('a field named __proto__ is one like others', () => {
  const body = JSON.parse('{"model":"m","messages":[{"role":"user","content":"x","__proto__":{"a":1}}],"__proto__":2}')
  assert.equal(JSON.stringify(written(read(body)).body), JSON.stringify(body))
})

test('very many parts are no more than many, in requests and answers', () => {
  const content = Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'a' }))
  const { body } = written(read(requestWith({ role: 'system', content }, HI)))
  const [first] = body.messages as readonly JsonObject[]
  assert.equal((first!.content as readonly JsonObject[]).length, content.length)
  const results = Array.from({ length: 200_000 }, () => image)
  const shown = written(foreign({ turns: [{ role: 'user', parts: [{ ...result, content: results }] }] }))
  assert.equal((shown.body.messages as readonly JsonObject[]).length, 2)
  const images = Array.from({ length: 20_000 }, () => ({ type: 'image_url', image_url: { url: PNG } }))
  const answer = completions.readAnswer({ choices: [{ message: { images } }] })
  const context = { model: 'm', wantsUsage: false, at: 0, id: 'x' }
  const [choice] = completions.writeAnswer(answer, context, new Losses()).choices as readonly JsonObject[]
  assert.equal(((choice!.message as JsonObject).images as readonly JsonObject[]).length, 20_000)
})
