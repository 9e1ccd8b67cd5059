/** Long answers of embeddings and of rankings on the default configuration: they pass, or are translated to a bound. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import OpenAI from 'openai'
import { mediaGateway } from '#backends/llm/testing/media-gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const MIB = 1024 * 1024
const MODELS = [
  { name: 'e', provider: 'openai', params: { model: 'text-embedding-3-large' }, prices: [{ input: 1 }] },
  { name: 'g', provider: 'gemini', params: { model: 'gemini-embedding-001' }, prices: [{ input: 1 }] },
  { name: 'v', provider: 'voyage', params: { model: 'rerank-2.5' }, prices: [{ input: 1 }] }
]
const VECTOR = Array.from({ length: 3072 }, (_, i) => Math.fround(Math.sin(i) / 64))
const TEXTS = Array.from({ length: 1000 }, (_, i) => `text ${i}`)
const LIST = {
  object: 'list',
  data: TEXTS.map((_, index) => ({ object: 'embedding', index, embedding: VECTOR })),
  model: 'text-embedding-3-large',
  usage: { prompt_tokens: 5000, total_tokens: 5000 }
}

/** `isChunked`: it does not say how long it is. */
function sendsBytes(upstream: Models, text: string, isChunked = false): void {
  const bytes = Buffer.from(text)
  upstream.instead = (_, response: ServerResponse) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(isChunked ? {} : { 'content-length': bytes.length })
    })
    for (let at = 0; at < bytes.length; at += MIB) response.write(bytes.subarray(at, at + MIB))
    response.end()
    return true
  }
}

test('a thousand vectors reach the client of OpenAI, and what they cost is known', async (t) => {
  const { openai, upstream, spent, base } = await mediaGateway(t, MODELS)
  const text = JSON.stringify(LIST)
  ok(text.length > 12 * MIB)
  let calls = 0
  for (const isChunked of [false, true]) {
    sendsBytes(upstream, text, isChunked)
    const made = await openai.embeddings.create({ model: 'e', input: TEXTS, encoding_format: 'float' })
    deepEqual([made.data.length, made.data.at(-1)!.embedding], [1000, VECTOR])
    deepEqual(made.usage, { prompt_tokens: 5000, total_tokens: 5000 })
    equal(spent(), String((++calls * 5000) / 1e6))
  }
  // The bytes are the provider's.
  const raw = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'sk-alice-0001', maxRetries: 0 })
  const response = await raw.embeddings.create({ model: 'e', input: TEXTS, encoding_format: 'float' }).asResponse()
  ok((await response.text()) === text)
})

test('a short one of unknown length has its cost in the head', async (t) => {
  const prices = { responseHeader: true }
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' }, prices }
  const { post, upstream, spent } = await mediaGateway(t, MODELS, {}, { config })
  for (const isChunked of [false, true]) {
    sendsBytes(upstream, JSON.stringify({ ...LIST, data: LIST.data.slice(0, 1) }), isChunked)
    const response = await post('/v1/embeddings', { model: 'e', input: 'a' })
    equal(response.headers.get('x-weir-cost'), '0.005')
    equal(((await response.json()) as typeof LIST).data.length, 1)
  }
  equal(spent(), '0.01')
})

test('a ranking with all of its documents reaches the client', async (t) => {
  const { post, upstream, spent } = await mediaGateway(t, MODELS)
  const data = Array.from({ length: 1000 }, (_, index) => {
    return { index, relevance_score: 0.5, document: 'Ships sail, "they say". '.repeat(500) }
  })
  const text = JSON.stringify({ object: 'list', data, model: 'rerank-2.5', usage: { total_tokens: 3_000_000 } })
  ok(text.length > 10 * MIB)
  for (const isChunked of [false, true]) {
    sendsBytes(upstream, text, isChunked)
    const documents = data.map(({ document }) => document)
    const response = await post('/v1/rerank', { model: 'v', query: 'q', documents: documents.slice(0, 9), top_k: 1000 })
    equal(response.status, 200)
    ok((await response.text()) === text)
  }
  equal(spent(), '6')
})

test('one that is translated is kept to a bound, and beyond it the client reads why', async (t) => {
  const { openai, upstream } = await mediaGateway(t, MODELS)
  sendsBytes(upstream, JSON.stringify({ embeddings: TEXTS.map(() => ({ values: VECTOR })) }), true)
  const made = await openai.embeddings.create({ model: 'g', input: TEXTS, encoding_format: 'float' })
  deepEqual([made.data.length, made.data.at(-1)!.embedding], [1000, VECTOR])
  for (const isChunked of [false, true]) {
    sendsBytes(upstream, `{"embeddings":[]${' '.repeat(64 * MIB)}}`, isChunked)
    const refused = await openai.embeddings.create({ model: 'g', input: 'a' }).then(
      () => null,
      (error: unknown) => error as InstanceType<typeof OpenAI.APIError>
    )
    equal(refused?.status, 502)
    match(refused!.message, /more than 67108864 bytes.*ask for less at once.*frontendPolicies\.http\.maxBufferSize/)
  }
})
