/**
 * Recorded answers with embeddings and rankings (vercel/ai, pydantic-ai, langchain, openllmetry), through a gateway to
 * clients of each format: what they say is compared, vector by vector and score by score.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'
import { bodyOf, FILE_BYTES_MAX, interactionsIn, objectIn } from './read.ts'

interface Endpoint {
  /** Of fixtures, or of what a cassette was asked for. */
  readonly from: RegExp
  readonly provider: string
  /** By which clients ask for it. */
  readonly clients: readonly string[]
  readonly numbers: (answer: JsonObject) => readonly number[]
}

export interface EndpointRecording {
  readonly source: string
  readonly endpoint: Endpoint
  readonly answer: JsonObject
}

const objects = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : []
const of = (value: Json | undefined, name: string): Json | undefined => (isObject(value) ? value[name] : undefined)

/** Vectors one after the other, in any of the formats. Some are packed. */
function vectorsIn(answer: JsonObject): readonly number[] {
  const lists = of(answer.embeddings, 'float') ?? objects(answer.data).map(({ embedding }) => embedding)
  return (lists as readonly Json[]).flatMap((one) => (typeof one === 'string' ? unpacked(one) : (one as number[])))
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

const VECTORS = { clients: ['/v1/embeddings', '/v2/embed'], numbers: vectorsIn } as const
const RANKS = { clients: ['/v1/rerank', '/v2/rerank'], numbers: scoresIn } as const

const ENDPOINTS: readonly Endpoint[] = [
  {
    from: /cohere\/src\/__fixtures__\/cohere-embedding|cohere\.(?:ai|com)\/v2\/embed$/,
    provider: 'cohere',
    ...VECTORS
  },
  { from: /openai\/.*openai-embedding\.json|api\.openai\.com\/v1\/embeddings$/, provider: 'openai', ...VECTORS },
  { from: /voyage\/.*voyage-embedding\.json|api\.voyageai\.com\/v1\/embeddings$/, provider: 'voyage', ...VECTORS },
  { from: /cohere\/.*cohere-reranking|cohere\.(?:ai|com)\/v2\/rerank$/, provider: 'cohere', ...RANKS },
  { from: /voyage\/.*voyage-reranking|api\.voyageai\.com\/v1\/rerank$/, provider: 'voyage', ...RANKS },
  { from: /togetherai\/.*togetherai-reranking/, provider: 'together', ...RANKS }
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
    else yield* known(name, name, objectIn(text))
  }
}

function* fromCassette(name: string, text: string): Generator<EndpointRecording> {
  for (const [i, { request, response }] of interactionsIn(text).entries()) {
    if (response === undefined || (response.status?.code ?? 200) >= 300) continue
    yield* known(`${name}#${i}`, request?.uri ?? '', objectIn(bodyOf(response).toString()))
  }
}

function* known(source: string, from: string, answer: JsonObject | null): Generator<EndpointRecording> {
  const endpoint = ENDPOINTS.find((one) => one.from.test(from))
  if (endpoint === undefined || answer === null || endpoint.numbers(answer).length === 0) return
  yield { source, endpoint, answer }
}

const REQUESTS: Readonly<Record<string, object>> = {
  '/v1/embeddings': { input: ['a'] },
  '/v2/embed': { texts: ['a'], input_type: 'search_query', embedding_types: ['float'] },
  '/v1/rerank': { query: 'a', documents: ['a', 'b'] },
  '/v2/rerank': { query: 'a', documents: ['a', 'b'] }
}

/** Lines of a table and what differs; whether nothing does. */
export async function runEndpoints(print: (line: string) => void, folder: string): Promise<boolean> {
  const models = await startModels()
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const names = [...new Set(ENDPOINTS.map(({ provider }) => provider))]
  const llm = { port: 0, models: names.map((provider) => ({ name: provider, provider, params })) }
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'error' } }
  const gateway = await startGateway(JSON.stringify({ config, llm }))
  const counts = new Map<string, number>()
  let failed = 0
  try {
    for (const { source, endpoint, answer } of endpointsIn(folder)) {
      models.instead = (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
        return true
      }
      for (const path of endpoint.clients) {
        const body = JSON.stringify({ model: endpoint.provider, ...REQUESTS[path] })
        const headers = { 'content-type': 'application/json' }
        const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { method: 'POST', headers, body })
        const text = await response.text()
        const got = objectIn(text)
        const isSame = got !== null && String(endpoint.numbers(got)) === String(endpoint.numbers(answer))
        const row = `| ${endpoint.provider} | ${path} |`
        if (isSame) counts.set(row, (counts.get(row) ?? 0) + 1)
        else {
          failed++
          print(`${source} to ${path}: ${response.status} ${text.slice(0, 120)}`)
        }
      }
    }
  } finally {
    await gateway.close()
    models.close()
  }
  if (counts.size > 0) print('| provider | clients ask by | passed |')
  for (const [row, count] of counts) print(`${row} ${count} |`)
  const passed = [...counts.values()].reduce((sum, count) => sum + count, 0)
  print(`endpoints: ${passed} passed, ${failed} failed`)
  return failed === 0
}
