/** Who would turn answers to like questions against others. */
import { equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { reply, startQdrant } from '#backends/llm/testing/qdrant.ts'
import type { MockRequest } from '#engine/testing/models.ts'

const CHAT = '/v1/chat/completions'
const KEY = 'a-secret-of-all-replicas'

/** One vector for all texts: what is told apart is told apart by something else. */
async function stand(t: TestContext, more: object = {}, cache: object = {}) {
  const [models, qdrant] = await Promise.all([provider(t), startQdrant(t)])
  const vectors: MockRequest[] = []
  const refused = { status: 0, word: 'refused' }
  models.instead = (request, response) => {
    if (!request.path.endsWith('/embeddings')) return false
    vectors.push(request)
    if (String(request.body.input).includes(refused.word)) {
      reply(response, refused.status, { error: { message: 'no', type: 'invalid_request_error' } })
      return true
    }
    const data = [{ object: 'embedding', index: 0, embedding: [1, 0, 0] }]
    reply(response, 200, { object: 'list', model: 'v', data, usage: { prompt_tokens: 1_000, total_tokens: 1_000 } })
    return true
  }
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const list = ['m', 'v'].map((name) => ({ name, provider: 'openai', params }))
  const to = { url: qdrant.url, collection: 'answers' }
  const semantic = { embeddings: 'v', key: KEY, threshold: 0.9, timeout: '10s', qdrant: to }
  const prices = [{ input: 1, output: 1 }]
  const started = await gatewayOf(t, {
    llm: { port: 4000, models: list, prices, cache: { ttl: '1h', semantic, ...cache } },
    ...more
  })
  const seen = async (content: string, headers: Record<string, string> = {}, other: object = {}) => {
    const response = await started.ask(CHAT, { model: 'm', messages: [{ role: 'user', content }], ...other }, headers)
    await response.text()
    return response.headers.get('x-weir-cache') ?? response.status
  }
  return { ...started, models, qdrant, vectors, refused, seen }
}

for (const [one, other] of [
  ['What is -40 degrees in Fahrenheit?', 'What is 40 degrees in Fahrenheit?'],
  ['Is it 1.5 litres?', 'Is it 1 to 5 litres?'],
  ['Which orders are > 100 kg?', 'Which orders are < 100 kg?'],
  ['Is $5 enough?', 'Is €5 enough?'],
  ['A cup and ½', 'A cup and ¼'],
  ['m² is what?', 'm³ is what?']
] as const) {
  test(`"${one}" is not "${other}"`, async (t) => {
    const { seen, qdrant } = await stand(t)
    equal(await seen(one), 'miss')
    await qdrant.stored(1)
    equal(await seen(other), 'miss')
  })
}

for (const status of [400, 413, 422]) {
  test(`a text that the model of vectors refuses with ${status} costs others nothing`, async (t) => {
    const { seen, qdrant, refused, logged } = await stand(t)
    refused.status = status
    equal(await seen('How do I pay?'), 'miss')
    await qdrant.stored(1)
    equal(await seen('This is refused'), 'miss')
    equal(await seen('How can I pay?'), 'semantic')
    match(logged.join('\n'), /a question is not compared: the model of vectors answers with status/)
  })
}

test('an answer that its provider stores is not said to a like question: who goes on with its id goes on with the other', async (t) => {
  const { ask, vectors, seen } = await stand(t)
  const responses = async (input: string, more: object) => {
    const response = await ask('/v1/responses', { model: 'm', input, ...more })
    await response.text()
    return response.headers.get('x-weir-cache')
  }
  equal(await responses('How do I pay?', {}), 'miss')
  equal(await responses('How do I pay?', { store: true }), 'miss')
  equal(await seen('How do I pay?', {}, { store: true }), 'miss')
  equal(vectors.length, 0)
  await responses('How do I pay?', { store: false })
  equal(vectors.length, 1)
})

test('an answer from a time when maxEntrySize was larger turns like questions off for nobody', async (t) => {
  const { seen, qdrant } = await stand(t, {}, { maxEntrySize: 1024 })
  equal(await seen('How do I pay?'), 'miss')
  await qdrant.stored(1)
  for (const { payload } of qdrant.points.values()) {
    const value = Buffer.alloc(256 * 1024)
    Object.assign(payload, { weir_value: value.toString('base64'), weir_bytes: value.length })
  }
  equal(await seen('Where do I pay?'), 'miss')
  await seen('Where may I pay?')
  equal(qdrant.requests.filter(({ path }) => path.endsWith('/query')).length, 3)
})

test('a key whose budget is used up pays for no vector', async (t) => {
  const budgets = [{ amount: 0.000001, period: 'day' }]
  const keys = [{ name: 'one', key: 'sk-key-of-the-first-client', budgets }]
  const { seen, vectors } = await stand(t, { keys })
  const headers = { authorization: 'Bearer sk-key-of-the-first-client' }
  // The first vector has used it up.
  equal(await seen('How do I pay?', headers), 429)
  equal(vectors.length, 1)
  equal(await seen('How can I pay?', headers), 429)
  equal(vectors.length, 1)
})
