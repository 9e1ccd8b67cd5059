import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Conversation, JsonObject } from '#backends/llm/conversation.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { converse } from '#backends/llm/testing/converse/index.ts'
import { requestOrigin } from '#backends/llm/testing/request-origin.ts'

const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const NEWEST = 'global.anthropic.claude-opus-4-7-v1'
const NOVA = 'us.amazon.nova-2-lite-v1:0'
const read = (body: JsonObject, model = CLAUDE): Conversation =>
  converse.readRequest(body, { model, isStreamed: false })
const write = (conversation: Conversation): { body: JsonObject; losses: string[] } => {
  const losses = new Losses()
  return { body: converse.writeRequest(conversation, losses), losses: losses.fields }
}
const message = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] })
/** As if another format had been read. */
const foreign = (change: Partial<Conversation>, model = CLAUDE): Conversation => ({
  ...read({}, model),
  origin: requestOrigin('completions'),
  ...change
})

const text = (value: string) => ({ kind: 'text', text: value, cache: null }) as const
const user = (...parts: Conversation['turns'][number]['parts']) => ({ role: 'user', parts }) as const

test('neighbours of one role become one message, and blank texts none', () => {
  const turns = [
    user(text('a')),
    user(text(' '), text('b')),
    { role: 'assistant', parts: [text('')] } as const,
    user(text('c'))
  ]
  const { body, losses } = write(foreign({ turns }))
  assert.deepEqual(body, message({ text: 'a' }, { text: 'b' }, { text: 'c' }))
  assert.deepEqual(losses, [])
})

test('names and ids that break the rules are mapped', () => {
  const tool = (name: string) => ({ name, description: '', schema: {}, strict: null, cache: null, native: null })
  const document = (name: string | null) =>
    ({
      kind: 'document',
      source: { kind: 'text', text: 'x' },
      mediaType: 'text/plain',
      name,
      detail: null,
      cache: null
    }) as const
  const call = { kind: 'toolCall', id: 'a|b', name: 'files.read', arguments: '', signature: null, cache: null } as const
  const result = {
    kind: 'toolResult',
    callId: 'a|b',
    name: null,
    content: [text('x')],
    isError: false,
    cache: null
  } as const
  const { body, losses } = write(
    foreign({
      tools: [tool('files.read'), tool('x'.repeat(65))],
      toolChoice: { kind: 'tool', name: 'files.read', parallel: true },
      turns: [
        { role: 'assistant', parts: [call] },
        user(result, document('a/b.pdf'), document('a/b.pdf'), document(null))
      ]
    })
  )
  assert.deepEqual(losses, ['tools[1].name'])
  assert.deepEqual(body.toolConfig, {
    tools: [{ toolSpec: { name: 'weir--files-2eread', inputSchema: { json: { type: 'object' } } } }],
    toolChoice: { tool: { name: 'weir--files-2eread' } }
  })
  const [first, second] = body.messages as { content: JsonObject[] }[]
  const use = first!.content[0]!.toolUse as JsonObject
  assert.equal(use.name, 'weir--files-2eread')
  assert.match(use.toolUseId as string, /^weir-[0-9a-f]{40}$/)
  assert.equal((second!.content[0]!.toolResult as JsonObject).toolUseId, use.toolUseId)
  const names = second!.content.slice(1).map((block) => (block.document as JsonObject).name)
  assert.deepEqual(names, ['a b pdf', 'a b pdf (2)', 'document'])
})

test('fields that Converse lacks are losses with their paths', () => {
  const media = {
    kind: 'image',
    source: { kind: 'url', url: 'https://x/y.png' },
    mediaType: null,
    name: null,
    detail: null,
    cache: null
  } as const
  const lost: [change: Partial<Conversation>, losses: string[], model?: string][] = [
    [{ turns: [user(media)] }, ['turns[0].parts[0]']],
    [{ turns: [user({ ...media, source: { kind: 'file', id: 'f' } })] }, ['turns[0].parts[0]']],
    [{ turns: [user({ kind: 'opaque', format: 'completions', value: {} })] }, ['turns[0].parts[0]']],
    [
      { sampling: { ...read({}).sampling, seed: 1, count: 2, topLogprobs: 0, frequencyPenalty: 1, topK: 3 } },
      ['seed', 'frequency_penalty', 'n', 'logprobs']
    ],
    [{ sampling: { ...read({}).sampling, topK: 3 } }, ['top_k'], 'meta.llama3'],
    [{ output: { kind: 'json' } }, ['response_format']],
    [{ serviceTier: 'scale', user: '{}', metadata: { a: 'ä' } }, ['service_tier', 'metadata.a', 'user']],
    [{ origin: requestOrigin('completions', new Map([['logit_bias', {}]])) }, ['logit_bias']],
    [
      { thinking: { mode: 'on', effort: 'high', budgetTokens: null, isShown: null } },
      ['reasoning_effort'],
      'us.amazon.nova-pro-v1:0'
    ]
  ]
  for (const [change, losses, model] of lost) assert.deepEqual(write(foreign(change, model)).losses, losses)
})

test('tool choices', () => {
  const tools = [{ name: 'f', description: null, schema: { type: 'object' }, strict: null, cache: null, native: null }]
  const choose = (toolChoice: Conversation['toolChoice'], more: Partial<Conversation> = {}, model = CLAUDE) =>
    write(foreign({ tools, toolChoice, ...more }, model))
  assert.deepEqual(choose({ kind: 'none', name: null, parallel: null }), { body: {}, losses: [] })
  const call = { kind: 'toolCall', id: 'i', name: 'f', arguments: '{}', signature: null, cache: null } as const
  const history = { turns: [{ role: 'assistant', parts: [call] } as const] }
  assert.deepEqual(choose({ kind: 'none', name: null, parallel: null }, history).losses, ['tool_choice'])
  const one = choose({ kind: 'any', name: null, parallel: false })
  assert.deepEqual(one.body.additionalModelRequestFields, {
    tool_choice: { type: 'any', disable_parallel_tool_use: true }
  })
  assert.equal((one.body.toolConfig as JsonObject).toolChoice, undefined)
  assert.deepEqual(choose({ kind: 'auto', name: null, parallel: false }, {}, NOVA).losses, ['parallel_tool_calls'])
})

test('thinking, by family', () => {
  const think = (
    thinking: Partial<NonNullable<Conversation['thinking']>>,
    model: string,
    maxTokens: number | null = null
  ) => {
    const full = { mode: 'on', effort: null, budgetTokens: null, isShown: null, ...thinking } as const
    const { body, losses } = write(foreign({ thinking: full, sampling: { ...read({}).sampling, maxTokens } }, model))
    return [body.additionalModelRequestFields, body.outputConfig, losses]
  }
  assert.deepEqual(think({ effort: 'high' }, CLAUDE), [
    { thinking: { type: 'enabled', budget_tokens: 24_576 } },
    undefined,
    []
  ])
  assert.deepEqual(think({ effort: 'high' }, CLAUDE, 4000)[0], { thinking: { type: 'enabled', budget_tokens: 3200 } })
  assert.deepEqual(think({ effort: 'high' }, CLAUDE, 1000)[2], ['reasoning_effort'])
  assert.deepEqual(think({ budgetTokens: 5000 }, NEWEST), [
    { thinking: { type: 'adaptive' } },
    { effort: 'medium' },
    []
  ])
  assert.deepEqual(think({ mode: 'adaptive', effort: 'minimal', isShown: true }, NEWEST), [
    { thinking: { type: 'adaptive', display: 'summarized' } },
    { effort: 'low' },
    []
  ])
  assert.deepEqual(think({ mode: 'off' }, NEWEST)[0], { thinking: { type: 'disabled' } })
  assert.deepEqual(think({ budgetTokens: 9000 }, NOVA)[0], {
    reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' }
  })
  assert.deepEqual(think({ effort: 'xhigh' }, 'openai.gpt-oss-20b-1:0')[0], { reasoning_effort: 'high' })
  assert.deepEqual(think({ effort: 'max' }, 'x.y'), [undefined, { effort: 'max' }, []])
})

test("thoughts go back with Claude's signatures, and not with others", () => {
  const thought = (format: 'messages' | 'gemini' | 'converse') =>
    ({ kind: 'thinking', text: 'hm', signature: { format, data: 's' }, isRedacted: false }) as const
  const written = (part: Conversation['turns'][number]['parts'][number], model?: string) =>
    write(foreign({ turns: [{ role: 'assistant', parts: [part] }] }, model))
  const kept = {
    messages: [
      { role: 'assistant', content: [{ reasoningContent: { reasoningText: { text: 'hm', signature: 's' } } }] }
    ]
  }
  assert.deepEqual(written(thought('messages')), { body: kept, losses: [] })
  assert.deepEqual(written(thought('converse')), { body: kept, losses: [] })
  assert.deepEqual(written(thought('messages'), NOVA).losses, ['turns[0].parts[0]'])
  assert.deepEqual(written(thought('gemini')), { body: {}, losses: ['turns[0].parts[0]'] })
})

test('fields with the same meaning are carried over', () => {
  const { body, losses } = write(
    foreign({
      serviceTier: 'standard_only',
      user: 'u1',
      metadata: { a: 'b' },
      sampling: { ...read({}).sampling, stop: ['x'] }
    })
  )
  assert.deepEqual(losses, [])
  assert.deepEqual(body, {
    inferenceConfig: { stopSequences: ['x'] },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
    serviceTier: { type: 'default' },
    requestMetadata: { a: 'b', user: 'u1' }
  })
})

const cachePoint = { type: 'default' }
const use = (toolUseId: string) => ({ toolUse: { toolUseId, name: 'f', input: { a: [1, { b: null }] } } })
const CASES: readonly (readonly [name: string, body: JsonObject, model?: string])[] = [
  ['nothing', {}],
  [
    'cache points',
    { system: [{ text: 'a' }, { cachePoint }, { text: 'b' }], ...message({ text: 'c' }, { cachePoint }) }
  ],
  [
    'calls and results',
    {
      messages: [
        { role: 'assistant', content: [use('t1'), use('t2'), { cachePoint: { type: 'default', ttl: '1h' } }] },
        {
          role: 'user',
          content: [
            {
              toolResult: {
                toolUseId: 't1',
                content: [{ text: 'a' }, { image: { format: 'png', source: { bytes: 'AA==' } } }],
                status: 'error'
              }
            },
            { toolResult: { toolUseId: 't2', content: [] } }
          ]
        }
      ],
      toolConfig: {
        tools: [
          { toolSpec: { name: 'f', description: 'd', inputSchema: { json: { type: 'object' } }, strict: true } },
          { cachePoint }
        ],
        toolChoice: { tool: { name: 'f' } }
      }
    }
  ],
  [
    'media',
    message(
      { image: { format: 'webp', source: { s3Location: { uri: 's3://b/k' } } } },
      { audio: { format: 'mp3', source: { bytes: 'AAAA' } } },
      { video: { format: 'three_gp', source: { s3Location: { uri: 's3://b/v' } } } },
      { document: { format: 'pdf', name: 'a (1)', source: { bytes: 'AAAA' } } }
    )
  ],
  ['inference', { inferenceConfig: { maxTokens: 5, temperature: 0, topP: 1 } }],
  [
    'structured output',
    {
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { schema: '{"type":"object"}', name: 'n', description: 'd' } }
        }
      }
    }
  ],
  ['Claude', { additionalModelRequestFields: { top_k: 5, thinking: { type: 'enabled', budget_tokens: 2000 } } }],
  [
    'Nova',
    {
      additionalModelRequestFields: {
        inferenceConfig: { topK: 3 },
        reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' }
      }
    },
    NOVA
  ],
  [
    'Cohere',
    { additionalModelRequestFields: { k: 1, seed: 2, frequency_penalty: 0.5, presence_penalty: 0 } },
    'cohere.command-r-v1:0'
  ],
  ['gpt-oss', { additionalModelRequestFields: { reasoning_effort: 'high' } }, 'openai.gpt-oss-120b-1:0'],
  ['others', { outputConfig: { effort: 'low' } }, 'meta.llama3-3-70b-instruct-v1:0']
]

test('the fields of Converse and of its model families for a conversation', async (t) => {
  for (const [name, body, model] of CASES)
    await t.test(name, () => assert.deepEqual(write(read(body, model)), { body, losses: [] }))
})
