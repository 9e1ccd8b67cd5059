import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Conversation, JsonObject, Sampling } from '#backends/llm/conversation.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { messages } from '#backends/llm/formats/messages/index.ts'
import { requestOrigin } from '#backends/llm/testing/request-origin.ts'
import { sealSignature } from '#backends/llm/translate/signature.ts'

function written(conversation: Conversation): [body: JsonObject, losses: string[]] {
  const losses = new Losses()
  return [messages.writeRequest(conversation, losses), losses.fields]
}

const SAMPLING: Sampling = {
  maxTokens: null,
  temperature: null,
  topP: null,
  topK: null,
  stop: [],
  seed: null,
  frequencyPenalty: null,
  presencePenalty: null,
  count: null,
  topLogprobs: null
}
const text = (words: string) => ({ kind: 'text', text: words, cache: null }) as const
const OTHER: Conversation = {
  model: 'claude-sonnet-4-5',
  isStreamed: false,
  system: [],
  turns: [{ role: 'user', parts: [text('Hi')] }],
  tools: [],
  toolChoice: null,
  sampling: SAMPLING,
  output: null,
  thinking: null,
  serviceTier: null,
  user: null,
  metadata: null,
  origin: requestOrigin('completions')
}
const other = (change: Partial<Conversation>) => written({ ...OTHER, ...change })
const call = { kind: 'toolCall', id: 'call.1', name: 'f', arguments: '{"a":1}', signature: null, cache: null } as const
const result = { kind: 'toolResult', callId: 'call.1', name: 'f', isError: false, cache: null } as const

test('turns of one role in a row become one, results of tools first', () => {
  const [body, losses] = other({
    system: [text('a'), text('b')],
    turns: [
      { role: 'user', parts: [text('Hi')] },
      { role: 'assistant', parts: [text(''), call] },
      { role: 'user', parts: [text('and')] },
      { role: 'user', parts: [{ ...result, content: [text('r'), text('')] }] },
      { role: 'user', parts: [text('then')] }
    ]
  })
  const id = 'toolu_Y2FsbC4x'
  assert.deepEqual(body.system, [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' }
  ])
  assert.deepEqual(body.messages, [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: { a: 1 } }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: id, content: 'r' },
        { type: 'text', text: 'and' },
        { type: 'text', text: 'then' }
      ]
    }
  ])
  assert.deepEqual(losses, [])
})

test('system messages stand where the API takes them, and are losses elsewhere', () => {
  const user = { role: 'user', parts: [text('u')] } as const
  const assistant = { role: 'assistant', parts: [text('a')] } as const
  const system = { role: 'system', parts: [text('s')] } as const
  const turns = [user, system, system, assistant, system, user, system]
  const [body, losses] = other({ model: 'claude-opus-4-8', turns })
  const roles = (body.messages as readonly JsonObject[]).map(({ role }) => role)
  assert.deepEqual(roles, ['user', 'system', 'assistant', 'user', 'system'])
  assert.deepEqual(losses, ['turns[4]'])
  assert.deepEqual(other({ turns: [user, system, assistant] })[1], ['turns[1]'])
  assert.deepEqual(other({ model: 'claude-opus-4-8', turns: [user, system, user] })[1], ['turns[1]'])
})

test('max_tokens is what the model can, when the caller set no limit', () => {
  const limits: readonly (readonly [string, number])[] = [
    ['claude-3-haiku-20240307', 4096],
    ['claude-2.1', 4096],
    ['anthropic.claude-3-5-sonnet-20241022-v2:0', 8192],
    ['claude-3-5-haiku@20241022', 8192],
    ['claude-3-7-sonnet-latest', 64_000],
    ['claude-opus-4-20250514', 32_000],
    ['claude-opus-4-1@20250805', 32_000],
    ['claude-opus-4-5', 64_000],
    ['claude-opus-4-7', 128_000],
    ['claude-opus-5', 128_000],
    ['claude-sonnet-4-6', 128_000],
    ['claude-haiku-5-5', 128_000],
    ['claude-fable-5-1', 128_000],
    ['claude-sonnet-4-20250514', 64_000],
    ['claude-haiku-4-5-20251001', 64_000],
    ['kimi-k2', 4096]
  ]
  for (const [model, limit] of limits) assert.equal(other({ model })[0].max_tokens, limit, model)
  assert.equal(other({ sampling: { ...SAMPLING, maxTokens: 7 } })[0].max_tokens, 7)
  const thinking = { mode: 'on', effort: 'high', budgetTokens: null, isShown: null } as const
  assert.equal(other({ model: 'claude-next', thinking })[0].max_tokens, 64_000)
  assert.equal(other({ model: 'claude-next' })[0].max_tokens, 4096)
})

test('thinking is written in the way of the model', () => {
  const think = (
    model: string,
    thinking: Partial<Conversation['thinking'] & object>,
    maxTokens: number | null = null
  ) => {
    const whole = { mode: 'on', effort: null, budgetTokens: null, isShown: null, ...thinking } as const
    const [body, losses] = other({ model, thinking: whole, sampling: { ...SAMPLING, maxTokens } })
    return [body.thinking, body.output_config, losses]
  }
  const [old, current] = ['claude-sonnet-4-5', 'claude-opus-4-7']
  const enabled = (budget: number) => ({ type: 'enabled', budget_tokens: budget })
  assert.deepEqual(think(old, { effort: 'low' }), [enabled(1024), undefined, []])
  assert.deepEqual(think(old, { budgetTokens: 5000, isShown: true }), [enabled(5000), undefined, []])
  assert.deepEqual(think(old, { budgetTokens: 5000 }, 2000), [enabled(1600), undefined, []])
  assert.deepEqual(think(old, { effort: 'high' }, 1024), [undefined, undefined, ['reasoning_effort']])
  // A server of other models, whose largest answer nobody documents: most of what there is, and some for the answer.
  assert.deepEqual(think('kimi-k2', { effort: 'high' }), [enabled(3276), undefined, []])
  assert.deepEqual(think(old, { mode: 'off' }), [{ type: 'disabled' }, undefined, []])
  assert.deepEqual(think('claude-3-5-sonnet', { mode: 'off' }), [undefined, undefined, []])
  assert.deepEqual(think('claude-3-5-sonnet', { effort: 'low' }), [undefined, undefined, ['reasoning_effort']])
  const shown = { type: 'adaptive', display: 'summarized' }
  assert.deepEqual(think(current, { effort: 'minimal', isShown: true }), [shown, { effort: 'low' }, []])
  assert.deepEqual(think(current, { budgetTokens: 9000 }), [{ type: 'adaptive' }, { effort: 'high' }, []])
  assert.deepEqual(think('claude-mythos-preview', { mode: 'adaptive' }), [{ type: 'adaptive' }, undefined, []])
})

test('fields that the API has by another name are carried over', () => {
  const schema = { type: 'object', properties: {} }
  const [body, losses] = other({
    isStreamed: true,
    user: 'u',
    serviceTier: 'default',
    sampling: { ...SAMPLING, temperature: 0.5, stop: ['x'], count: 1, frequencyPenalty: 0 },
    output: { kind: 'schema', name: 'n', description: 'd', schema, strict: true },
    tools: [{ name: 'f', description: null, schema: {}, strict: null, cache: { ttl: '5m' }, native: null }],
    toolChoice: { kind: 'auto', name: null, parallel: false }
  })
  const { max_tokens: _, messages: __, ...rest } = body
  assert.deepEqual(rest, {
    model: 'claude-sonnet-4-5',
    temperature: 0.5,
    stop_sequences: ['x'],
    stream: true,
    metadata: { user_id: 'u' },
    service_tier: 'standard_only',
    output_config: { format: { type: 'json_schema', schema: { ...schema, description: 'd' } } },
    tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral', ttl: '5m' } }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true }
  })
  assert.deepEqual(losses, [])
})

const media = { name: null, detail: null, cache: null }
const base64 = { kind: 'base64', data: 'aGk=' } as const

test('media are carried as far as the API takes them', () => {
  const [body, losses] = other({
    turns: [
      {
        role: 'user',
        parts: [
          { kind: 'image', source: base64, mediaType: 'image/png', ...media, detail: 'low' },
          { kind: 'document', source: base64, mediaType: 'text/markdown', ...media, name: 'N' },
          { kind: 'image', source: base64, mediaType: 'image/tiff', ...media },
          { kind: 'audio', source: base64, mediaType: 'audio/wav', ...media },
          { kind: 'document', source: { kind: 'file', id: 'file-1' }, mediaType: null, ...media }
        ]
      },
      {
        role: 'assistant',
        parts: [text('a'), { kind: 'image', source: base64, mediaType: 'image/png', ...media }]
      }
    ]
  })
  assert.deepEqual(body.messages, [
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' }, title: 'N' }
      ]
    },
    { role: 'assistant', content: 'a' }
  ])
  const at = (i: number) => `turns[0].parts[${i}]`
  assert.deepEqual(losses, [`${at(0)}.detail`, at(2), at(3), at(4), 'turns[1].parts[1]'])
})

const LOST: readonly (readonly [change: Partial<Conversation>, losses: readonly string[]])[] = [
  [{ sampling: { ...SAMPLING, temperature: 1.5 } }, ['temperature']],
  [{ sampling: { ...SAMPLING, temperature: 1, topP: 1 }, model: 'claude-opus-5' }, []],
  [
    { sampling: { ...SAMPLING, temperature: 0.5, topP: 0.5, topK: 1 }, model: 'claude-opus-5' },
    ['temperature', 'top_p', 'top_k']
  ],
  [
    { sampling: { ...SAMPLING, seed: 0, frequencyPenalty: 1, presencePenalty: 1, count: 2, topLogprobs: 0 } },
    ['seed', 'frequency_penalty', 'presence_penalty', 'n', 'logprobs']
  ],
  [{ output: { kind: 'json' } }, ['response_format']],
  [{ metadata: { a: 'b' } }, ['metadata.a']],
  [{ serviceTier: 'flex' }, ['service_tier']],
  [{ origin: requestOrigin('completions', new Map([['store', true]])) }, ['store']],
  [{ origin: requestOrigin('gemini'), sampling: { ...SAMPLING, seed: 1 } }, ['generationConfig.seed']],
  [
    {
      tools: [
        {
          name: 'x',
          description: null,
          schema: {},
          strict: null,
          cache: null,
          native: { kind: 'opaque', format: 'responses', value: {} }
        }
      ]
    },
    ['tools[0]']
  ],
  [{ turns: [{ role: 'user', parts: [{ kind: 'opaque', format: 'gemini', value: {} }] }] }, ['turns[0].parts[0]']],
  [{ turns: [{ role: 'assistant', parts: [{ ...call, arguments: '{' }] }] }, ['turns[0].parts[0].arguments']],
  [
    { turns: [{ role: 'assistant', parts: [{ kind: 'thinking', text: 't', signature: null, isRedacted: false }] }] },
    ['turns[0].parts[0]']
  ]
]

test("what the API cannot say is a loss, by its path in the client's format", () => {
  for (const [change, losses] of LOST) assert.deepEqual(other(change)[1], losses)
})

test('seals of another provider come back from the client, and do not go to Anthropic', () => {
  const gemini = { format: 'gemini', data: 'AbC' } as const
  const sealed = sealSignature(gemini, 'messages')
  const replied = (...content: JsonObject[]): JsonObject => ({
    model: 'claude-sonnet-4-5',
    max_tokens: 1,
    messages: [{ role: 'assistant', content }]
  })
  const body = replied(
    { type: 'thinking', thinking: 'Hm', signature: sealed },
    { type: 'tool_use', id: 'c', name: 'f', input: {} },
    { type: 'redacted_thinking', data: `call.${sealed}` }
  )
  const conversation = messages.readRequest(body, { model: null, isStreamed: null })
  assert.deepEqual(conversation.turns[0]?.parts, [
    { kind: 'thinking', text: 'Hm', signature: gemini, isRedacted: false },
    { ...call, id: 'c', arguments: '{}', signature: gemini }
  ])
  const [again, losses] = written(conversation)
  assert.deepEqual(again, replied({ type: 'tool_use', id: 'c', name: 'f', input: {} }))
  assert.deepEqual(losses, ['messages[0].content[0]'])
})
