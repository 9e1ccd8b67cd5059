/** What spans say of a call of a model: the GenAI conventions, for all formats, whole and streamed. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Models, startModels } from '#engine/testing/models.ts'
import type { CollectedSpan } from '#engine/testing/otlp-collector.ts'
import { ask, hasServer, isClient, isServer, startTraced } from '#engine/testing/traced.ts'

const JSON_BODY = { 'content-type': 'application/json' }
const AWS = { auth: { aws: { accessKeyId: 'AKID', secretAccessKey: 'S' } } }
const ROUTES = {
  '/v1/chat/completions': 'Completions',
  '/v1/messages': 'Messages',
  '/v1/responses': 'Responses',
  ':generateContent': 'GenerateContent',
  ':streamGenerateContent': 'GenerateContent',
  '/v1/embeddings': 'Embeddings',
  ':embedContent': 'Embeddings'
}

type Provider = { readonly kind: string; readonly settings?: object; readonly policies?: object }

const OPENAI: Provider = { kind: 'openai' }
const ANTHROPIC: Provider = { kind: 'anthropic' }
const GEMINI: Provider = { kind: 'gemini' }
const BEDROCK: Provider = { kind: 'bedrock', settings: { region: 'eu-west-1' }, policies: AWS }

async function stand(t: TestContext, { kind, settings = {}, policies }: Provider, tracing: object = {}) {
  const models = await startModels()
  t.after(() => models.close())
  const ai = { provider: { [kind]: settings, host: '127.0.0.1', port: models.port }, routes: ROUTES }
  const backend = policies === undefined ? { ai } : { ai, policies }
  const traced = await startTraced(t, { backends: [backend] }, tracing)
  const call = async (path: string, body: object): Promise<CollectedSpan> => {
    const before = traced.collector.spans.length
    const { status } = await ask(traced.port, path, JSON_BODY, JSON.stringify(body))
    assert.equal(status, 200)
    const spans = await traced.collector.until((all) => hasServer(all.slice(before)))
    return spans.slice(before).find(isClient)!
  }
  return { ...traced, models, call }
}

const genAi = ({ attributes }: CollectedSpan, prefix = /^gen_ai\.(?:request|response|output|embeddings)\./) =>
  Object.fromEntries(
    Object.entries(attributes).filter(([name]) => prefix.test(name) && !name.endsWith('time_to_first_chunk'))
  )

const DOUBLES = ['temperature', 'top_p', 'frequency_penalty', 'presence_penalty'].map(
  (name) => `gen_ai.request.${name}`
)

const TURNS = [{ role: 'user', content: 'a secret question' }]
const OPENAI_CHAT = {
  model: 'm1',
  messages: TURNS,
  temperature: 1,
  top_p: 0,
  frequency_penalty: 2,
  presence_penalty: -1,
  max_completion_tokens: 9,
  seed: 7,
  stop: 'END',
  n: 1,
  response_format: { type: 'json_object' },
  reasoning_effort: 'low'
}
const REQUEST = {
  'gen_ai.request.model': 'm1',
  'gen_ai.request.temperature': 1,
  'gen_ai.request.top_p': 0,
  'gen_ai.request.frequency_penalty': 2,
  'gen_ai.request.presence_penalty': -1,
  'gen_ai.request.max_tokens': 9,
  'gen_ai.request.seed': 7,
  'gen_ai.request.stop_sequences': ['END'],
  'gen_ai.request.reasoning.level': 'low',
  'gen_ai.output.type': 'json'
}
const FEW = {
  'gen_ai.request.model': 'm1',
  'gen_ai.request.temperature': 1,
  'gen_ai.request.max_tokens': 9,
  'gen_ai.request.stop_sequences': ['A', 'B']
}
const CONTENTS = [{ role: 'user', parts: [{ text: 'a secret question' }] }]
const GENERATION = {
  temperature: 1,
  topP: 1,
  topK: 40,
  maxOutputTokens: 9,
  seed: 7,
  frequencyPenalty: 2,
  presencePenalty: -1,
  stopSequences: ['A', 'B'],
  candidateCount: 2,
  responseMimeType: 'application/json'
}

interface Case {
  readonly name: string
  readonly provider: Provider
  readonly path: (stream: boolean) => string
  readonly body: object
  readonly request: object
  readonly answered: object
}

const at = (path: string) => () => path

const CASES: readonly Case[] = [
  {
    name: 'completions as they are',
    provider: OPENAI,
    path: at('/v1/chat/completions'),
    body: OPENAI_CHAT,
    request: REQUEST,
    answered: { 'gen_ai.response.id': 'chatcmpl-1', 'gen_ai.response.model': 'm1' }
  },
  {
    name: 'completions for messages',
    provider: ANTHROPIC,
    path: at('/v1/chat/completions'),
    body: { model: 'm1', messages: TURNS, temperature: 1, max_tokens: 9, stop: ['A', 'B'] },
    request: FEW,
    answered: { 'gen_ai.response.id': 'msg_1', 'gen_ai.response.model': 'm1' }
  },
  {
    name: 'completions for Converse, whose answers have no id and no model',
    provider: BEDROCK,
    path: at('/v1/chat/completions'),
    body: { model: 'm1', messages: TURNS, temperature: 1, max_tokens: 9, stop: ['A', 'B'] },
    request: FEW,
    answered: {}
  },
  {
    name: 'messages as they are',
    provider: ANTHROPIC,
    path: at('/v1/messages'),
    body: {
      model: 'm1',
      messages: TURNS,
      temperature: 1,
      top_k: 40,
      max_tokens: 9,
      stop_sequences: ['A', 'B'],
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } }
    },
    request: {
      ...FEW,
      'gen_ai.request.top_k': 40,
      'gen_ai.request.reasoning.level': 'high',
      'gen_ai.output.type': 'json'
    },
    answered: { 'gen_ai.response.id': 'msg_1', 'gen_ai.response.model': 'm1' }
  },
  {
    name: 'responses as they are',
    provider: OPENAI,
    path: at('/v1/responses'),
    body: {
      model: 'm1',
      input: 'a secret question',
      temperature: 1,
      max_output_tokens: 9,
      previous_response_id: 'resp_0',
      reasoning: { effort: 'low' },
      text: { format: { type: 'text' } }
    },
    request: {
      'gen_ai.request.model': 'm1',
      'gen_ai.request.temperature': 1,
      'gen_ai.request.max_tokens': 9,
      'gen_ai.request.previous_response.id': 'resp_0',
      'gen_ai.request.reasoning.level': 'low',
      'gen_ai.output.type': 'text'
    },
    answered: { 'gen_ai.response.id': 'resp_1', 'gen_ai.response.model': 'm1' }
  },
  {
    name: 'generateContent as it is',
    provider: GEMINI,
    path: (stream) => `/v1beta/models/m1:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: CONTENTS, generationConfig: GENERATION },
    request: {
      'gen_ai.request.model': 'm1',
      'gen_ai.request.temperature': 1,
      'gen_ai.request.top_p': 1,
      'gen_ai.request.top_k': 40,
      'gen_ai.request.frequency_penalty': 2,
      'gen_ai.request.presence_penalty': -1,
      'gen_ai.request.max_tokens': 9,
      'gen_ai.request.seed': 7,
      'gen_ai.request.stop_sequences': ['A', 'B'],
      'gen_ai.request.choice.count': 2,
      'gen_ai.output.type': 'json'
    },
    answered: { 'gen_ai.response.id': 'resp-1', 'gen_ai.response.model': 'gemini-2' }
  }
]

for (const { name, provider, path, body, request, answered } of CASES)
  for (const stream of [false, true])
    test(`${name}${stream ? ', streamed' : ''}: a span says what was asked and how it ended`, async (t) => {
      const { models, call } = await stand(t, provider)
      const span = await call(path(stream), provider === GEMINI || !stream ? body : { ...body, stream: true })
      const finish = { 'gen_ai.response.finish_reasons': ['stop'] }
      const streamed = stream ? { 'gen_ai.request.stream': true } : {}
      assert.deepEqual(genAi(span), { ...request, ...answered, ...finish, ...streamed })
      assert.deepEqual(
        span.doubles.filter((one) => one.startsWith('gen_ai.request.')),
        DOUBLES.filter((one) => one in request)
      )
      const { 'server.address': address, 'server.port': port, 'error.type': error } = span.attributes
      assert.deepEqual([address, port, error], ['127.0.0.1', models.port, undefined])
      assert.doesNotMatch(JSON.stringify(span.attributes), /secret/)
    })

for (const [provider, path, tools] of [
  [
    OPENAI,
    '/v1/chat/completions',
    [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
  ],
  [OPENAI, '/v1/responses', [{ type: 'function', name: 'weather', parameters: { type: 'object' } }]],
  [ANTHROPIC, '/v1/messages', [{ name: 'weather', input_schema: { type: 'object' } }]],
  [GEMINI, '/v1beta/models/m1:generateContent', [{ functionDeclarations: [{ name: 'weather' }] }]],
  [
    BEDROCK,
    '/v1/chat/completions',
    [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
  ]
] as const)
  test(`a call of a tool ends an answer by the conventions' word: ${provider.kind} at ${path}`, async (t) => {
    const { call } = await stand(t, provider)
    const text =
      provider === GEMINI ? { contents: CONTENTS } : path === '/v1/responses' ? { input: 'x' } : { messages: TURNS }
    const body = { model: 'm1', ...text, max_tokens: 9, tools }
    for (const stream of [false, true]) {
      const where = stream ? path.replace(':generate', ':streamGenerate') : path
      const span = await call(where, stream && provider !== GEMINI ? { ...body, stream } : body)
      assert.deepEqual(span.attributes['gen_ai.response.finish_reasons'], ['tool_call'])
    }
  })

test('each choice has its reason', async (t) => {
  const { models, call } = await stand(t, OPENAI)
  const choices = ['stop', 'length', 'content_filter', 'a new word'].map((word, index) => ({
    index,
    message: { role: 'assistant', content: 'x' },
    finish_reason: word
  }))
  instead(models, { id: 'c', model: 'm', choices })
  const span = await call('/v1/chat/completions', { ...OPENAI_CHAT, n: 4 })
  assert.deepEqual(span.attributes['gen_ai.response.finish_reasons'], ['stop', 'length', 'content_filter', 'stop'])
  assert.equal(span.attributes['gen_ai.request.choice.count'], 4)
})

test('a choice of a stream that breaks has failed', async (t) => {
  const { models, call } = await stand(t, OPENAI)
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      'data: {"choices":[{"index":1,"delta":{"content":"a"},"finish_reason":"stop"}],"id":"c","model":"m"}\n\n'
    )
    response.end('data: {"choices":[{"index":0,"delta":{"content":"a"}}],"id":"c","model":"m"}\n\n')
    return true
  }
  const span = await call('/v1/chat/completions', { ...OPENAI_CHAT, n: 2, stream: true })
  assert.deepEqual(span.attributes['gen_ai.response.finish_reasons'], ['error', 'stop'])
  assert.equal(span.attributes['error.type'], 'internal')
  assert.ok(span.isError)
})

test('an error of the provider has its status, and what was asked', async (t) => {
  const { models, port, collector } = await stand(t, OPENAI)
  models.instead = (_, response) => {
    response.writeHead(429, JSON_BODY).end('{"error":{"message":"no","type":"rate_limit"}}')
    return true
  }
  await ask(port, '/v1/chat/completions', JSON_BODY, JSON.stringify(OPENAI_CHAT))
  const span = (await collector.until(hasServer)).find(isClient)!
  assert.equal(span.attributes['error.type'], '429')
  assert.equal(span.attributes['gen_ai.request.seed'], 7)
  assert.ok(!('gen_ai.response.finish_reasons' in span.attributes))
})

test('embeddings say their format, their size and the model that made them', async (t) => {
  const openai = await stand(t, OPENAI)
  const span = await openai.call('/v1/embeddings', {
    model: 'e1',
    input: 'x',
    encoding_format: 'base64',
    dimensions: 3
  })
  assert.equal(span.name, 'embeddings e1')
  assert.deepEqual(genAi(span), {
    'gen_ai.request.model': 'e1',
    'gen_ai.request.encoding_formats': ['base64'],
    'gen_ai.embeddings.dimension.count': 3,
    'gen_ai.response.model': 'e1'
  })
  const gemini = await stand(t, GEMINI)
  const content = { parts: [{ text: 'x' }] }
  const other = await gemini.call('/v1beta/models/e2:embedContent', { content, outputDimensionality: 3 })
  assert.deepEqual(genAi(other), { 'gen_ai.request.model': 'e2', 'gen_ai.embeddings.dimension.count': 3 })
})

test('a large request says the same', async (t) => {
  const { call } = await stand(t, ANTHROPIC)
  const long = { role: 'user', content: 'x'.repeat(200_000) }
  for (const stream of [false, true]) {
    const span = await call('/v1/chat/completions', {
      model: 'm1',
      messages: [long],
      temperature: 1,
      max_tokens: 9,
      stop: ['A', 'B'],
      stream
    })
    const { 'gen_ai.request.stream': _, ...rest } = genAi(span)
    assert.deepEqual(rest, {
      ...FEW,
      'gen_ai.response.id': 'msg_1',
      'gen_ai.response.model': 'm1',
      'gen_ai.response.finish_reasons': ['stop']
    })
  }
})

test('long texts are cut, many are left out, and what has another type says nothing', async (t) => {
  const { models, call } = await stand(t, OPENAI)
  const stop = Array.from({ length: 40 }, (_, i) => `${i}${'s'.repeat(5000)}`)
  const choices = Array.from({ length: 500 }, () => ({ message: { content: '' }, finish_reason: 'stop' }))
  instead(models, { id: 'i'.repeat(100_000), model: 'm', choices })
  const odd = { temperature: 'hot', seed: null, n: '3', response_format: 7, reasoning_effort: {} }
  const span = await call('/v1/chat/completions', { model: 'm1', messages: TURNS, stop, ...odd })
  const { 'gen_ai.request.stop_sequences': stops, ...rest } = genAi(span)
  assert.deepEqual(
    stops,
    stop.slice(0, 16).map((text) => text.slice(0, 256))
  )
  assert.deepEqual(rest, {
    'gen_ai.request.model': 'm1',
    'gen_ai.response.id': 'i'.repeat(256),
    'gen_ai.response.model': 'm',
    'gen_ai.response.finish_reasons': Array.from({ length: 128 }, () => 'stop')
  })
})

test('they are left out and replaced as other attributes are', async (t) => {
  const attributes = { 'gen_ai.request.seed': '"hidden"' }
  const { port, collector } = await stand(t, OPENAI, { remove: ['gen_ai.response.id'], attributes })
  await ask(port, '/v1/chat/completions', JSON_BODY, JSON.stringify(OPENAI_CHAT))
  const spans = await collector.until(hasServer)
  const call = spans.find(isClient)!
  assert.ok(!('gen_ai.response.id' in call.attributes) && !('gen_ai.request.seed' in call.attributes))
  assert.equal(spans.find(isServer)!.attributes['gen_ai.request.seed'], 'hidden')
  assert.deepEqual(call.attributes['gen_ai.response.finish_reasons'], ['stop'])
})

function instead(models: Models, answer: object): void {
  models.instead = (_, response) => {
    response.writeHead(200, JSON_BODY).end(JSON.stringify(answer))
    return true
  }
}
