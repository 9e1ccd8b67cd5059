/** What reaches a model beside the conversation: tools, schemas, names. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Body } from '#engine/testing/models.ts'
import { CHAT, chat, regex, SSN, stand } from './guards.fixture.ts'
import { hook, says, service } from './service.fixture.ts'

const GEMINI = '/v1beta/models/m:generateContent'

/** What somebody has written in it is `said`, and `number` a value of its own. */
const schema = (text: string, number: unknown) => ({
  type: 'object',
  description: text,
  properties: {
    url: { type: 'string', description: text, format: 'uri', minLength: 123456789 },
    type: { type: 'string', enum: [text, 'b'], default: text, pattern: '^.$' },
    id: { type: 'number', default: number, maximum: 123456789 },
    list: { type: ['array', 'null'], items: { anyOf: [{ const: text }, { $ref: '#/$defs/x' }] } }
  },
  $defs: { x: { title: text, examples: [{ deep: [text] }] } },
  required: ['url', 'type']
})

type Declare = (text: string, number: unknown) => Body

const DECLARED: readonly (readonly [string, object, Declare])[] = [
  [
    CHAT,
    { openai: {} },
    (text, number) => ({
      ...chat('hi'),
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: text, parameters: schema(text, number), strict: false }
        },
        { type: 'custom', custom: { name: 'g', description: text, format: { type: 'text' } } }
      ],
      functions: [{ name: 'h', description: text, parameters: schema(text, number) }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'out', description: text, schema: schema(text, number), strict: true }
      },
      prediction: { type: 'content', content: text },
      user: SSN,
      metadata: { a: text, user_id: SSN }
    })
  ],
  [
    '/v1/messages',
    { anthropic: {} },
    (text, number) => ({
      model: 'm',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ name: 'f', description: text, input_schema: schema(text, number) }],
      output_config: { format: { type: 'json_schema', schema: schema(text, number) } },
      metadata: { user_id: SSN }
    })
  ],
  [
    '/v1/responses',
    { openai: {} },
    (text, number) => ({
      model: 'm',
      input: 'hi',
      prompt: { id: SSN, variables: { name: text, url: text, part: { type: 'input_text', text: text } } },
      tools: [
        { type: 'function', name: 'f', description: text, parameters: schema(text, number), strict: false },
        { type: 'mcp', server_label: 'a', server_url: `https://x/${SSN}`, authorization: SSN, server_description: text }
      ],
      text: { format: { type: 'json_schema', name: 'out', description: text, schema: schema(text, number) } }
    })
  ],
  [
    GEMINI,
    { gemini: {} },
    (text, number) => ({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [
        {
          functionDeclarations: [
            { name: 'f', description: text, parameters: schema(text, number), response: schema(text, number) },
            { name: 'g', parametersJsonSchema: schema(text, number) }
          ]
        },
        { googleSearch: {} }
      ],
      generationConfig: { responseMimeType: 'application/json', responseSchema: schema(text, number) }
    })
  ]
]

test('tool declarations are masked in every format, and stay schemas', async (t) => {
  for (const [path, provider, body] of DECLARED) {
    const { models, ask } = await stand(t, { request: [regex()] }, provider)
    equal((await ask(path, body(`Of ${SSN}`, 123456789))).status, 200)
    deepEqual(models.requests.at(-1)!.body, body('Of <SSN>', '<SSN>'), path)
    const clean = body('Of nobody', 5)
    await ask(path, clean)
    deepEqual(models.requests.at(-1)!.body, clean, path)
    const closed = await stand(t, { request: [regex({ action: 'Reject' })] }, provider)
    equal((await closed.ask(path, body(`Of ${SSN}`, 5))).status, 403, path)
    equal((await closed.ask(path, clean)).status, 200, path)
  }
})

test('so is what servers of open models put into their templates and grammars', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] })
  const body = (text: string) => ({
    ...chat('hi'),
    prompt: [text, 'b'],
    suffix: text,
    documents: [{ id: text, name: text, url: text, data: { type: text }, text: 'a' }],
    chat_template: `{{ messages }} ${text}`,
    chat_template_kwargs: { enable_thinking: false, name: text },
    guided_choice: [text],
    guided_regex: text,
    guided_grammar: text,
    grammar: text,
    response_format: { type: 'structural_tag', structures: [{ begin: text, schema: schema(text, 5), end: 'x' }] }
  })
  await ask(CHAT, body(SSN))
  await ask(CHAT, body('nobody'))
  deepEqual(
    models.requests.map((request) => request.body),
    [body('<SSN>'), body('nobody')]
  )
})

const NAMED: readonly (readonly [string, string, object, Body])[] = [
  ['a tool', CHAT, { openai: {} }, { ...chat('hi'), tools: [{ type: 'function', function: { name: SSN } }] }],
  ['who speaks', CHAT, { openai: {} }, { model: 'm', messages: [{ role: 'user', name: SSN, content: 'hi' }] }],
  ['a role', CHAT, { openai: {} }, { model: 'm', messages: [{ role: SSN, content: 'hi' }] }],
  [
    'a parameter',
    '/v1/messages',
    { anthropic: {} },
    {
      model: 'm',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ name: 'f', input_schema: { type: 'object', properties: { [SSN]: { type: 'string' } } } }]
    }
  ],
  [
    'what is required',
    '/v1/responses',
    { openai: {} },
    {
      model: 'm',
      input: 'hi',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', required: [SSN] } }]
    }
  ],
  [
    'a call',
    GEMINI,
    { gemini: {} },
    { contents: [{ role: 'model', parts: [{ functionCall: { name: SSN, args: {} } }] }] }
  ],
  [
    'a field that nobody knows',
    GEMINI,
    { gemini: {} },
    { contents: [], tools: [{ functionDeclarations: [{ name: 'f', parameters: { [SSN]: 1 } }] }] }
  ]
]

test('a name cannot be masked: it is rejected, whatever the action', async (t) => {
  for (const [what, path, provider, body] of NAMED) {
    for (const action of ['Mask', 'Reject']) {
      const { models, ask } = await stand(t, { request: [regex({ action })] }, provider)
      deepEqual([(await ask(path, body)).status, models.requests.length], [403, 0], what)
    }
  }
  const { models, ask } = await stand(t, { request: [{ regex: { matches: ['user|properties|function'] } }] })
  equal((await ask(CHAT, DECLARED[0]![2]('x', 1))).status, 200, 'words of the format are no names')
  equal(models.requests.length, 1)
})

test('services get each tool as JSON, without what is only for the provider, and may rewrite it', async (t) => {
  const webhook = await service(t)
  const { models, ask } = await stand(t, { request: [hook(webhook.port)] })
  const tool = {
    type: 'mcp',
    server_label: 'a',
    authorization: 'canary',
    headers: { a: 'canary' },
    server_description: 'd'
  }
  webhook.answer = (request, response) => {
    const messages = request.body.messages.map(({ role, content }: Body) => {
      return { role, content: content.startsWith('{') ? content.replace('"d"', '"e"') : content }
    })
    says({ action: { body: { messages } } })(request, response)
  }
  await ask('/v1/responses', { model: 'm', input: 'hi', tools: [tool] })
  const messages = webhook.seen[0]!.body.body.messages as Body[]
  deepEqual(messages[1], {
    role: 'system',
    content: JSON.stringify({ type: 'mcp', server_label: 'a', server_description: 'd' })
  })
  ok(!JSON.stringify(messages).includes('canary'))
  deepEqual(models.requests[0]!.body.tools, [{ ...tool, server_description: 'e' }])
})

test('hostile declarations are refused, or passed on', async (t) => {
  const { ask } = await stand(t, { request: [regex()] })
  const deep = `{"model":"m","messages":[],"tools":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  equal((await ask(CHAT, deep)).status, 400)
  for (const tools of [7, 'x', null, [null, 7, 'x', [[{ name: 5 }]]], { a: 1 }]) {
    ok((await ask(CHAT, { ...chat('hi'), tools })).status < 500)
  }
  const own = JSON.parse(`{"__proto__":{"x":"${SSN}"},"type":"function"}`) as object
  const { models, ask: again } = await stand(t, { request: [regex()] })
  await again(CHAT, JSON.stringify({ ...chat('hi'), tools: [own] }))
  ok(!JSON.stringify(models.requests).includes(SSN))
  equal(({} as { x?: string }).x, undefined)
})

test('token counts and embeddings are guarded like chats', async (t) => {
  const anthropic = await stand(t, { request: [regex()] }, { anthropic: {} }, {}, { '/count': 'AnthropicTokenCount' })
  await anthropic.ask('/count', {
    model: 'm',
    messages: [{ role: 'user', content: SSN }],
    tools: [{ name: 'f', description: SSN }]
  })
  const { messages, tools } = anthropic.models.requests[0]!.body
  deepEqual([messages[0].content, tools[0].description], ['<SSN>', '<SSN>'])
  const openai = await stand(t, { request: [regex()] }, { openai: {} }, {}, { '/embeddings': 'Embeddings' })
  await openai.ask('/v1/embeddings', { model: 'm', input: ['a', `b ${SSN}`] })
  deepEqual(openai.models.requests[0]!.body.input, ['a', 'b <SSN>'])
  const gemini = await stand(t, { request: [regex()] }, { gemini: {} }, {}, { ':countTokens': 'GeminiTokenCount' })
  const inner = { model: 'models/m', contents: [{ parts: [{ text: SSN }] }], tools: [] }
  await gemini.ask('/v1beta/models/m:countTokens', { generateContentRequest: inner })
  await gemini.ask('/v1beta/models/m:countTokens', { generate_content_request: inner })
  equal(JSON.stringify(gemini.models.requests).includes(SSN), false)
  equal(gemini.models.requests.length, 2)
  const embedding = await stand(t, { request: [regex()] }, { gemini: {} }, {}, { ':embedContent': 'Embeddings' })
  await embedding.ask('/v1beta/models/m:embedContent', { title: SSN, content: { parts: [{ text: SSN }] } })
  deepEqual(
    embedding.models.requests.map(({ body }) => [body.title, body.content.parts[0].text]),
    [['<SSN>', '<SSN>']]
  )
})
