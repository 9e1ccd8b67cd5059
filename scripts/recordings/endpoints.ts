/**
 * Recorded exchanges beside chat (vercel/ai, pydantic-ai, langchain, openllmetry): which service and which endpoint
 * they are of, how a client asks for the same, and what the answer says.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { bodyOf, FILE_BYTES_MAX, type Interaction, interactionsIn, objectIn } from './read.ts'

export type EndpointName = 'embeddings' | 'rerank' | 'texts' | 'images' | 'transcriptions' | 'stored'

export interface Ask {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

export interface Endpoint {
  readonly name: EndpointName
  /** In `llm.models`, and its parameters there. */
  readonly provider: string
  readonly params?: object
  /** Of fixtures, or of what a cassette was asked for: "POST https://...". */
  readonly from: RegExp
  /** By which clients ask for it. */
  asks(recorded: Recorded): readonly Ask[]
  /** Of the provider's answer, and of what a client gets. */
  says(answer: JsonObject): unknown
}

interface Recorded {
  readonly from: string
  readonly request: JsonObject | null
}

export interface EndpointRecording {
  readonly source: string
  readonly endpoint: Endpoint
  readonly asks: readonly Ask[]
  readonly answer: JsonObject
}

const objects = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : []
const of = (value: Json | undefined, name: string): Json | undefined => (isObject(value) ? value[name] : undefined)

/** Vectors one after the other, in any of the formats. Some are packed. */
function vectorsIn(answer: JsonObject): readonly number[] {
  const { embedding, embeddings, predictions, data } = answer
  const lists =
    of(embeddings, 'float') ??
    (embedding === undefined ? undefined : [embedding]) ??
    embeddings ??
    (predictions === undefined ? objects(data).map((one) => one.embedding!) : undefined) ??
    objects(predictions).map((one) => one.embeddings!)
  return (lists as readonly Json[]).flatMap((one) => {
    const values = of(one, 'values') ?? one
    return typeof values === 'string' ? unpacked(values) : (values as number[])
  })
}

function unpacked(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4))
}

/** Places and scores. */
function scoresIn(answer: JsonObject): readonly number[] {
  const ranked = objects(answer.results ?? answer.data)
  return ranked.flatMap((one) => [Number(one.index), Number(one.relevance_score ?? one.score)])
}

const post = (path: string, body: object): Ask => ({ method: 'POST', path, body })

const embeddings = (provider: string, from: RegExp, model = 'm', params = {}): Endpoint => ({
  ...{ name: 'embeddings', provider, params, from },
  asks: () => [
    post('/v1/embeddings', { model, input: ['a'] }),
    post('/v2/embed', { model, texts: ['a'], input_type: 'search_query', embedding_types: ['float'] }),
    post(`/v1beta/models/${model}:batchEmbedContents`, { requests: [{ content: { parts: [{ text: 'a' }] } }] })
  ],
  says: vectorsIn
})

const rerank = (provider: string, from: RegExp): Endpoint => ({
  ...{ name: 'rerank', provider, from },
  asks: () => ['/v1/rerank', '/v2/rerank'].map((path) => post(path, { model: 'm', query: 'a', documents: ['a', 'b'] })),
  says: scoresIn
})

const texts = (provider: string, from: RegExp): Endpoint => ({
  ...{ name: 'texts', provider, from },
  asks: () => [post('/v1/completions', { model: 'gpt-3.5-turbo-instruct', prompt: 'a' })],
  says: ({ choices, usage }) => ({
    choices: objects(choices).map(({ text, finish_reason: end }) => [text, end]),
    usage
  })
})

function soundForm(): FormData {
  const form = new FormData()
  form.set('model', 'm')
  form.set('file', new Blob(['a']), 'a.wav')
  return form
}

const transcriptions = (provider: string, from: RegExp): Endpoint => ({
  ...{ name: 'transcriptions', provider, from },
  asks: () => [post('/v1/audio/transcriptions', soundForm())],
  says: ({ text, usage = null }) => ({ text, usage })
})

/** The same call again, at the gateway: ids and answers pass as they are. */
const stored = (provider: string, from: RegExp, headers: Readonly<Record<string, string>> = {}): Endpoint => ({
  ...{ name: 'stored', provider, from },
  asks: ({ from: call, request }) => {
    const [method = '', url = ''] = call.split(' ')
    const { pathname: path, search } = new URL(url)
    const isUpload = method === 'POST' && /\/files$/.test(path) && !path.includes('vector_stores')
    const body = method !== 'POST' ? {} : { body: isUpload ? fileForm() : (request ?? {}) }
    return [{ method, path: `${path}${search}`, headers, ...body }]
  },
  says: (answer) => answer
})

function fileForm(): FormData {
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new Blob(['a']), 'a.txt')
  return form
}

const BEDROCK = { awsRegion: 'us-east-1' }
const VERTEX = { vertexProject: 'p', vertexRegion: 'global' }

const ENDPOINTS: readonly Endpoint[] = [
  embeddings('cohere', /cohere\/src\/__fixtures__\/cohere-embedding|cohere\.(?:ai|com)\/v2\/embed$/),
  embeddings('openai', /openai\/.*openai-embedding\.json|api\.openai\.com\/v1\/embeddings$/),
  embeddings('azure', /openai\.azure\.com\/openai\/.*\/embeddings(?:\?|$)/, 'm', { azureResourceName: 'r' }),
  embeddings('voyage', /voyage\/.*voyage-embedding\.json|api\.voyageai\.com\/v1\/embeddings$/),
  embeddings('mistral', /api\.mistral\.ai\/v1\/embeddings$/),
  embeddings('gemini', /generativelanguage\.googleapis\.com\/.*:batchEmbedContents$/, 'gemini-embedding-001'),
  embeddings(
    'vertex',
    /google-vertex-embedding\.json|aiplatform\..*embedding[^/]*:predict$/,
    'text-embedding-005',
    VERTEX
  ),
  embeddings('vertex', /aiplatform\..*embedding[^/]*:embedContent$/, 'gemini-embedding-2-preview', VERTEX),
  embeddings('bedrock', /\/model\/[^/]*titan-embed-text[^/]*\/invoke$/, 'amazon.titan-embed-text-v2:0', BEDROCK),
  embeddings('bedrock', /\/model\/[^/]*cohere\.embed[^/]*\/invoke$/, 'cohere.embed-v4:0', BEDROCK),
  rerank('cohere', /cohere\/.*cohere-reranking|cohere\.(?:ai|com)\/v[12]\/rerank$/),
  rerank('voyage', /voyage\/.*voyage-reranking|api\.voyageai\.com\/v1\/rerank$/),
  rerank('together', /togetherai\/.*togetherai-reranking/),
  texts('openai', /openai\/src\/completion\/.*\.json|api\.openai\.com\/v1\/completions$/),
  texts('together', /api\.together\.xyz\/v1\/completions$/),
  {
    ...{ name: 'images', provider: 'openai', from: /openai-image\.json|api\.openai\.com\/v1\/images\/generations$/ },
    asks: () => [post('/v1/images/generations', { model: 'm', prompt: 'a' })],
    says: ({ data }) => data
  },
  transcriptions('openai', /openai-transcription\.json/),
  transcriptions('mistral', /mistral-transcription\.json/),
  stored('openai', /api\.openai\.com\/v1\/(?:files|conversations|vector_stores)(?:\/|$)/),
  stored('openai', /^(?:GET|DELETE) .*api\.openai\.com\/v1\/responses\//),
  stored('openai', /api\.openai\.com\/v1\/responses\/(?:compact|input_tokens)$/),
  stored('anthropic', /api\.anthropic\.com\/v1\/files(?:\/|$)/, { 'anthropic-version': '2023-06-01' }),
  stored('gemini', /generativelanguage\.googleapis\.com\/v1beta\/cachedContents(?:\/|$)/)
]

/** Answers of success in `folder`. */
export function* endpointsIn(folder: string): Generator<EndpointRecording> {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    const path = join(folder, name)
    const isCassette = /\.yaml$/.test(name)
    if (!isCassette && !/__fixtures__\/.*\.json$/.test(name)) continue
    if (statSync(path).size > FILE_BYTES_MAX) continue
    const text = readFileSync(path, 'utf8')
    if (isCassette) yield* fromCassette(name, text)
    else yield* known(name, { from: name, request: null }, objectIn(text))
  }
}

function* fromCassette(name: string, text: string): Generator<EndpointRecording> {
  for (const [i, { request, response }] of interactionsIn(text).entries()) {
    if (response === undefined || (response.status?.code ?? 200) >= 300) continue
    const { method = 'POST', uri = '' } = request ?? {}
    const recorded = { from: `${method.toUpperCase()} ${uri}`, request: requestOf(request) }
    yield* known(`${name}#${i}`, recorded, objectIn(bodyOf(response).toString()))
  }
}

function requestOf(request: Interaction['request']): JsonObject | null {
  const { body, parsed_body: parsed } = request ?? {}
  if (isObject(parsed)) return parsed
  return typeof body === 'string' ? objectIn(body) : null
}

function* known(source: string, recorded: Recorded, answer: JsonObject | null): Generator<EndpointRecording> {
  const endpoint = ENDPOINTS.find((one) => one.from.test(recorded.from))
  if (endpoint === undefined || answer === null) return
  const facts = endpoint.says(answer)
  if (Array.isArray(facts) && facts.length === 0) return
  yield { source, endpoint, asks: endpoint.asks(recorded), answer }
}
