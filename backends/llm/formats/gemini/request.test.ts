import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  Conversation,
  Json,
  JsonObject,
  Part,
  Sampling,
  Signature,
  Thinking,
  Turn
} from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { gemini } from '#backends/llm/formats/gemini/index.ts'
import { requestOrigin } from '#backends/llm/testing/request-origin.ts'

const FROM = { model: 'gemini-2.5-flash', isStreamed: true }
const read = (body: JsonObject) => gemini.readRequest(body, FROM)
const user = (...parts: JsonObject[]) => ({ contents: [{ role: 'user', parts }] })

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

/** As another format would have read it. */
function foreign(fields: Partial<Conversation>): Conversation {
  return {
    model: 'gemini-2.5-flash',
    isStreamed: false,
    system: [],
    turns: [],
    tools: [],
    toolChoice: null,
    sampling: SAMPLING,
    output: null,
    thinking: null,
    serviceTier: null,
    user: null,
    metadata: null,
    origin: requestOrigin('completions'),
    ...fields
  }
}

function write(conversation: Conversation): { readonly body: JsonObject; readonly losses: readonly string[] } {
  const losses = new Losses()
  return { body: gemini.writeRequest(conversation, losses), losses: losses.fields }
}

const call = (id: string, args: string, signature: Signature | null = null): Part => ({
  kind: 'toolCall',
  id,
  name: `f_${id}`,
  arguments: args,
  signature,
  cache: null
})
const result = (callId: string, text: string, isError = false): Part => ({
  kind: 'toolResult',
  callId,
  name: null,
  content: [{ kind: 'text', text, cache: null }],
  isError,
  cache: null
})
const text = (value: string): Part => ({ kind: 'text', text: value, cache: null })

test('snake_case, single objects for lists and numbers as text are what the camelCase request is', () => {
  const snake = read({
    system_instruction: { parts: { text: 'You are a cat.' } },
    contents: { parts: { inline_data: { mime_type: 'image/png', data: 'AA==' } } },
    tools: { function_declarations: [{ name: 'f', parameters_json_schema: { type: 'object' } }] },
    tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f'] } },
    generation_config: {
      max_output_tokens: '100',
      stop_sequences: ['x'],
      thinking_config: { thinking_budget: 5, include_thoughts: true },
      speech_config: { voice_config: {} }
    },
    cached_content: 'cachedContents/x'
  })
  const camel = read({
    systemInstruction: { role: 'user', parts: [{ text: 'You are a cat.' }] },
    contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] }],
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: {
      maxOutputTokens: 100,
      stopSequences: ['x'],
      thinkingConfig: { thinkingBudget: 5, includeThoughts: true },
      speechConfig: { voice_config: {} }
    },
    cachedContent: 'cachedContents/x'
  })
  assert.deepEqual(snake, camel)
  assert.deepEqual([...camel.origin.unknownFields.keys()], ['generationConfig.speechConfig', 'cachedContent'])
  assert.deepEqual(camel.toolChoice, { kind: 'tool', name: 'f', parallel: null })
  assert.deepEqual([camel.model, camel.isStreamed], ['gemini-2.5-flash', true])
})

test('the path names the model, else the body does', () => {
  const from = { model: null, isStreamed: null }
  assert.equal(gemini.readRequest({ model: 'models/gemini-x' }, from).model, 'gemini-x')
  assert.throws(
    () => gemini.readRequest({}, from),
    (error) => error instanceof FormatError && error.field === 'model'
  )
})

test('fields of the wrong type are refused with their path', () => {
  const table: [JsonObject, string][] = [
    [{ contents: 'x' }, 'contents'],
    [{ contents: [{ role: 'system', parts: [] }] }, 'contents[0].role'],
    [user({ text: 1 }), 'contents[0].parts[0].text'],
    [user({}), 'contents[0].parts[0]'],
    [user({ functionCall: { args: {} } }), 'contents[0].parts[0].functionCall.name'],
    [user({ functionCall: { name: 'f', args: [] } }), 'contents[0].parts[0].functionCall.args'],
    [user({ functionResponse: { name: 'f', parts: [{}] } }), 'contents[0].parts[0].functionResponse.parts[0]'],
    [{ generationConfig: { stopSequences: [1] } }, 'generationConfig.stopSequences[0]'],
    [{ generationConfig: { topK: 'many' } }, 'generationConfig.topK'],
    [{ toolConfig: { functionCallingConfig: { mode: 'SOME' } } }, 'toolConfig.functionCallingConfig.mode'],
    [{ tools: [{ functionDeclarations: [{}] }] }, 'tools[0].functionDeclarations[0].name']
  ]
  for (const [body, field] of table) {
    assert.throws(
      () => read(body),
      (error) => error instanceof FormatError && error.field === field,
      field
    )
  }
})

/** Where a client's turns are no messages, clientPaths finds them in its body. */
test("losses have the paths of the client's format's format", () => {
  const body = {
    system: [{ kind: 'text' as const, text: 's', cache }],
    turns: [{ role: 'user' as const, parts: [{ kind: 'text' as const, text: 't', cache }] }],
    toolChoice: { kind: 'auto' as const, name: null, parallel: false },
    user: 'u'
  }
  const lost = (format: 'messages' | 'responses') => write(foreign({ ...body, origin: requestOrigin(format) })).losses
  assert.deepEqual(lost('messages'), [
    'messages[0].content[0].cache_control',
    'system[0].cache_control',
    'metadata.user_id',
    'tool_choice.disable_parallel_tool_use'
  ])
  assert.deepEqual(lost('responses'), [
    'turns[0].parts[0].cache_control',
    'input.cache_control',
    'user',
    'parallel_tool_calls'
  ])
})

test('a request that is nested too deeply is refused', () => {
  let deep: JsonObject = {}
  for (let i = 0; i < 100_000; i++) deep = { items: deep }
  const refused = (body: JsonObject) => assert.throws(() => read(body), FormatError)
  refused({ tools: [{ functionDeclarations: [{ name: 'f', parameters: deep }] }] })
  refused(user({ functionCall: { name: 'f', args: deep } }))
  refused(user({ functionResponse: { name: 'f', response: deep } }))
  const args = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const { body, losses } = write(foreign({ turns: [{ role: 'assistant', parts: [call('a', args)] }] }))
  assert.deepEqual([body, losses], [{}, ['turns[0].parts[0].arguments']])
})

test('rest goes nowhere but into the body', () => {
  const body = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as JsonObject
  const written = gemini.writeRequest(read(body), new Losses())
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  assert.equal(JSON.stringify(written), '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
})

test('calls without ids get stable ones, and results find them by name and order', () => {
  const parts = (list: JsonObject[], role: string) => ({ role, parts: list })
  const functionCall = (name: string, id?: string) => ({ functionCall: { name, args: {}, ...(id && { id }) } })
  const functionResponse = (name: string) => ({ functionResponse: { name, response: { output: name } } })
  const { turns } = read({
    contents: [
      parts([functionCall('f'), functionCall('g'), functionCall('f')], 'model'),
      parts([functionResponse('g'), functionResponse('f'), functionResponse('f')], 'function'),
      parts([functionCall('f', 'x')], 'model'),
      parts([functionResponse('f')], 'user')
    ]
  })
  const ids = turns.flatMap((turn) =>
    turn.parts.map((part) => (part.kind === 'toolCall' ? part.id : part.kind === 'toolResult' ? part.callId : ''))
  )
  const [a, b, c] = ['call_weir_0', 'call_weir_1', 'call_weir_2']
  assert.deepEqual(ids, [a, b, c, b, a, c, 'x', 'x'])
})

test('a Schema is JSON Schema to other formats', () => {
  const parameters = {
    type: 'OBJECT',
    nullable: true,
    properties: {
      type: { type: 'STRING', example: 'x', min_length: '1' },
      l: { type: 'ARRAY', items: { type: 'NUMBER' } }
    },
    propertyOrdering: ['type', 'l']
  }
  const [tool] = read({ tools: [{ functionDeclarations: [{ name: 'f', parameters }] }] }).tools
  assert.deepEqual(tool?.schema, {
    type: ['object', 'null'],
    properties: {
      type: { type: 'string', examples: ['x'], minLength: 1 },
      l: { type: 'array', items: { type: 'number' } }
    }
  })
})

test("another format's turns are merged, and results are response objects with their function's name", () => {
  const turns: Turn[] = [
    { role: 'user', parts: [text('hi')] },
    { role: 'assistant', parts: [text('let me see'), text(''), call('a', '{"x": 1}'), call('b', '')] },
    { role: 'user', parts: [result('a', '{"t": 5}')] },
    { role: 'user', parts: [result('b', 'no', true)] },
    { role: 'user', parts: [text('and?')] }
  ]
  const { body, losses } = write(foreign({ turns }))
  assert.deepEqual(losses, [])
  assert.deepEqual(body.contents, [
    { role: 'user', parts: [{ text: 'hi' }] },
    {
      role: 'model',
      parts: [
        { text: 'let me see' },
        { functionCall: { id: 'a', name: 'f_a', args: { x: 1 } } },
        { functionCall: { id: 'b', name: 'f_b', args: {} } }
      ]
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'a', name: 'f_a', response: { t: 5 } } },
        { functionResponse: { id: 'b', name: 'f_b', response: { error: 'no' } } },
        { text: 'and?' }
      ]
    }
  ])
})

test('from Gemini 3 on, the first call of a turn that another model made is excused its signature', () => {
  const turns: Turn[] = [{ role: 'assistant', parts: [call('a', '{}'), call('b', '{}')] }]
  const seals = (model: string, parts = turns) => {
    const [content] = write(foreign({ model, turns: parts })).body.contents as { parts: JsonObject[] }[]
    return content?.parts.map((part) => part.thoughtSignature ?? null)
  }
  assert.deepEqual(seals('gemini-3-pro'), ['skip_thought_signature_validator', null])
  assert.deepEqual(seals('gemini-2.5-pro'), [null, null])
  const own = [{ role: 'assistant' as const, parts: [call('a', '{}', { format: 'gemini', data: 'S' })] }]
  assert.deepEqual(seals('gemini-3-pro', own), ['S'])
})

const cache = { ttl: null }
const UNSAYABLE: Turn[] = [
  { role: 'system', parts: [text('be brief')] },
  {
    role: 'assistant',
    parts: [
      { kind: 'thinking', text: 't', signature: { format: 'messages', data: 'S' }, isRedacted: false },
      { kind: 'opaque', format: 'messages', value: {} },
      call('a', '{"x"')
    ]
  },
  {
    role: 'user',
    parts: [
      {
        kind: 'image',
        source: { kind: 'file', id: 'file-1' },
        mediaType: null,
        name: null,
        detail: null,
        cache: null
      },
      {
        kind: 'image',
        source: { kind: 'url', url: 'https://example.com/a.PNG?x' },
        mediaType: null,
        name: null,
        detail: 'high',
        cache
      }
    ]
  }
]

test('fields that Gemini lacks are losses', () => {
  const { body, losses } = write(
    foreign({
      system: [{ kind: 'text', text: 's', cache }],
      turns: UNSAYABLE,
      tools: [
        {
          name: 'web',
          description: null,
          schema: {},
          strict: null,
          cache: null,
          native: { kind: 'opaque', format: 'messages', value: {} }
        }
      ],
      toolChoice: { kind: 'auto', name: null, parallel: false },
      user: 'u',
      metadata: { a: 'b' },
      serviceTier: 'scale',
      origin: requestOrigin('completions', new Map<string, Json>([['logit_bias', { a: 1 }]]))
    })
  )
  assert.deepEqual(losses, [
    'turns[0].role',
    'turns[1].parts[0].signature',
    'turns[1].parts[1]',
    'turns[1].parts[2].arguments',
    'turns[2].parts[0]',
    'turns[2].parts[1].cache_control',
    'turns[2].parts[1].detail',
    'messages.cache_control',
    'user',
    'metadata',
    'tools[0]',
    'parallel_tool_calls',
    'service_tier',
    'logit_bias'
  ])
  assert.deepEqual(body.contents, [
    { role: 'user', parts: [{ text: 'be brief' }] },
    { role: 'model', parts: [{ text: 't', thought: true }] },
    { role: 'user', parts: [{ fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.PNG?x' } }] }
  ])
})

test('thinking is a level from Gemini 3 on, and a budget before', () => {
  const thinking = (fields: Partial<Thinking>): Thinking => ({
    mode: 'on',
    effort: null,
    budgetTokens: null,
    isShown: null,
    ...fields
  })
  const table: [string, Partial<Thinking>, JsonObject][] = [
    ['gemini-3-pro', { effort: 'max' }, { thinkingLevel: 'HIGH' }],
    ['gemini-3-pro', { effort: 'low', budgetTokens: 100 }, { thinkingLevel: 'LOW' }],
    ['gemini-3-pro', { budgetTokens: 100, isShown: true }, { thinkingBudget: 100, includeThoughts: true }],
    ['gemini-2.5-pro', { effort: 'low' }, { thinkingBudget: 1024 }],
    ['gemini-2.5-pro', { effort: 'max' }, { thinkingBudget: 24_576 }],
    ['gemini-2.5-pro', { mode: 'off', effort: 'low' }, { thinkingBudget: 0 }],
    ['gemini-2.5-pro', { mode: 'adaptive' }, { thinkingBudget: -1 }]
  ]
  for (const [model, fields, expected] of table) {
    const { body, losses } = write(foreign({ model, thinking: thinking(fields) }))
    assert.deepEqual([body.generationConfig, losses], [{ thinkingConfig: expected }, []])
  }
  assert.deepEqual(write(foreign({ thinking: thinking({ effort: 'odd' }) })).losses, ['reasoning_effort'])
})

test('shapes of output, strict tools and tiers of other formats', () => {
  const schema = { type: 'object' }
  const { body } = write(
    foreign({
      output: { kind: 'schema', name: 'n', description: 'd', schema, strict: true },
      tools: [{ name: 'f', description: 'd', schema, strict: true, cache: null, native: null }],
      serviceTier: 'default'
    })
  )
  assert.deepEqual(body, {
    tools: [{ functionDeclarations: [{ name: 'f', description: 'd', parametersJsonSchema: schema }] }],
    toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
    generationConfig: {
      responseMimeType: 'application/json',
      responseJsonSchema: { title: 'n', description: 'd', type: 'object' }
    },
    serviceTier: 'standard'
  })
})

test('signatures of other formats come back from clients that take them for bytes', () => {
  const answer = {
    id: 'a',
    model: 'm',
    created: 0,
    choices: [
      {
        parts: [call('a', '{}', { format: 'messages', data: 'Abc' })],
        stop: 'tools',
        stopSequence: null,
        logprobs: null
      }
    ],
    usage: null,
    serviceTier: null,
    origin: requestOrigin('messages')
  } as const
  const context = { model: 'm', wantsUsage: true, at: 0, id: 'x' }
  const body = gemini.writeAnswer(answer, context, new Losses())
  const [candidate] = body.candidates as { content: { parts: { thoughtSignature: string }[] } }[]
  const part = candidate!.content.parts[0]!
  const bytes = Buffer.from(part.thoughtSignature, 'base64')
  assert.equal(bytes.toString('base64'), part.thoughtSignature)
  const [turn] = read(user({ ...part, thoughtSignature: bytes.toString('base64url') })).turns
  assert.deepEqual(turn?.parts[0], call('a', '{}', { format: 'messages', data: 'Abc' }))
})
