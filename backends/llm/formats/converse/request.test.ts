import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { converse } from '#backends/llm/formats/converse/index.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'

const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const _NEWEST = 'global.anthropic.claude-opus-4-7-v1'
const NOVA = 'us.amazon.nova-2-lite-v1:0'
const read = (body: JsonObject, model = CLAUDE): Conversation =>
  converse.readRequest(body, { model, isStreamed: false })
const write = (conversation: Conversation): { body: JsonObject; losses: string[] } => {
  const losses = new Losses()
  return { body: converse.writeRequest(conversation, losses), losses: losses.fields }
}
const message = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] })
const same = (body: JsonObject, model = CLAUDE): void => {
  const before = structuredClone(body)
  assert.deepEqual(write(read(body, model)), { body: before, losses: [] })
}
const CITED = {
  citationsContent: { content: [{ text: 'a' }], citations: [{ title: 't', location: { web: { url: 'u' } } }] }
}
const CASES: readonly [name: string, body: JsonObject, model?: string][] = [
  ['nothing', {}],
  ['system', { system: [{ text: 'a' }, { cachePoint: { type: 'default' } }, { text: 'b' }] }],
  [
    'guarded system, loose cache points',
    {
      system: [
        { cachePoint: { type: 'default' } },
        { guardContent: { text: { text: 'g', qualifiers: ['query'] } } },
        { text: 'a' },
        { cachePoint: { type: 'default', ttl: '1h' } },
        { cachePoint: { type: 'default' } },
        { guardContent: { text: { text: 'h' } } }
      ]
    }
  ],
  ['texts', message({ text: 'a' }, { text: '' }, { cachePoint: { type: 'default', ttl: '5m' } })],
  ['a loose cache point', message({ cachePoint: { type: 'default' } }, { text: 'a' })],
  ['a cache point of tomorrow', message({ text: 'a' }, { cachePoint: { type: 'default', ttl: '1d', more: 1 } })],
  [
    'media',
    message(
      { image: { format: 'png', source: { bytes: 'AAAA' } } },
      { image: { format: 'webp', source: { s3Location: { uri: 's3://b/k', bucketOwner: '123' } } } },
      { image: { format: 'avif', source: { bytes: 'AAAA' } } },
      { image: { format: 'gif', source: { bytes: 'AAAA' }, error: { message: 'bad' } } },
      { audio: { format: 'mp3', source: { bytes: 'AAAA' } } },
      { video: { format: 'three_gp', source: { s3Location: { uri: 's3://b/v' } } } },
      { video: { format: 'mpg', source: { bytes: 'AAAA' } } },
      {
        document: {
          format: 'pdf',
          name: 'a (1)',
          source: { bytes: 'AAAA' },
          context: 'c',
          citations: { enabled: true }
        }
      },
      { document: { name: 'b', source: { text: 'words' } } },
      { document: { name: 'b', source: { bytes: 'AAAA' } } },
      { document: { format: 'txt', name: 'c', source: { content: [{ text: 'piece' }] } } }
    )
  ],
  [
    'tools and results',
    {
      messages: [
        {
          role: 'assistant',
          content: [
            { toolUse: { toolUseId: 't1', name: 'f', input: { a: [1, { b: null }] } } },
            { toolUse: { toolUseId: 't2', name: 'f', input: {} } },
            { cachePoint: { type: 'default' } },
            { toolUse: { toolUseId: 't3', name: 'nova_grounding', input: {}, type: 'server_tool_use' } }
          ]
        },
        {
          role: 'user',
          content: [
            {
              toolResult: {
                toolUseId: 't1',
                content: [
                  { text: 'a' },
                  { searchResult: { source: 's', title: 't', content: [{ text: 'x' }] } },
                  { json: { n: 1, '1': [] } },
                  { image: { format: 'png', source: { bytes: 'AA==' } } },
                  { document: { format: 'md', name: 'd', source: { bytes: 'AA==' }, context: 'c' } },
                  { video: { format: 'mp4', source: { bytes: 'AA==' } } },
                  { newThing: 1 }
                ],
                status: 'error'
              }
            },
            { toolResult: { toolUseId: 't2', content: [] } },
            { toolResult: { toolUseId: 't3', content: [], type: 'nova_grounding_result', status: 'success' } },
            { cachePoint: { type: 'default', ttl: '1h' } }
          ]
        }
      ],
      toolConfig: {
        tools: [
          { toolSpec: { name: 'f', description: 'd', inputSchema: { json: { type: 'object' } }, strict: true } },
          { cachePoint: { type: 'default' } },
          { cachePoint: { type: 'default', ttl: '5m' } },
          { systemTool: { name: 'nova_grounding' } },
          { toolSpec: { name: 'g', inputSchema: { json: {} }, more: 1 } }
        ],
        toolChoice: { tool: { name: 'f' } }
      }
    }
  ],
  [
    'thoughts and what only Converse has',
    message(
      { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
      { reasoningContent: { reasoningText: { text: 'hm', more: 1 } } },
      { cachePoint: { type: 'default' } },
      { reasoningContent: { redactedContent: 'AAEC' } },
      { guardContent: { image: { format: 'png', source: { bytes: 'AA==' } } } },
      CITED,
      { searchResult: { source: 's', title: 't', content: [{ text: 'x' }], citations: { enabled: false } } },
      { toolAddition: { tool: { type: 'tool', name: 'f' } } },
      { text: 'a', unheardOf: true }
    )
  ],
  ['a system message', { messages: [{ role: 'system', content: [{ toolRemoval: { tool: { name: 'f' } } }] }] }],
  [
    'neighbours',
    {
      messages: [
        { role: 'user', content: [{ text: 'a' }] },
        { role: 'user', content: [{ text: 'b' }] }
      ]
    }
  ],
  ['inference', { inferenceConfig: { maxTokens: 5, temperature: 0, topP: 1, stopSequences: ['x'], more: 1 } }],
  [
    'only unknown fields',
    {
      inferenceConfig: { more: 1 },
      outputConfig: { more: 2 },
      'a.b[0]': 3,
      messages: [{ role: 'user', content: [], more: 4 }]
    }
  ],
  [
    'the other configurations',
    {
      guardrailConfig: {
        guardrailIdentifier: 'g',
        guardrailVersion: '1',
        trace: 'enabled',
        streamProcessingMode: 'sync'
      },
      promptVariables: { v: { text: 'x' } },
      additionalModelResponseFieldPaths: ['/stop_sequence'],
      requestMetadata: { a: 'b' },
      performanceConfig: { latency: 'optimized' },
      serviceTier: { type: 'reserved' }
    }
  ],
  [
    'structured output',
    {
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { schema: '{"type":"object"}', name: 'n', description: 'd' } }
        },
        effort: 'xhigh'
      }
    }
  ],
  ['output of another kind', { outputConfig: { textFormat: { type: 'grammar', structure: { grammar: {} } } } }],
  [
    'Claude',
    {
      additionalModelRequestFields: {
        thinking: { type: 'enabled', budget_tokens: 2000 },
        top_k: 5,
        anthropic_beta: ['x']
      }
    }
  ],
  [
    'Claude adaptive',
    {
      additionalModelRequestFields: { thinking: { type: 'adaptive', display: 'omitted' } },
      outputConfig: { effort: 'max' }
    }
  ],
  ['Claude not thinking', { additionalModelRequestFields: { thinking: { type: 'disabled' }, 'a.b': 1 } }],
  [
    'Claude, thinking of tomorrow',
    { additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2000, more: 1 } } }
  ],
  [
    'Claude, one call',
    { additionalModelRequestFields: { tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true } } }
  ],
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
    'Nova off',
    {
      additionalModelRequestFields: { inferenceConfig: { topK: 3, x: 1 }, reasoningConfig: { type: 'disabled' } },
      outputConfig: { effort: 'low' }
    },
    NOVA
  ],
  [
    'Cohere',
    { additionalModelRequestFields: { k: 1, seed: 2, frequency_penalty: 0.5, presence_penalty: 0, p: 1 } },
    'cohere.command-r-v1:0'
  ],
  ['gpt-oss', { additionalModelRequestFields: { reasoning_effort: 'high' } }, 'openai.gpt-oss-120b-1:0'],
  [
    'others',
    { additionalModelRequestFields: { top_k: 1 }, outputConfig: { effort: 'low' } },
    'meta.llama3-3-70b-instruct-v1:0'
  ],
  ['fields that are no object', { additionalModelRequestFields: [1] }]
]

test('what was read is written as it was', async (t) => {
  for (const [name, body, model] of CASES) await t.test(name, () => same(body, model))
})

test('any mixture of fields', () => {
  const blocks = CASES.flatMap(([, body]) =>
    ((body.messages ?? []) as JsonObject[]).flatMap((m) => m.content as JsonObject[])
  )
  const pick = (name: string): fc.Arbitrary<Json | undefined> =>
    fc.constantFrom(undefined, ...CASES.filter(([, , model]) => model === undefined).map(([, body]) => body[name]))
  const systems = CASES.flatMap(([, body]) => (body.system ?? []) as JsonObject[])
  const tools = CASES.flatMap(([, body]) => ((body.toolConfig as JsonObject | undefined)?.tools ?? []) as JsonObject[])
  const list = (items: JsonObject[]) => fc.array(fc.constantFrom(...items), { minLength: 1, maxLength: 8 })
  const request = fc.record(
    {
      system: list(systems),
      messages: fc.array(fc.record({ role: fc.constantFrom('user', 'assistant'), content: list(blocks) }), {
        minLength: 1
      }),
      toolConfig: fc.record({ tools: list(tools) }),
      ...Object.fromEntries(
        [
          'inferenceConfig',
          'outputConfig',
          'additionalModelRequestFields',
          'guardrailConfig',
          'serviceTier',
          'requestMetadata',
          'unknown'
        ].map((name) => [name, pick(name)])
      )
    },
    { requiredKeys: [], noNullPrototype: true }
  )
  fc.assert(
    fc.property(request, (generated) => {
      same(JSON.parse(JSON.stringify(generated)) as JsonObject)
    }),
    { numRuns: 500 }
  )
})

test('parts as the conversation has them', () => {
  const { turns, system } = read({
    system: [{ text: 's' }, { cachePoint: { type: 'default' } }],
    ...message(
      { document: { format: 'pdf', name: 'n', source: { s3Location: { uri: 's3://b/k' } } } },
      { cachePoint: { type: 'default', ttl: '1h' } },
      { toolResult: { toolUseId: 'i', content: [{ json: { a: 1 } }], status: 'error' } }
    )
  })
  assert.deepEqual(system, [{ kind: 'text', text: 's', cache: { ttl: null } }])
  assert.deepEqual(turns[0]?.parts, [
    {
      kind: 'document',
      source: { kind: 'url', url: 's3://b/k' },
      mediaType: 'application/pdf',
      name: 'n',
      detail: null,
      cache: { ttl: '1h' }
    },
    {
      kind: 'toolResult',
      callId: 'i',
      name: null,
      content: [{ kind: 'text', text: '{"a":1}', cache: null, isJson: true }],
      isError: true,
      cache: null
    }
  ])
})

test('what is wrong is told with its path', () => {
  const wrong: [body: JsonObject, field: string][] = [
    [{ messages: 3 }, 'messages'],
    [{ messages: [{ role: 'tool', content: [] }] }, 'messages[0].role'],
    [{ messages: [{ content: [] }] }, 'messages[0].role'],
    [message({}), 'messages[0].content[0]'],
    [message({ text: 3 }), 'messages[0].content[0].text'],
    [message({ image: { format: 'png' } }), 'messages[0].content[0].image.source'],
    [message({ image: { format: 3, source: {} } }), 'messages[0].content[0].image.format'],
    [message({ toolUse: { name: 'f', input: {} } }), 'messages[0].content[0].toolUse.toolUseId'],
    [
      message({ toolResult: { toolUseId: 'i', content: [{ text: 3 }] } }),
      'messages[0].content[0].toolResult.content[0].text'
    ],
    [{ inferenceConfig: { stopSequences: ['a', 3] } }, 'inferenceConfig.stopSequences[1]'],
    [{ toolConfig: { tools: [{ toolSpec: { name: 'f' } }] } }, 'toolConfig.tools[0].toolSpec.inputSchema'],
    [{ requestMetadata: { a: 3 } }, 'requestMetadata.a'],
    [
      { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: '{' } } } } },
      'outputConfig.textFormat.structure.jsonSchema.schema'
    ]
  ]
  for (const [body, field] of wrong) {
    assert.throws(
      () => read(body),
      (error) => error instanceof FormatError && error.field === field,
      field
    )
  }
})

test('hostile bodies end in a FormatError or are carried', () => {
  let deep: Json = 1
  for (let i = 0; i < 100_000; i++) deep = [deep]
  assert.throws(() => read(message({ toolUse: { toolUseId: 'i', name: 'f', input: deep } })), FormatError)
  const polluting = JSON.parse(
    '{"__proto__":{"x":1},"requestMetadata":{"__proto__":"y"},"inferenceConfig":{"__proto__":{"x":1},"constructor":1}}'
  ) as JsonObject
  const { body } = write(read(polluting))
  assert.equal(JSON.stringify(body), JSON.stringify({ ...{}, ...body }))
  assert.equal(({} as { x?: number }).x, undefined)
  assert.ok(Object.hasOwn(body, '__proto__'))

  const many = Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? { text: 'a' } : { guardContent: {} }))
  const start = process.cpuUsage()
  const written = write(read({ system: many })).body.system as Json[]
  assert.deepEqual(written.length, many.length)
  assert.ok(process.cpuUsage(start).user < 5e6)
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.constantFrom('system', 'messages', 'toolConfig', 'outputConfig', 'additionalModelRequestFields'),
      (value, name) => {
        try {
          write(read({ [name]: value as Json, messages: [{ role: 'user', content: value as Json }] }))
        } catch (error) {
          assert.ok(error instanceof FormatError)
        }
      }
    )
  )
})
