import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Conversation, JsonObject } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { Losses } from '#backends/llm/formats/format.ts'

const NOWHERE = { model: null, isStreamed: null }
const read = (body: object): Conversation => completions.readRequest(body as JsonObject, NOWHERE)
const HI = { role: 'user', content: 'Hi' }
const ask = (body: object): JsonObject => ({ model: 'gpt-5', messages: [HI], ...body }) as JsonObject
const requestWith = (...messages: object[]): JsonObject => ({ model: 'gpt-5', messages }) as JsonObject

function written(conversation: Conversation): { readonly body: JsonObject; readonly losses: readonly string[] } {
  const losses = new Losses()
  return { body: completions.writeRequest(conversation, losses), losses: losses.fields }
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a": 1.0}' } }
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const MARK = { type: 'ephemeral' }
const PNG = 'data:image/png;base64,iVBORw0KGgo='

/** Every one is written as it was read. */
const SAME: readonly (readonly [name: string, body: JsonObject])[] = [
  [
    'roles',
    requestWith({ role: 'developer', content: 'Be brief.' }, { role: 'system', content: 'Be kind.', name: 'boss' }, HI)
  ],
  ['instructions between', requestWith(HI, { role: 'developer', content: [{ type: 'text', text: 'Now shout.' }] })],
  [
    'instructions of several parts',
    requestWith(
      {
        role: 'system',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' }
        ]
      },
      HI
    )
  ],
  [
    'images',
    requestWith({
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png', format: 'png' } },
        { type: 'image_url', image_url: 'https://example.com/b.png' },
        { type: 'image_url', image_url: { url: 'data:,not-base64' } }
      ]
    })
  ],
  [
    'audio, files',
    requestWith({
      role: 'user',
      content: [
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'input_audio', input_audio: { data: 'SUQz', format: 'mp3' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
        { type: 'file', file: { file_data: 'JVBERi0=' } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'file', file: { file_data: 'https://example.com/a.pdf' } }
      ]
    })
  ],
  [
    'unknown parts',
    requestWith(
      { role: 'user', content: [{ type: 'video_url', video_url: { url: 'https://example.com/v' } }] },
      { role: 'assistant', tool_calls: [CALL] },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [
          { type: 'text', text: 'a' },
          { type: 'odd', x: 1 },
          { type: 'text', text: 'b' }
        ]
      }
    )
  ],
  [
    'one text in a list',
    requestWith(
      { role: 'user', content: [{ type: 'text', text: '' }] },
      { role: 'user', content: [] },
      { role: 'user', content: '' }
    )
  ],
  [
    'cache marks',
    requestWith(
      { role: 'system', content: [{ type: 'text', text: 'long', cache_control: MARK }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
          { type: 'text', text: 'b', prompt_cache_breakpoint: { mode: 'explicit' } },
          { type: 'text', text: 'c', cache_control: { type: 'ephemeral', ttl: '3600s' } }
        ]
      },
      { role: 'assistant', content: '', tool_calls: [{ ...CALL, cache_control: MARK }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'r', cache_control: MARK }
    )
  ],
  [
    'refusals',
    requestWith(
      HI,
      { role: 'assistant', refusal: 'No.' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'refusal', refusal: 'No.' }
        ],
        refusal: 'Never.'
      },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }
    )
  ],
  [
    'tool calls',
    requestWith(
      HI,
      {
        role: 'assistant',
        content: 'Let me see.',
        name: 'bob',
        audio: { id: 'audio_1' },
        tool_calls: [
          CALL,
          { id: 'call_2', type: 'function', function: { name: 'g', arguments: '' } },
          { id: 'call_3', type: 'custom', custom: { name: 'code', input: 'print(1)' } }
        ]
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'one' },
      { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'two' }], name: 'g' },
      { role: 'tool', tool_call_id: 'call_3', content: 'three' },
      HI
    )
  ],
  [
    'function calls',
    {
      ...requestWith(
        HI,
        { role: 'assistant', function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'r' },
        { role: 'function', name: 'g' }
      ),
      functions: [{ name: 'f', description: 'd', parameters: PARAMETERS }, { name: 'g' }],
      function_call: { name: 'f' }
    }
  ],
  ['function_call as a word', ask({ functions: [{ name: 'f' }], function_call: 'auto' })],
  [
    'thought signatures',
    requestWith(HI, {
      role: 'assistant',
      tool_calls: [
        { ...CALL, extra_content: { google: { thought_signature: 'c2ln', other: 1 }, more: true } },
        { ...CALL, id: 'call_2', extra_content: { other: 1 } }
      ]
    })
  ],
  [
    'reasoning',
    requestWith(
      HI,
      { role: 'assistant', content: 'a', reasoning_content: 'Hm.' },
      { role: 'assistant', content: 'b', reasoning: 'Hm.' },
      { role: 'assistant', content: 'c', reasoning: { odd: 1 } },
      { role: 'assistant', content: 'd', reasoning_content: '' }
    )
  ],
  [
    'thinking blocks',
    requestWith(
      HI,
      {
        role: 'assistant',
        content: 'a',
        reasoning_content: 'Hm.So.',
        thinking_blocks: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
          { type: 'redacted_thinking', data: 'ZGF0YQ==' },
          { type: 'thinking', thinking: 'So.', signature: '', cache_control: MARK }
        ]
      },
      { role: 'assistant', content: 'b', thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }] },
      {
        role: 'assistant',
        content: 'c',
        reasoning_content: 'Hm.',
        thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }]
      },
      {
        role: 'assistant',
        content: 'd',
        reasoning_content: 'Else.',
        thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }]
      }
    )
  ],
  [
    'tools',
    ask({
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'd', parameters: PARAMETERS, strict: true, odd: 1 },
          cache_control: MARK
        },
        { type: 'function', function: { name: 'g' } },
        {
          type: 'custom',
          custom: { name: 'code', format: { type: 'grammar', grammar: { definition: 'x', syntax: 'lark' } } }
        }
      ]
    })
  ],
  ['no tools', ask({ tools: [] })],
  [
    'tool choice by name',
    ask({ tool_choice: { type: 'function', function: { name: 'f' } }, parallel_tool_calls: false })
  ],
  ['tool choice of a custom tool', ask({ tool_choice: { type: 'custom', custom: { name: 'code' } } })],
  [
    'allowed tools',
    ask({
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] }
      },
      parallel_tool_calls: true
    })
  ],
  ['parallel alone', ask({ parallel_tool_calls: false })],
  ...['none', 'auto', 'required', 'unheard_of'].map(
    (word) => [`tool choice ${word}`, ask({ tool_choice: word })] as const
  ),
  ['text', ask({ response_format: { type: 'text' } })],
  ['JSON', ask({ response_format: { type: 'json_object' } })],
  [
    'schema',
    ask({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', description: 'd', schema: PARAMETERS, strict: true }
      }
    })
  ],
  ['schema without one', ask({ response_format: { type: 'json_schema', json_schema: { name: 'n' } } })],
  ['grammar', ask({ response_format: { type: 'grammar', grammar: 'x' } })],
  [
    'sampling',
    ask({
      max_completion_tokens: 1,
      temperature: 0,
      top_p: 0.5,
      top_k: 40,
      stop: ['a', 'b'],
      seed: 7,
      frequency_penalty: -1,
      presence_penalty: 1,
      n: 2,
      logprobs: true,
      top_logprobs: 3
    })
  ],
  ['older sampling', ask({ max_tokens: 1, stop: 'a', logprobs: true, top_logprobs: 0 })],
  ['both limits', ask({ max_tokens: 1, max_completion_tokens: 2, stop: [], logprobs: false })],
  ['users', ask({ user: 'u', safety_identifier: 's' })],
  ['user', ask({ user: 'u' })],
  ['effort none', ask({ reasoning_effort: 'none' })],
  ['effort', ask({ reasoning_effort: 'xhigh' })],
  ['stream', ask({ stream: true, stream_options: { include_usage: true, include_obfuscation: false } })],
  ['no stream', ask({ stream: false, stream_options: {} })],
  [
    'the rest',
    ask({
      service_tier: 'flex',
      metadata: { a: 'b' },
      verbosity: 'low',
      prediction: { type: 'content', content: 'x' },
      audio: { format: 'wav', voice: 'ash' },
      modalities: ['text', 'audio'],
      store: true,
      logit_bias: { '50256': -100 },
      web_search_options: { search_context_size: 'low' },
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'explicit' },
      moderation: { model: 'm' },
      'a.b[0]': 1,
      chat_template_kwargs: { enable_thinking: false }
    })
  ]
]

for (const [name, body] of SAME) {
  test(`a request is written as it was read: ${name}`, () => {
    const { body: again, losses } = written(read(body))
    assert.deepEqual(again, body)
    assert.deepEqual(losses, [])
  })
}

test('fields of a request in any mixture are written as they were read', () => {
  const fields = SAME.flatMap(([, { model, messages, ...others }]) => Object.entries(others))
  // The two ways to tell of functions are one or the other.
  const legacy = ['functions', 'function_call']
  const mixture = fc.tuple(
    fc.subarray(fields.filter(([name]) => !legacy.includes(name))),
    fc.array(fc.constantFrom(...SAME.map(([, body]) => body.messages as JsonObject[])), { maxLength: 4 }),
    fc.boolean()
  )
  const property = fc.property(mixture, ([some, messages, isLegacy]) => {
    const body = { model: 'm', messages: messages.flat(), ...Object.fromEntries(some) } as Record<string, unknown>
    if (isLegacy && body.tools === undefined && body.tool_choice === undefined) {
      Object.assign(body, { functions: [{ name: 'f' }], function_call: 'none' })
    }
    assert.deepEqual(written(read(body)).body, body)
  })
  fc.assert(property, { numRuns: 300 })
})
