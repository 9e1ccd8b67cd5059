/** Answers to like questions: who gets them, what leaves for the vector service, and what it may do wrong. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { reply, startQdrant } from '#backends/llm/testing/qdrant.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { MockRequest } from '#engine/testing/models.ts'

const CHAT = '/v1/chat/completions'
const KEY = 'a-secret-of-all-replicas'

/** Where texts lie: near means alike. */
const VECTORS: Readonly<Record<string, readonly number[]>> = {
  'How do I reset my password?': [1, 0, 0],
  'How can I reset my password?': [0.99, 0.1, 0],
  'What is a password?': [0.7, 0.7, 0],
  'Refund my order': [0, 1, 0],
  'Refund order 12': [0, 1, 0],
  'Refund order 13': [0, 1, 0.01]
}

async function stand(t: TestContext, semantic: object = {}, more: object = {}, cache: object = {}) {
  const [models, qdrant] = await Promise.all([provider(t), startQdrant(t)])
  const vectors: MockRequest[] = []
  models.instead = (request, response) => {
    if (!request.path.endsWith('/embeddings')) return false
    vectors.push(request)
    const embedding = VECTORS[String(request.body.input)] ?? [0, 0, 1]
    const usage = { prompt_tokens: 1_000, total_tokens: 1_000 }
    const data = [{ object: 'embedding', index: 0, embedding }]
    reply(response, 200, { object: 'list', model: 'v', data, usage })
    return true
  }
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const list = ['m', 'v'].map((name) => ({ name, provider: 'openai', params }))
  const to = { url: qdrant.url, collection: 'answers' }
  const settings = { embeddings: 'v', key: KEY, threshold: 0.9, timeout: '10s', qdrant: to, ...semantic }
  const file = { llm: { port: 4000, models: list, cache: { ttl: '1h', semantic: settings, ...cache } }, ...more }
  const started = await gatewayOf(t, file)
  const chats = () => models.requests.filter(({ path }) => path.endsWith('/chat/completions')).length
  const say = (content: string, headers: Record<string, string> = {}, other: object = {}) =>
    started.ask(CHAT, { model: 'm', messages: [{ role: 'user', content }], ...other }, headers)
  const seen = async (content: string, headers: Record<string, string> = {}, other: object = {}) => {
    const response = await say(content, headers, other)
    await response.text()
    return response.headers.get('x-weir-cache')
  }
  return { ...started, models, qdrant, vectors, chats, say, seen }
}

test('a like question gets the answer, and says how like it is; one that is less so does not', async (t) => {
  const { say, seen, chats, qdrant } = await stand(t)
  const first = await say('How do I reset my password?')
  equal(first.headers.get('x-weir-cache'), 'miss')
  const answer = await jsonOf(first)
  await qdrant.stored(1)
  const like = await say('How can I reset my password?')
  equal(like.headers.get('x-weir-cache'), 'semantic')
  match(like.headers.get('x-weir-cache-similarity')!, /^0\.99\d\d$/)
  match(like.headers.get('age')!, /^\d+$/)
  deepEqual(await jsonOf(like), answer)
  equal(chats(), 1)
  equal(await seen('What is a password?'), 'miss')
  // Asked again in the same words it needs no vector, and is still no answer to that very question.
  equal(await seen('How can I reset my password?'), 'semantic')
  equal(await seen('How do I reset my password?'), 'hit')
  equal(chats(), 2)
})

test("whole and streamed, as the vendor's client reads it", async (t) => {
  const { base, qdrant, chats } = await stand(t)
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'x', maxRetries: 0 })
  const say = (content: string) => ({ model: 'm', messages: [{ role: 'user' as const, content }] })
  await openai.chat.completions.create(say('How do I reset my password?'))
  await qdrant.stored(1)
  const streamed = await openai.chat.completions.stream(say('How can I reset my password?')).finalChatCompletion()
  equal(streamed.choices[0]?.message.content, 'Hello, world')
  equal(chats(), 1)
})

test('numbers, and all that is not the last question, must be the same', async (t) => {
  const { seen, qdrant } = await stand(t)
  equal(await seen('Refund order 12'), 'miss')
  await qdrant.stored(1)
  equal(await seen('Refund order 13'), 'miss')
  equal(await seen('How do I reset my password?'), 'miss')
  await qdrant.stored(3)
  const like = 'How can I reset my password?'
  equal(await seen(like, {}, { temperature: 0 }), 'miss')
  const before = { role: 'system', content: 'Answer in Latin.' }
  equal(await seen(like, {}, { messages: [before, { role: 'user', content: like }] }), 'miss')
  equal(await seen(like, { 'cache-control': 'no-cache' }), 'bypass')
})

const KEYS = {
  keys: [
    { name: 'one', key: 'sk-key-of-the-first-client', team: 'red' },
    { name: 'two', key: 'sk-key-of-the-second-client', team: 'red' },
    { name: 'three', key: 'sk-key-of-the-third-client', team: 'blue' }
  ],
  teams: [{ name: 'red' }, { name: 'blue' }]
}
const bearer = (key: string) => ({ authorization: `Bearer sk-key-of-the-${key}-client` })

test('no tenant gets what another has asked', async (t) => {
  const { seen, qdrant } = await stand(t, {}, KEYS, { scope: 'team' })
  equal(await seen('How do I reset my password?', bearer('first')), 'miss')
  await qdrant.stored(1)
  equal(await seen('How can I reset my password?', bearer('third')), 'miss')
  equal(await seen('How can I reset my password?', bearer('second')), 'semantic')
})

test('nothing readable leaves for the vector service', async (t) => {
  const { seen, qdrant } = await stand(t, {}, KEYS)
  await seen('How do I reset my password?', bearer('first'))
  await qdrant.stored(1)
  await seen('How can I reset my password?', bearer('first'))
  const values = [...qdrant.points.values()].map(({ payload }) => Buffer.from(String(payload.weir_value), 'base64'))
  const all = [...qdrant.requests.map(({ text, path }) => path + text), ...values.map(String)].join('\n')
  ok(qdrant.requests.length >= 3)
  for (const word of ['password', 'Hello, world', 'sk-key-of-the', KEY]) {
    equal(all.includes(word), false, `the service is told ${word}`)
  }
})

/** `spoil` changes what is stored behind the first question: the next one must cost a call. */
for (const [name, spoil] of [
  ['is of another bucket', (point) => (point.payload.weir_value = Buffer.alloc(200, 7).toString('base64'))],
  ['is no base64 at all', (point) => (point.payload.weir_value = '')],
  ['lies elsewhere than its own vector', (point) => (point.vector = [0, 1, 0])]
] as const satisfies readonly (readonly [
  string,
  (point: { vector: number[]; payload: Record<string, unknown> }) => unknown
])[]) {
  test(`a value that ${name} is no answer`, async (t) => {
    const { seen, qdrant, chats } = await stand(t)
    await seen('How do I reset my password?')
    await qdrant.stored(1)
    for (const point of qdrant.points.values()) spoil(point as never)
    equal(await seen(name.startsWith('lies') ? 'Refund my order' : 'How can I reset my password?'), 'miss')
    equal(chats(), 2)
  })
}

test('what somebody has changed at the service is named in the log', async (t) => {
  const { seen, qdrant, logged } = await stand(t)
  await seen('How do I reset my password?')
  await qdrant.stored(1)
  for (const { payload } of qdrant.points.values()) {
    const value = Buffer.from(String(payload.weir_value), 'base64')
    value[value.length - 20]! ^= 1
    payload.weir_value = value.toString('base64')
  }
  equal(await seen('How can I reset my password?'), 'miss')
  match(logged.join('\n'), /no gateway with this key has written there/)
})

for (const [name, answerWith, why] of [
  ['refuses the key', (response: ServerResponse) => reply(response, 401, {}), /apiKey/],
  ['has no such collection', (response: ServerResponse) => reply(response, 404, {}), /no collection answers/],
  ['answers nonsense', (response: ServerResponse) => response.end('<html>'), /does not answer/],
  ['answers too much', (response: ServerResponse) => response.end(Buffer.alloc(10_000_000, 0x20)), /cannot be asked/],
  ['breaks off', (response: ServerResponse) => response.destroy(), /cannot be asked/]
] as const) {
  test(`a service that ${name}: providers are asked, and the log says why, once`, async (t) => {
    const { seen, qdrant, chats, logged } = await stand(t)
    qdrant.instead = (_, response) => {
      answerWith(response)
      return true
    }
    equal(await seen('How do I reset my password?'), 'miss')
    equal(await seen('What is a password?'), 'miss')
    equal(chats(), 2)
    const lines = logged.filter((line) => line.includes('providers are asked instead'))
    equal(lines.length, 1)
    match(lines[0]!, why)
  })
}

test('a service that never answers is waited for no longer than timeout, and then rests', async (t) => {
  const { seen, qdrant, chats, logged } = await stand(t, { timeout: '50ms' })
  qdrant.instead = () => true
  equal(await seen('How do I reset my password?'), 'miss')
  const before = qdrant.requests.length
  equal(await seen('What is a password?'), 'miss')
  equal(qdrant.requests.length, before)
  equal(chats(), 2)
  match(logged.join('\n'), /providers are asked instead/)
})

test('tools, pictures and bodies that are no conversation of texts are not compared', async (t) => {
  const { seen, vectors } = await stand(t)
  const tools = [{ type: 'function', function: { name: 'pay', parameters: { type: 'object' } } }]
  await seen('Pay', {}, { tools })
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  await seen('', {}, { messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }] })
  await seen(
    '',
    {},
    {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' }
      ]
    }
  )
  equal(vectors.length, 0)
})

test('the key that asks pays for the vector, and a hit costs nothing more', async (t) => {
  const prices = [{ input: 1, output: 1 }]
  const key = { name: 'one', key: 'sk-key-of-the-first-client' }
  const budgets = [{ amount: 100, period: 'day' }]
  const [models, qdrant] = await Promise.all([provider(t), startQdrant(t)])
  models.instead = ({ path, body }, response) => {
    if (!path.endsWith('/embeddings')) return false
    const usage = { prompt_tokens: 2_000, total_tokens: 2_000 }
    const data = [{ object: 'embedding', index: 0, embedding: VECTORS[String(body.input)] }]
    reply(response, 200, { object: 'list', model: 'v', data, usage })
    return true
  }
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const list = ['m', 'v'].map((name) => ({ name, provider: 'openai', params }))
  const semantic = { embeddings: 'v', key: KEY, threshold: 0.9, timeout: '10s' }
  const cache = { ttl: '1h', semantic: { ...semantic, qdrant: { url: qdrant.url, collection: 'answers' } } }
  const { ask, accounts } = await gatewayOf(t, {
    llm: { port: 4000, models: list, prices, cache },
    keys: [{ ...key, budgets }]
  })
  const say = async (content: string) => {
    const response = await ask(CHAT, { model: 'm', messages: [{ role: 'user', content }] }, bearer('first'))
    await response.text()
    const { spent } = accounts.ledger.budgets.find(({ account }) => account === 'key/one')!
    return [response.headers.get('x-weir-cache'), spent]
  }
  const [, first] = await say('How do I reset my password?')
  await qdrant.stored(1)
  const [status, second] = await say('How can I reset my password?')
  equal(status, 'semantic')
  // 2,000 tokens at 1 for a million.
  equal(Math.round((Number(second) - Number(first)) * 1e9), 2_000_000)
})

test('the example of the documentation', async (t) => {
  const [models, qdrant] = await Promise.all([provider(t), startQdrant(t)])
  const text = readFileSync(new URL('../../../../docs/examples/llm-semantic-cache.yaml', import.meta.url), 'utf8')
    .replaceAll('params: {', `params: { baseUrl: "http://127.0.0.1:${models.port}/v1",`)
    .replace('http://localhost:6333', qdrant.url)
  const started = await startGateway(text)
  t.after(() => started.close())
  const say = async (content: string) => {
    const body = JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content }] })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${started.port}${CHAT}`, { method: 'POST', headers, body })
    await response.text()
    return response.headers.get('x-weir-cache')
  }
  equal(await say('Hi'), 'miss')
  await qdrant.stored(1)
  // The models of tests make one vector of all texts.
  equal(await say('Hello'), 'semantic')
})
