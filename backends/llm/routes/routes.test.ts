/** Routes that are no chat, driven by the vendors' own clients. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Agent } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { WebSocket, WebSocketServer } from 'ws'
import { answers, at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const ROUTES = {
  '/embeddings': 'Embeddings',
  ':embedContent': 'Embeddings',
  ':batchEmbedContents': 'Embeddings',
  '/messages/count_tokens': 'AnthropicTokenCount',
  ':countTokens': 'GeminiTokenCount',
  '/models': 'Models',
  '/realtime': 'Realtime'
}
const KEY = { policies: { auth: { key: 'sk-canary' } } }
const openai = (base: string) => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'of-the-caller', maxRetries: 0 })
const anthropic = (base: string) => new Anthropic({ baseURL: base, apiKey: 'of-the-caller', maxRetries: 0 })
const google = (base: string) => new GoogleGenAI({ apiKey: 'of-the-caller', httpOptions: { baseUrl: base } })

async function routed(t: TestContext, kind: string, models: Models, more: object = {}) {
  return gateway(t, { provider: at(kind, models, KEY), routes: ROUTES, modelAliases: { 'small*': 'm-9' }, ...more })
}

const openaiVectors = ({ body }: { body: { model: string; encoding_format?: string } }): object => ({
  object: 'list',
  model: body.model,
  data: [
    { object: 'embedding', index: 0, embedding: body.encoding_format === 'base64' ? 'AAAAPwAAgD4=' : [0.5, 0.25] },
    { object: 'embedding', index: 1, embedding: body.encoding_format === 'base64' ? 'AACAPwAAAEA=' : [1, 2] }
  ],
  usage: { prompt_tokens: 6, total_tokens: 6 }
})

test("embeddings: OpenAI's client at OpenAI and at Gemini", async (t) => {
  const models = await provider(t)
  const ask = { model: 'small-3', input: ['a', 'b'] }
  answers(models, '/embeddings', openaiVectors)
  const native = await openai((await routed(t, 'openai', models)).base).embeddings.create(ask)
  deepEqual(
    native.data.map(({ embedding }) => embedding),
    [
      [0.5, 0.25],
      [1, 2]
    ]
  )
  deepEqual(
    [models.requests[0]!.path, models.requests[0]!.body.model, native.usage.prompt_tokens],
    ['/v1/embeddings', 'm-9', 6]
  )

  answers(models, ':batchEmbedContents', () => ({
    embeddings: [{ values: [0.5, 0.25] }, { values: [1, 2] }],
    usageMetadata: { promptTokenCount: 6 }
  }))
  const { base, ask: post } = await routed(t, 'gemini', models)
  // The client asks for base64 when nobody says otherwise.
  const translated = await openai(base).embeddings.create({ ...ask, dimensions: 2 })
  deepEqual({ ...translated, model: 'm-9' }, native)
  const seen = models.requests.at(-1)!
  equal(seen.path, '/v1beta/models/m-9:batchEmbedContents')
  const request = (text: string) => ({ model: 'models/m-9', content: { parts: [{ text }] }, outputDimensionality: 2 })
  deepEqual(seen.body, { requests: [request('a'), request('b')] })
  equal(seen.headers['x-goog-api-key'], 'sk-canary')
  const floats = await openai(base).embeddings.create({ ...ask, encoding_format: 'float' })
  deepEqual(floats.data[1]?.embedding, [1, 2])
  for (const [body, message] of [
    [{ ...ask, late: 'u' }, 'late: cannot be carried to gcp.gemini: leave it out, or set unsupported: drop'],
    [{ ...ask, input: [1, 2] }, 'input: tokens cannot be carried to this provider: send text'],
    [{ ...ask, input: [] }, 'input: is required'],
    [{ model: 'x' }, 'input: is required'],
    [{ ...ask, dimensions: 'x' }, 'dimensions: must be a number'],
    [{ ...ask, encoding_format: 'x' }, 'encoding_format: must be one of float, base64']
  ] as const) {
    const refused = await post('/v1/embeddings', body)
    deepEqual([refused.status, (await jsonOf(refused)).error.message], [400, message])
  }
  const answer = await post('/v1/embeddings', { ...ask, user: 'u' })
  deepEqual([answer.status, answer.headers.get('x-weir-dropped')], [200, 'user'])
})

test("embeddings: Gemini's client at Gemini and at OpenAI", async (t) => {
  const models = await provider(t)
  const ask = { model: 'small-3', contents: ['a', 'b'], config: { outputDimensionality: 2 } }
  answers(models, ':batchEmbedContents', () => ({ embeddings: [{ values: [0.5, 0.25] }, { values: [1, 2] }] }))
  const native = await google((await routed(t, 'gemini', models)).base).models.embedContent(ask)
  const seen = models.requests[0]!
  deepEqual(
    [seen.path, seen.body.requests[1].model, seen.body.requests[1].content.parts],
    ['/v1beta/models/m-9:batchEmbedContents', 'models/m-9', [{ text: 'b' }]]
  )
  answers(models, '/embeddings', openaiVectors)
  const { base, ask: post } = await routed(t, 'openai', models)
  const translated = await google(base).models.embedContent(ask)
  deepEqual(translated.embeddings, native.embeddings)
  deepEqual(models.requests.at(-1)!.body, { model: 'm-9', input: ['a', 'b'], dimensions: 2, encoding_format: 'float' })
  const one = await post('/v1beta/models/m1:embedContent', { content: { parts: [{ text: 'a' }, { text: 'b' }] } })
  deepEqual(await jsonOf(one), { embedding: { values: [0.5, 0.25] }, usageMetadata: { promptTokenCount: 6 } })
  equal(models.requests.at(-1)!.body.input[0], 'ab')
  const refused = await post('/v1beta/models/m1:batchEmbedContents', {
    requests: [{ content: { parts: [{ text: 'a' }] }, taskType: 'CLUSTERING' }]
  })
  const { error } = await jsonOf(refused)
  deepEqual([error.code, error.status], [400, 'INVALID_ARGUMENT'])
  match(error.message, /^requests\[0\]\.taskType: cannot be carried to openai/)
})

test('embeddings: a format without them refuses, an invalid answer is a 502, errors have the format of the client', async (t) => {
  const models = await provider(t)
  const { ask: claude } = await routed(t, 'anthropic', models)
  const refused = await claude('/v1/embeddings', { model: 'm', input: 'a' })
  deepEqual([refused.status, (await jsonOf(refused)).error.message], [400, 'anthropic has no embeddings'])
  const { ask } = await routed(t, 'gemini', models)
  for (const wrong of [{ embeddings: 7 }, { embeddings: [{ values: 7 }] }, [], 'x']) {
    answers(models, ':batch', () => wrong as object)
    const broken = await ask('/v1/embeddings', { model: 'm', input: 'a' })
    equal(broken.status, 502)
    match((await jsonOf(broken)).error.message, /cannot be read/)
  }
  answers(models, ':batch', () => ({ error: { code: 404, message: 'no such model', status: 'NOT_FOUND' } }), 404)
  const missing = await ask('/v1/embeddings', { model: 'm', input: 'a' })
  const { error } = await jsonOf(missing)
  deepEqual([missing.status, error.message, error.type], [404, 'no such model', 'not_found_error'])
})

test("counting: Anthropic's client, wherever something counts", async (t) => {
  const models = await provider(t)
  const ask = {
    model: 'small-3',
    system: 'Be brief.',
    messages: [{ role: 'user' as const, content: 'Hi' }],
    tools: [{ name: 'weather', input_schema: { type: 'object' as const, properties: {} } }]
  }
  const count = async (kind: string) =>
    (await anthropic((await routed(t, kind, models)).base).messages.countTokens(ask)).input_tokens
  answers(models, '/count_tokens', () => ({ input_tokens: 14 }))
  equal(await count('anthropic'), 14)
  deepEqual(
    [models.requests[0]!.path, models.requests[0]!.body],
    ['/v1/messages/count_tokens', { ...ask, model: 'm-9' }]
  )
  equal(models.requests[0]!.headers['x-api-key'], 'sk-canary')

  answers(models, ':countTokens', () => ({ totalTokens: 15 }))
  equal(await count('gemini'), 15)
  const { path, body } = models.requests.at(-1)!
  equal(path, '/v1beta/models/m-9:countTokens')
  const { model, contents, systemInstruction, tools, generationConfig } = body.generateContentRequest
  deepEqual([model, contents, generationConfig], ['models/m-9', [{ role: 'user', parts: [{ text: 'Hi' }] }], undefined])
  deepEqual([systemInstruction.parts[0].text, tools[0].functionDeclarations[0].name], ['Be brief.', 'weather'])

  answers(models, '/input_tokens', () => ({ object: 'response.input_tokens', input_tokens: 16 }))
  equal(await count('openai'), 16)
  const responses = models.requests.at(-1)!
  deepEqual([responses.path, responses.body.model], ['/v1/responses/input_tokens', 'm-9'])
  deepEqual(
    [responses.body.max_output_tokens, responses.body.store, responses.body.stream],
    [undefined, undefined, undefined]
  )
  await rejects(count('custom'), /custom has no API that counts tokens/)
})

test("counting: Gemini's client, and the gateway's own additions are counted too", async (t) => {
  const models = await provider(t)
  const prompt = { prepend: [{ role: 'system', content: 'Be brief.' }] }
  const count = async (kind: string) =>
    google((await routed(t, kind, models, { prompt })).base).models.countTokens({ model: 'm1', contents: 'Hi' })
  answers(models, ':countTokens', () => ({ totalTokens: 15, promptTokensDetails: [] }))
  equal((await count('gemini')).totalTokens, 15)
  deepEqual(models.requests[0]!.body, {
    generateContentRequest: {
      model: 'models/m1',
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] }
    }
  })
  answers(models, '/count_tokens', () => ({ input_tokens: 14 }))
  equal((await count('anthropic')).totalTokens, 14)
  const { model, max_tokens, stream } = models.requests.at(-1)!.body
  deepEqual([model, max_tokens, stream], ['m1', undefined, undefined])
})

test('models: what the configuration names, in the words of each client', async (t) => {
  const models = await provider(t)
  const { base, ask } = await routed(t, 'openai', models, {
    provider: at('openai', models, { openai: { model: 'gpt-5' } }),
    modelAliases: { fast: 'gpt-5-mini', 'claude-*': 'gpt-5' }
  })
  const names = ['fast', 'gpt-5']
  deepEqual(
    (await openai(base).models.list()).data.map(({ id, object }) => [id, object]),
    names.map((id) => [id, 'model'])
  )
  deepEqual(
    (await anthropic(base).models.list()).data.map(({ id, display_name }) => [id, display_name]),
    names.map((id) => [id, id])
  )
  const listed = []
  for await (const { name } of await google(base).models.list()) listed.push(name)
  deepEqual(listed, ['models/fast', 'models/gpt-5'])
  equal((await openai(base).models.retrieve('fast')).id, 'fast')
  equal((await openai(base).models.retrieve('claude-5')).id, 'claude-5')
  await rejects(openai(base).models.retrieve('slow'), /404 there is no such model/)
  const empty = await ask('/v1/chat/completions', undefined)
  match((await jsonOf(empty)).error.message, /^there is no body: send JSON with POST; .* end with .*\/models/)
  equal((await ask('/v1/models/%ff', undefined)).status, 400)
  equal(models.requests.length, 0)
})

test("models: the provider's list, where the configuration names none", async (t) => {
  const models = await provider(t)
  const gemini = { models: [{ name: 'models/gemini-2', supportedGenerationMethods: ['x'] }, { name: 'models/g3' }] }
  answers(models, '/models', () => gemini)
  const { base } = await gateway(t, { provider: at('gemini', models, KEY), routes: ROUTES })
  deepEqual(
    (await openai(base).models.list()).data.map(({ id, owned_by }) => [id, owned_by]),
    [
      ['gemini-2', 'gcp.gemini'],
      ['g3', 'gcp.gemini']
    ]
  )
  const { path, headers } = models.requests.at(-1)!
  deepEqual(
    [path, headers['x-goog-api-key'], headers['content-type']],
    ['/v1beta/models?pageSize=1000', 'sk-canary', undefined]
  )
  deepEqual(
    (await anthropic(base).models.list()).data.map(({ id }) => id),
    ['gemini-2', 'g3']
  )
  answers(models, '/models', () => ({
    id: 'claude-x',
    type: 'model',
    display_name: 'X',
    created_at: '2026-01-01T00:00:00Z'
  }))
  const claude = await gateway(t, { provider: at('anthropic', models, KEY), routes: ROUTES })
  const one = await openai(claude.base).models.retrieve('claude-x')
  deepEqual([one.id, one.owned_by, models.requests.at(-1)!.path], ['claude-x', 'anthropic', '/v1/models/claude-x'])
  const own = await anthropic(claude.base).models.retrieve('claude-x')
  equal(own.created_at, '2026-01-01T00:00:00Z')
  answers(models, '/models', () => ({ error: { message: 'no', type: 'authentication_error' }, type: 'error' }), 401)
  await rejects(openai(claude.base).models.list(), /401 no/)
})

async function realtime(t: TestContext) {
  const server = createServer()
  const sockets = new WebSocketServer({ server, handleProtocols: (names) => [...names][0] ?? false })
  const upgrades: { url: string; headers: Record<string, unknown> }[] = []
  sockets.on('connection', (socket, { url, headers }) => {
    upgrades.push({ url: url ?? '', headers })
    socket.send(JSON.stringify({ type: 'session.created', session: {} }))
    socket.on('message', (data) => socket.send(String(data)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return { upgrades, models: { port: (server.address() as AddressInfo).port } as Models }
}

test('realtime: the WebSocket goes to the provider with its key and its name of the model', async (t) => {
  const { upgrades, models } = await realtime(t)
  const { base, ask, port } = await routed(t, 'openai', models)
  // The client only speaks TLS: it gets a connection without.
  const agent = Object.assign(new Agent(), { createConnection: () => connect(port, '127.0.0.1') })
  const socket = new OpenAIRealtimeWS({ model: 'small-live', options: { agent } }, openai(base))
  await new Promise<void>((resolve, reject) => {
    socket.on('session.created', () => resolve())
    socket.on('error', reject)
  })
  const echoed = new Promise((resolve) => socket.on('response.done', resolve))
  socket.socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r' } }))
  deepEqual(await echoed, { type: 'response.done', response: { id: 'r' } })
  socket.close()
  const { url, headers } = upgrades[0]!
  deepEqual([url, headers.authorization], ['/v1/realtime?model=m-9', 'Bearer sk-canary'])
  equal(JSON.stringify(headers).includes('of-the-caller'), false)
  const refused = await ask('/v1/realtime', {})
  deepEqual(
    [refused.status, (await jsonOf(refused)).error.message],
    [400, 'the realtime API is spoken over a WebSocket']
  )
})

test("realtime: a page's key is among its protocols, and is a credential like any other", async (t) => {
  const { upgrades, models } = await realtime(t)
  const protocols = ['realtime', 'openai-insecure-api-key.of-the-page', 'openai-beta.realtime-v1']
  for (const more of [{}, KEY]) {
    const { base } = await gateway(t, { provider: at('openai', models, more), routes: ROUTES })
    const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/realtime?model=live&key=of-the-query&x=1`, protocols)
    await once(socket, 'message')
    equal(socket.protocol, 'realtime')
    socket.terminate()
  }
  deepEqual(
    upgrades.map(({ url, headers }) => [url, headers.authorization, headers['sec-websocket-protocol']]),
    ['of-the-page', 'sk-canary'].map((key) => [
      '/v1/realtime?model=live&x=1',
      `Bearer ${key}`,
      'realtime, openai-beta.realtime-v1'
    ])
  )
})

test('realtime: a provider that has none refuses the upgrade', async (t) => {
  const models = await provider(t)
  const vertexai = { vertexai: { projectId: 'p', region: 'global' }, host: '127.0.0.1', port: models.port, ...KEY }
  const { base: atVertex } = await gateway(t, { provider: vertexai, routes: ROUTES })
  for (const base of [(await routed(t, 'anthropic', models)).base, atVertex]) {
    const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/realtime?model=live`)
    const [, response] = await once(socket, 'unexpected-response')
    ok(response.statusCode === 400 && models.requests.length === 0)
    response.resume()
  }
})

test('counting in the clouds', async (t) => {
  const models = await provider(t)
  const count = async (cloud: object, model: string) => {
    const policies = { auth: { key: 'sk-canary' } }
    const one = { ...cloud, host: '127.0.0.1', port: models.port, policies }
    const { base } = await gateway(t, { provider: one, routes: ROUTES })
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    return (await anthropic(base).messages.countTokens({ model, messages })).input_tokens
  }
  answers(models, '/count-tokens', () => ({ inputTokens: 17 }))
  equal(await count({ bedrock: {} }, 'anthropic.claude-x'), 17)
  const bedrock = models.requests.at(-1)!
  equal(bedrock.path, '/model/anthropic.claude-x/count-tokens')
  deepEqual(bedrock.body.input.converse.messages, [{ role: 'user', content: [{ text: 'Hi' }] }])
  answers(models, ':countTokens', () => ({ totalTokens: 18 }))
  const vertexai = { projectId: 'p', region: 'r' }
  equal(await count({ vertexai }, 'gemini-x'), 18)
  deepEqual(models.requests.at(-1)!.body, { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] })
  answers(models, '/count-tokens:rawPredict', () => ({ input_tokens: 19 }))
  equal(await count({ vertexai }, 'claude-x-20250929'), 19)
  const claude = models.requests.at(-1)!
  equal(claude.path, '/v1/projects/p/locations/r/publishers/anthropic/models/count-tokens:rawPredict')
  const hi = { messages: [{ role: 'user', content: 'Hi' }] }
  deepEqual(claude.body, { anthropic_version: 'vertex-2023-10-16', model: 'claude-x@20250929', ...hi })
  await rejects(count({ vertexai }, 'meta/llama'), /gcp.vertex_ai has no API that counts tokens/)
  const { ask } = await gateway(t, { provider: { vertexai, host: '127.0.0.1', port: models.port }, routes: ROUTES })
  for (const path of ['/v1/embeddings', '/v1/models']) {
    const refused = await ask(path, path.endsWith('models') ? undefined : { model: 'claude-e', input: 'a' })
    equal(refused.status, 400, path)
  }
})
