/** Ranking at the port of `llm`: clients and services of each format, what is sent, and what it costs. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '#backends/llm/conversation.ts'
import { gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { mediaGateway, sends, sendsJson } from '#backends/llm/testing/media-gateway.ts'

const AWS = { auth: { aws: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } } }
const MODELS = [
  { name: 'v2', provider: 'cohere', params: { model: 'rerank-v3.5' }, prices: [{ perSearch: 2 }] },
  { name: 'k', provider: 'voyage', params: { model: 'rerank-2.5' }, prices: [{ input: 1 }] },
  { name: 'n', provider: 'jina', params: { model: 'jina-reranker-v3' }, prices: [{ input: 1 }] },
  { name: 'f', provider: 'fireworks', params: { model: 'qwen3-reranker-8b' }, prices: [{ input: 1 }] },
  { name: 'own', provider: 'openai', prices: [{ input: 1 }] }
]
const DOCUMENTS = ['Ships sail.', 'Fish swim.']
const ASK = { query: 'what sails?', documents: DOCUMENTS }

test('each client at each service: what is sent, and what comes back', async (t) => {
  const { post, upstream } = await mediaGateway(t, MODELS)
  const results = [
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.1 }
  ]
  const list = { object: 'list', data: results, model: 'rerank-2.5', usage: { total_tokens: 26 } }
  const v1 = { model: 'jina-reranker-v3', object: 'list', usage: { total_tokens: 26 }, results }
  const v2 = { id: 'i-1', results, meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } } }
  const exchange = async (path: string, body: object, answer: object) => {
    sendsJson(upstream, answer)
    const response = await post(path, { ...ASK, ...body })
    const got = await jsonOf(response)
    const seen = upstream.requests.at(-1)!
    return { status: response.status, got, path: seen.path, sent: seen.body }
  }
  const texts = [
    { index: 1, relevance_score: 0.9, document: { text: 'Fish swim.' } },
    { index: 0, relevance_score: 0.1, document: { text: 'Ships sail.' } }
  ]

  // Each at its own: the bytes pass.
  deepEqual(await exchange('/v2/rerank', { model: 'v2', top_n: 2, max_tokens_per_doc: 9 }, v2), {
    ...{ status: 200, got: v2, path: '/v2/rerank' },
    sent: { ...ASK, model: 'rerank-v3.5', top_n: 2, max_tokens_per_doc: 9 }
  })
  const native = await exchange('/v1/rerank', { model: 'k', top_k: 2, truncation: true }, list)
  deepEqual([native.got, native.sent], [list, { ...ASK, model: 'rerank-2.5', top_k: 2, truncation: true }])

  const own = await exchange('/v1/rerank', { model: 'own', top_n: 1, rank_fields: ['a'] }, v1)
  deepEqual([own.got, own.sent], [v1, { ...ASK, model: 'own', top_n: 1, rank_fields: ['a'] }])

  // Cohere's client at Voyage.
  const first = await exchange('/v2/rerank', { model: 'k', top_n: 2 }, { ...list, id: 'i-2' })
  deepEqual(first.sent, { ...ASK, model: 'rerank-2.5', top_k: 2 })
  deepEqual(first.got, { id: 'i-2', results, meta: { api_version: { version: '2' } } })

  // Jina's client at Cohere: documents come back from what was exchange.
  const second = await exchange(
    '/v1/rerank',
    { model: 'v2', return_documents: true, documents: [{ text: DOCUMENTS[0] }, DOCUMENTS[1]] },
    v2
  )
  deepEqual(second.sent, { ...ASK, model: 'rerank-v3.5' })
  const meta = { api_version: { version: '1' }, billed_units: { search_units: 1 } }
  deepEqual(second.got, { id: 'i-1', object: 'list', model: 'v2', results: texts, meta })

  // Voyage's client at Jina, and at a server of one's own.
  const third = await exchange('/v1/rerank', { model: 'n', top_k: 1, truncation: true, return_documents: true }, v1)
  deepEqual(third.sent, { ...ASK, model: 'jina-reranker-v3', top_n: 1, return_documents: false })
  const data = texts.map(({ document, ...one }) => ({ ...one, document: document.text }))
  deepEqual(third.got, { object: 'list', data, model: 'n', usage: { total_tokens: 26 } })

  // Jina's client at Fireworks, which reads its words and answers as Voyage does: words of its own go on.
  const fourth = await exchange('/v1/rerank', { model: 'f', return_documents: true, task: 'Find it.' }, list)
  deepEqual(fourth.sent, { ...ASK, model: 'qwen3-reranker-8b', return_documents: true, task: 'Find it.' })
  deepEqual([fourth.got.model, fourth.got.results, fourth.got.usage], ['f', texts, { total_tokens: 26 }])

  // How much of each document is looked at is Cohere's to say.
  const fifth = await exchange('/v1/rerank', { model: 'v2', max_tokens_per_doc: 9 }, v2)
  deepEqual(fifth.sent, { ...ASK, model: 'rerank-v3.5', max_tokens_per_doc: 9 })
})

test("the path is that of the service's own API where chat stands beside it", async (t) => {
  const upstream = await provider(t)
  const beside = (name: string, service: string, base: string) => {
    const params = { baseUrl: `http://127.0.0.1:${upstream.port}${base}` }
    return { name, provider: service, params, prices: [{ perSearch: 2 }] }
  }
  const models = [beside('c', 'cohere', '/compatibility/v1'), beside('a', 'alibaba', '/compatible-mode/v1')]
  const { post } = await mediaGateway(t, models)
  sendsJson(upstream, { results: [{ index: 0, relevance_score: 0.5 }] })
  for (const { name } of models) equal((await post('/v1/rerank', { ...ASK, model: name })).status, 200)
  deepEqual(
    upstream.requests.map(({ path }) => path),
    ['/v2/rerank', '/compatible-api/v1/reranks']
  )
})

test('what ranking costs: tokens, or searches', async (t) => {
  const { post, upstream, spent } = await mediaGateway(t, MODELS)
  sendsJson(upstream, { id: 'i', results: [], meta: { billed_units: { search_units: 3 } } })
  await (await post('/v1/rerank', { ...ASK, model: 'v2' })).text()
  equal(spent(), '6')
  sendsJson(upstream, { object: 'list', data: [], usage: { total_tokens: 500_000 } })
  await (await post('/rerank', { ...ASK, model: 'k' })).text()
  equal(spent(), '6.5')
})

test("Bedrock's rankers are invoked", async (t) => {
  const upstream = await mediaGateway(t, [{ name: 'x', prices: [{ input: 1 }] }])
  const provider = { host: '127.0.0.1', port: upstream.upstream.port, policies: AWS }
  const model = (id: string) => ({ provider: { ...provider, bedrock: { model: id } }, routes: { '/rerank': 'Rerank' } })
  const ask = async (id: string) => {
    const { ask } = await gateway(t, model(id))
    sendsJson(upstream.upstream, { results: [{ index: 0, relevance_score: 0.5 }] })
    const response = await ask('/v2/rerank', { ...ASK, model: 'm', top_n: 1, max_tokens_per_doc: 9 })
    return { got: await jsonOf(response), ...upstream.upstream.requests.at(-1)! }
  }
  const cohere = await ask('cohere.rerank-v3-5:0')
  deepEqual(
    [cohere.path, cohere.body],
    ['/model/cohere.rerank-v3-5%3A0/invoke', { ...ASK, top_n: 1, max_tokens_per_doc: 9, api_version: 2 }]
  )
  deepEqual(cohere.got.results, [{ index: 0, relevance_score: 0.5 }])
  const amazon = await ask('amazon.rerank-v1:0')
  deepEqual(amazon.body, { ...ASK, top_n: 1 })
})

test('what cannot be ranked is refused by its field, and guards read the query and the documents', async (t) => {
  const guard = { request: [{ regex: { action: 'Mask', matches: ['Ships'] } }] }
  const { post, upstream } = await mediaGateway(t, [...MODELS, { name: 'claude', provider: 'anthropic' }], {
    promptGuard: guard
  })
  const refused = async (body: object, why: RegExp) => {
    const response = await post('/v2/rerank', { ...ASK, ...body })
    equal(response.status, 400)
    match((await jsonOf(response)).message, why)
  }
  await refused({ model: 'k', documents: [{ image: 'https://a/' }] }, /^documents\[0\]: must be a text/)
  await refused({ model: 'k', documents: [] }, /^documents: is required/)
  await refused({ model: 'k', rank_fields: ['a'] }, /^rank_fields: cannot be carried to/)
  await refused({ model: 'claude' }, /anthropic has no API that ranks/)
  equal(upstream.requests.length, 0)
  sends(upstream, 'application/json', '{"results":[{"index":0}]}')
  const unreadable = await post('/v2/rerank', { ...ASK, model: 'n' })
  equal(unreadable.status, 502)
  match((await jsonOf(unreadable)).message, /cannot be read: results\[0\]/)
  // What a service of another vendor says.
  sends(upstream, 'application/json', '{"detail":"Slow down."}', 429)
  const slow = await post('/v2/rerank', { ...ASK, model: 'k' })
  deepEqual([slow.status, await jsonOf(slow)], [429, { message: 'Slow down.' }])
  deepEqual(upstream.requests[0]!.body.documents, ['<masked> sail.', 'Fish swim.'])
})

test('services with other words: what they are asked, and the best of what they say', async (t) => {
  const own = [
    { name: 'd', provider: 'deepinfra', params: { model: 'Qwen/Qwen3-Reranker-8B' }, prices: [{ input: 1 }] },
    { name: 'h', provider: 'tei', prices: [{ input: 1 }] },
    { name: 'nv', provider: 'nvidia', params: { model: 'nvidia/rerank' }, prices: [{ input: 1 }] }
  ]
  const { post, upstream, spent } = await mediaGateway(t, own)
  const [query, texts] = [ASK.query, DOCUMENTS]
  const passages = texts.map((text) => ({ text }))
  const cases: readonly (readonly [model: string, path: string, sent: object, answer: Json])[] = [
    [
      ...(['d', '/v1/inference/Qwen/Qwen3-Reranker-8B'] as const),
      ...([
        { queries: [query, query], documents: texts },
        { scores: [0.1, 0.9], input_tokens: 26 }
      ] as const)
    ],
    [
      ...(['h', '/rerank', { query, texts }] as const),
      [
        { index: 0, score: 0.1 },
        { index: 1, score: 0.9 }
      ]
    ],
    [
      ...(['nv', '/v1/ranking', { model: 'nvidia/rerank', query: { text: query }, passages }] as const),
      {
        rankings: [
          { index: 1, logit: 0.9 },
          { index: 0, logit: 0.1 }
        ],
        usage: { total_tokens: 26 }
      }
    ]
  ]
  for (const [model, path, sent, answer] of cases) {
    sendsJson(upstream, answer as object)
    const got = await jsonOf(await post('/v2/rerank', { ...ASK, model, top_n: 1 }))
    deepEqual(got.results, [{ index: 1, relevance_score: 0.9 }], model)
    const { path: seen, body } = upstream.requests.at(-1)!
    deepEqual([seen, body], [path, sent])
  }
  // 26 tokens twice, and what is charged for an answer that says nothing.
  equal(spent(), '0.000067')
  sendsJson(upstream, { scores: [0.1, 'much'] })
  const unreadable = await post('/v2/rerank', { ...ASK, model: 'd' })
  match((await jsonOf(unreadable)).message, /scores\[1\]: must be a number/)
})

test('the ranking of Vertex AI Search', async (t) => {
  const upstream = await provider(t)
  const vertexai = { projectId: 'p', region: 'global' }
  const at = { host: '127.0.0.1', port: upstream.port, policies: { auth: { key: 'ya29.token' } } }
  const { base } = await gateway(t, { provider: { ...at, vertexai }, routes: { '/rerank': 'Rerank' } })
  sendsJson(upstream, { records: [{ id: '1', score: 0.9 }] })
  const ask = (model: string) =>
    fetch(`${base}/v2/rerank`, { method: 'POST', body: JSON.stringify({ ...ASK, model, top_n: 1 }) }).then(jsonOf)
  const model = 'semantic-ranker-default-004'
  deepEqual((await ask(model)).results, [{ index: 1, relevance_score: 0.9 }])
  const { path, body } = upstream.requests.at(-1)!
  equal(path, '/v1/projects/p/locations/global/rankingConfigs/default_ranking_config:rank')
  const records = DOCUMENTS.map((content, i) => ({ id: String(i), content }))
  deepEqual(body, { model, query: ASK.query, topN: 1, records, ignoreRecordDetailsInResponse: true })
  match((await ask('gemini-3-pro')).message, /has a ranking of the models semantic-ranker-\.\.\. only/)
})
