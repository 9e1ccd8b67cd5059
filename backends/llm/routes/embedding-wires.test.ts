/** Embeddings of clouds and services with words of their own, for clients of OpenAI and of Gemini. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { mediaGateway, sendsJson } from '#backends/llm/testing/media-gateway.ts'

const ROUTES = { '/embeddings': 'Embeddings', ':embedContent': 'Embeddings', ':batchEmbedContents': 'Embeddings' }
const AWS = { auth: { aws: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } } }
const GOOGLE = { auth: { key: 'ya29.token' } }

async function cloud(t: TestContext, kind: object, policies: object) {
  const upstream = await provider(t)
  const at = { host: '127.0.0.1', port: upstream.port, policies }
  const { base } = await gateway(t, { provider: { ...at, ...kind }, routes: ROUTES })
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: base } })
  const seen = () => {
    const { path, body } = upstream.requests.at(-1)!
    return [path, body]
  }
  return { upstream, openai, google, seen }
}

const refusal = async (asking: Promise<unknown>): Promise<string> =>
  asking.then(
    () => 'not refused',
    (error: Error) => error.message
  )

test('Titan on Bedrock', async (t) => {
  const titan = { bedrock: { model: 'amazon.titan-embed-text-v2:0' } }
  const { upstream, openai, google, seen } = await cloud(t, titan, AWS)
  sendsJson(upstream, { embedding: [0.5, 0.25], inputTextTokenCount: 3 })
  const made = await openai.embeddings.create({ model: 'm', input: ['Ahoy'], dimensions: 256 })
  deepEqual(made.data[0]!.embedding, [0.5, 0.25])
  deepEqual(made.usage, { prompt_tokens: 3, total_tokens: 3 })
  const path = '/model/amazon.titan-embed-text-v2%3A0/invoke'
  deepEqual(seen(), [path, { inputText: 'Ahoy', dimensions: 256 }])
  const gemini = await google.models.embedContent({ model: 'm', contents: 'Ahoy' })
  deepEqual(gemini.embeddings?.[0]?.values, [0.5, 0.25])
  match(await refusal(openai.embeddings.create({ model: 'm', input: ['a', 'b'] })), /input: must be one text/)
})

test('Cohere on Bedrock, which counts in the header', async (t) => {
  const cohere = { bedrock: { model: 'eu.cohere.embed-v4:0' } }
  const { upstream, openai, google, seen } = await cloud(t, cohere, AWS)
  upstream.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'x-amzn-bedrock-input-token-count': '7' })
    response.end(JSON.stringify({ embeddings: { float: [[1], [2]] } }))
    return true
  }
  const made = await openai.embeddings.create({ model: 'm', input: ['a', 'b'] })
  deepEqual(
    made.data.map(({ embedding }) => embedding),
    [[1], [2]]
  )
  deepEqual(made.usage, { prompt_tokens: 7, total_tokens: 7 })
  const request = { texts: ['a', 'b'], input_type: 'search_document', embedding_types: ['float'] }
  deepEqual(seen(), ['/model/eu.cohere.embed-v4%3A0/invoke', request])
  await google.models.embedContent({ model: 'm', contents: ['a', 'b'], config: { taskType: 'RETRIEVAL_QUERY' } })
  deepEqual(seen()[1], { ...request, input_type: 'search_query' })
  sendsJson(upstream, { embeddings: [[1], [2]], response_type: 'embeddings_floats' })
  equal((await openai.embeddings.create({ model: 'm', input: ['a', 'b'] })).data.length, 2)
  const other = await cloud(t, { bedrock: { model: 'amazon.nova-pro-v1:0' } }, AWS)
  match(await refusal(other.openai.embeddings.create({ model: 'm', input: 'a' })), /titan-embed and cohere\.embed only/)
  equal(other.upstream.requests.length, 0)
})

test("Vertex AI: :predict, and :embedContent of newer models; other makers' have none", async (t) => {
  const vertex = (model: string) => ({ vertexai: { projectId: 'p', region: 'us-central1', model } })
  const at = '/v1/projects/p/locations/us-central1/publishers/google/models'
  const { upstream, openai, seen, google } = await cloud(t, vertex('text-embedding-005'), GOOGLE)
  const one = (value: number) => ({ embeddings: { values: [value], statistics: { token_count: 2, truncated: false } } })
  sendsJson(upstream, { predictions: [one(1), one(2)] })
  const made = await openai.embeddings.create({ model: 'm', input: ['a', 'b'], dimensions: 8 })
  deepEqual(made.usage, { prompt_tokens: 4, total_tokens: 4 })
  const instances = [{ content: 'a' }, { content: 'b' }]
  deepEqual(seen(), [`${at}/text-embedding-005:predict`, { instances, parameters: { outputDimensionality: 8 } }])
  await google.models.embedContent({ model: 'm', contents: ['a'], config: { taskType: 'CLUSTERING' } })
  deepEqual(seen()[1], { instances: [{ content: 'a', task_type: 'CLUSTERING' }] })

  const newer = await cloud(t, vertex('gemini-embedding-2'), GOOGLE)
  sendsJson(newer.upstream, { embedding: { values: [3] }, usageMetadata: { promptTokenCount: 5 } })
  const single = await newer.openai.embeddings.create({ model: 'm', input: 'a' })
  deepEqual([single.data[0]!.embedding, single.usage.prompt_tokens], [[3], 5])
  deepEqual(newer.seen(), [`${at}/gemini-embedding-2:embedContent`, { content: { parts: [{ text: 'a' }] } }])
  const config = { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 768 }
  await newer.google.models.embedContent({ model: 'm', contents: ['a'], config })
  deepEqual(newer.seen()[1], { content: { parts: [{ text: 'a' }] }, embedContentConfig: config })
  const other = await cloud(t, vertex('claude-opus-4-5'), GOOGLE)
  match(await refusal(other.openai.embeddings.create({ model: 'm', input: 'a' })), /gcp\.vertex_ai has no embeddings/)
})

test('Voyage and Jina: their own words for dimensions and encodings', async (t) => {
  const { openai, upstream, spent, post } = await mediaGateway(t, [
    { name: 'v', provider: 'voyage', params: { model: 'voyage-4' }, prices: [{ input: 1 }] },
    { name: 'j', provider: 'jina', params: { model: 'jina-embeddings-v4' }, prices: [{ input: 1 }] }
  ])
  const sent = () => upstream.requests.at(-1)!.body
  sendsJson(upstream, { object: 'list', data: [{ embedding: [1], index: 0 }], usage: { total_tokens: 500_000 } })
  await openai.embeddings.create({ model: 'v', input: 'a', dimensions: 256, encoding_format: 'float' })
  deepEqual(sent(), { model: 'voyage-4', input: 'a', output_dimension: 256 })
  equal(spent(), '0.5')
  // Voyage's own client.
  await (await post('/v1/embeddings', { model: 'v', input: ['a'], input_type: 'query', output_dimension: 8 })).text()
  deepEqual(sent(), { model: 'voyage-4', input: ['a'], input_type: 'query', output_dimension: 8 })
  await openai.embeddings.create({ model: 'j', input: 'a', dimensions: 256 })
  deepEqual(sent(), { model: 'jina-embeddings-v4', input: 'a', dimensions: 256, embedding_type: 'base64' })
})

test("Cohere: its own API, for its own clients as it is, and what others' vectors are for", async (t) => {
  const models = [{ name: 'c', provider: 'cohere', params: { model: 'embed-v4.0' }, prices: [{ input: 1 }] }]
  const { upstream, openai, post, spent } = await mediaGateway(t, models)
  const meta = { api_version: { version: '2' }, billed_units: { input_tokens: 6 } }
  const answer = { id: 'i', embeddings: { float: [[0.5], [0.25]] }, texts: ['a', 'b'], meta }
  sendsJson(upstream, answer)
  const request = (input_type: string) => ({ model: 'c', input: ['a', 'b'], dimensions: 256, input_type })
  const ask = (type: string) => openai.embeddings.create({ ...request(type), encoding_format: 'base64' })
  const made = await ask('query')
  equal(made.data[1]!.embedding as unknown, Buffer.from(new Float32Array([0.25]).buffer).toString('base64'))
  equal(made.usage.prompt_tokens, 6)
  const sent = { model: 'embed-v4.0', texts: ['a', 'b'], embedding_types: ['float'] }
  const last = () => upstream.requests.at(-1)!.body
  deepEqual(last(), { ...sent, input_type: 'search_query', output_dimension: 256 })
  match(await refusal(ask('poem')), /input_type: must be one of/)
  const own = await post('/v2/embed', { ...sent, model: 'c', input_type: 'image', truncate: 'END' })
  deepEqual(await own.json(), answer)
  deepEqual(last(), { ...sent, input_type: 'image', truncate: 'END' })
  equal(spent(), '0.000012')
})

test("Cohere's clients at others: OpenAI's words, Gemini's, and what cannot be said", async (t) => {
  const ask = { model: 'o', texts: ['a', 'b'], input_type: 'search_query', embedding_types: ['float'], truncate: 'END' }
  const { upstream, post } = await mediaGateway(t, [{ name: 'o', provider: 'openai', prices: [{ input: 1 }] }])
  const vectors = [{ embedding: [0.5] }, { embedding: [0.25] }]
  sendsJson(upstream, { data: vectors, usage: { prompt_tokens: 4 } })
  const response = await post('/v2/embed', { ...ask, output_dimension: 8 })
  equal(response.headers.get('x-weir-dropped'), 'input_type, truncate')
  const { id, ...got } = (await response.json()) as { readonly id: string }
  equal(typeof id, 'string')
  const meta = { api_version: { version: '2' }, billed_units: { input_tokens: 4 } }
  deepEqual(got, {
    embeddings: { float: [[0.5], [0.25]] },
    ...{ texts: ['a', 'b'], meta, response_type: 'embeddings_by_type' }
  })
  deepEqual(upstream.requests.at(-1)!.body, { model: 'o', input: ['a', 'b'], dimensions: 8, encoding_format: 'float' })
  const inputs = [{ content: [{ type: 'text', text: 'a' }] }]
  const packed = (await (await post('/v2/embed', { model: 'o', inputs, embedding_types: ['base64'] })).json()) as {
    readonly embeddings: { readonly base64: readonly string[] }
  }
  equal(packed.embeddings.base64[1], Buffer.from(new Float32Array([0.25]).buffer).toString('base64'))
  const bytes = Buffer.from(new Float32Array([0.5]).buffer).toString('base64')
  sendsJson(upstream, { data: [{ embedding: bytes }] })
  const unpacked = (await (await post('/v2/embed', ask)).json()) as { readonly embeddings: object }
  deepEqual(unpacked.embeddings, { float: [[0.5]] })
  sendsJson(upstream, { data: [{ embedding: 'AAA=' }] })
  equal((await post('/v2/embed', ask)).status, 502)
  for (const [more, why] of [
    [{ embedding_types: ['int8'] }, /embedding_types: must be one of float, base64/],
    [{ texts: undefined, images: ['data:'] }, /texts: is required/],
    [{ texts: [3] }, /texts: must be texts/],
    [{ max_tokens: 9 }, /max_tokens: cannot be carried/]
  ] as const) {
    const refused = await post('/v2/embed', { ...ask, ...more })
    equal(refused.status, 400)
    match(((await refused.json()) as { readonly message: string }).message, why)
  }
  const gemini = await cloud(t, { gemini: {} }, GOOGLE)
  sendsJson(gemini.upstream, { embeddings: [{ values: [1] }] })
  await gemini.openai.embeddings.create({ model: 'm', input: 'a', input_type: 'passage' } as {
    model: string
    input: string
  })
  const content = { parts: [{ text: 'a' }] }
  deepEqual(gemini.seen()[1], { requests: [{ model: 'models/m', content, taskType: 'RETRIEVAL_DOCUMENT' }] })
})
