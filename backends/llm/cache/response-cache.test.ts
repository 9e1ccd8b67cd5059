/** Answers that are kept: who gets them, in which form, and when the provider is asked all the same. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { answers, gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'

const CHAT = '/v1/chat/completions'
const HI = [{ role: 'user' as const, content: 'Hi' }]
const ASK = { model: 'm', messages: HI }

async function gateway(t: TestContext, cache: object = {}, more: object = {}) {
  const models = await provider(t)
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const list = [
    { name: 'm', provider: 'openai', params },
    { name: 'n', provider: 'openai', params }
  ]
  const started = await gatewayOf(t, { llm: { port: 4000, models: list, cache: { ttl: '1h', ...cache } }, ...more })
  const counts = () => models.requests.length
  return { ...started, models, counts }
}

const statusOf = (response: Response) => response.headers.get('x-weir-cache')

test('the second of two equal requests is answered here, with its age', async (t) => {
  const { ask, counts } = await gateway(t)
  const [first, second] = [await ask(CHAT, ASK), await ask(CHAT, ASK)]
  deepEqual([statusOf(first), statusOf(second)], ['miss', 'hit'])
  equal(await second.text(), await first.text())
  match(second.headers.get('age')!, /^\d+$/)
  equal(counts(), 1)
  for (const other of [
    { ...ASK, model: 'n' },
    { ...ASK, temperature: 0 },
    { ...ASK, messages: [...HI, ...HI] }
  ]) {
    equal(statusOf(await ask(CHAT, other)), 'miss')
  }
})

test("whole and streamed: each is answered from the other, as the vendors' clients read it", async (t) => {
  const { base, counts } = await gateway(t)
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'x', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'x', maxRetries: 0 })
  const say = (content: string) => ({ model: 'm', messages: [{ role: 'user' as const, content }] })
  const streamed = (content: string) => openai.chat.completions.stream(say(content)).finalChatCompletion()
  const whole = (content: string) => openai.chat.completions.create(say(content))
  for (const [content, asks] of [
    ['a', [whole, streamed, whole]],
    ['b', [streamed, whole, streamed]]
  ] as const) {
    for (const send of asks) equal((await send(content)).choices[0]?.message.content, 'Hello, world')
  }
  equal(counts(), 2)
  for (const content of ['c', 'c']) {
    const message = await anthropic.messages.stream({ ...say(content), max_tokens: 5 }).finalMessage()
    ok(message.content[0]?.type === 'text' && message.content[0].text === 'Hello, world')
  }
  const unstreamed = await anthropic.messages.create({ ...say('c'), max_tokens: 5 })
  ok(unstreamed.content[0]?.type === 'text' && unstreamed.content[0].text === 'Hello, world')
  equal(counts(), 3)
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

test('no tenant gets the answer of another, unless the configuration says so', async (t) => {
  const own = await gateway(t, {}, KEYS)
  const seen = async (ask: typeof own.ask, keys: readonly string[]) => {
    const all: (string | null)[] = []
    for (const key of keys) all.push(statusOf(await ask(CHAT, ASK, bearer(key))))
    return all
  }
  deepEqual(await seen(own.ask, ['first', 'second', 'first', 'second']), ['miss', 'miss', 'hit', 'hit'])
  const team = await gateway(t, { scope: 'team' }, KEYS)
  deepEqual(await seen(team.ask, ['first', 'second', 'third', 'third']), ['miss', 'hit', 'miss', 'hit'])
  const all = await gateway(t, { scope: 'all' }, KEYS)
  deepEqual(await seen(all.ask, ['first', 'second', 'third']), ['miss', 'hit', 'hit'])
})

test('without keys of the gateway what the client shows the provider tells clients apart', async (t) => {
  const { ask } = await gateway(t)
  const seen = []
  for (const key of ['a', 'b', 'a']) seen.push(statusOf(await ask(CHAT, ASK, { authorization: `Bearer ${key}` })))
  for (const key of ['a', 'c']) seen.push(statusOf(await ask(CHAT, ASK, { 'x-api-key': key })))
  deepEqual(seen.slice(0, 3), ['miss', 'miss', 'hit'])
  notEqual(seen[4], 'hit')
})

for (const stream of [false, true]) {
  test(`${stream ? 'streams' : 'whole answers'}: of many at once, one asks the provider`, async (t) => {
    const { ask, counts, models } = await gateway(t)
    // Answers wait until all requests are there.
    const held: (() => void)[] = []
    models.instead = (_, response) => {
      const answerNow = () => {
        response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
        const choice = { index: 0, finish_reason: 'stop' }
        const head = { id: 'x', created: 1, model: 'm' }
        const [message, delta] = Array(2).fill({ role: 'assistant', content: 'Hello' })
        const chunk = { ...head, object: 'chat.completion.chunk', choices: [{ ...choice, delta }] }
        const answer = { ...head, object: 'chat.completion', choices: [{ ...choice, message }] }
        response.end(stream ? `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` : JSON.stringify(answer))
      }
      // One that should not have come must not wait for ever.
      if (held.length > 0) answerNow()
      held.push(answerNow)
      return true
    }
    const first = ask(CHAT, { ...ASK, stream })
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const others = Array.from({ length: 9 }, () => ask(CHAT, { ...ASK, stream }))
    // The gateway takes connections in order: behind the last one this is answered, so all of them have come.
    equal((await ask('/v1/models', undefined)).status, 200)
    held[0]!()
    const all = await Promise.all([first, ...others])
    for (const response of all) match(await response.text(), /Hello/)
    equal(statusOf(all[0]!), 'miss')
    ok(all.slice(1).every((response) => statusOf(response) === 'hit'))
    equal(counts(), 1)
  })
}

test('a provider that fails is asked by each of those that waited', async (t) => {
  const { ask, counts, models } = await gateway(t)
  answers(models, '/chat', () => ({ error: { message: 'wrong' } }), 400)
  const all = await Promise.all([ask(CHAT, ASK), ask(CHAT, ASK)])
  deepEqual(
    all.map(({ status }) => status),
    [400, 400]
  )
  equal(counts(), 2)
})

test('no-store and no-cache of the client', async (t) => {
  const { ask, counts } = await gateway(t)
  const wish = (value: string) => ask(CHAT, ASK, { 'cache-control': value })
  equal(statusOf(await wish('no-store')), 'bypass')
  equal(statusOf(await ask(CHAT, ASK)), 'miss')
  equal(statusOf(await wish('no-store')), 'bypass')
  // It is asked anew, and what comes is kept.
  equal(statusOf(await wish('no-cache')), 'bypass')
  equal(statusOf(await ask(CHAT, ASK)), 'hit')
  equal(counts(), 4)
})

test('calls of tools are kept only where the configuration says so', async (t) => {
  const call = { id: 'c', type: 'function', function: { name: 'pay', arguments: '{}' } }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  const answer = {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }]
  }
  for (const [toolCalls, expected] of [
    [false, 'miss'],
    [true, 'hit']
  ] as const) {
    const { ask, models } = await gateway(t, { toolCalls })
    answers(models, '/chat', () => answer)
    await ask(CHAT, ASK)
    equal(statusOf(await ask(CHAT, ASK)), expected)
  }
})

test('errors, answers that break off, and those that are too long are not kept', async (t) => {
  const { ask, models } = await gateway(t, { maxEntrySize: 200 })
  await ask(CHAT, ASK)
  // The usual answer has more bytes.
  equal(statusOf(await ask(CHAT, ASK)), 'miss')
  const broken = await gateway(t)
  broken.models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      'data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"He"}}]}\n\n'
    )
    response.destroy()
    return true
  }
  const stream = { ...ASK, stream: true }
  await (await broken.ask(CHAT, stream)).text().catch(() => '')
  broken.models.instead = undefined as never
  equal(statusOf(await broken.ask(CHAT, stream)), 'miss')
  equal(models.requests.length, 2)
})

test('a key of the configuration stands for the body; without one the request is not looked for', async (t) => {
  const { ask } = await gateway(t, { key: 'request.headers["x-question"]' })
  const send = async (content: string, headers: Record<string, string>) =>
    statusOf(await ask(CHAT, { ...ASK, messages: [{ role: 'user', content }] }, headers))
  equal(await send('a', { 'x-question': '1' }), 'miss')
  equal(await send('b', { 'x-question': '1' }), 'hit')
  equal(await send('b', {}), 'bypass')
  // What follows from one is no answer in another model's words.
  equal((await jsonOf(await ask(CHAT, { ...ASK, model: 'n' }, { 'x-question': '1' }))).model, 'n')
})

test('the example of the documentation', async (t) => {
  const models = await provider(t)
  const text = readFileSync(new URL('../../../docs/examples/llm-cache.yaml', import.meta.url), 'utf8')
  const params = `params: { baseUrl: "http://127.0.0.1:${models.port}/v1",`
  const started = await startGateway(text.replace('params: {', params))
  t.after(() => started.close())
  const body = JSON.stringify({ ...ASK, model: 'gpt-5' })
  for (const expected of ['miss', 'hit']) {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${started.port}${CHAT}`, { method: 'POST', headers, body })
    equal(statusOf(response), expected)
    await response.text()
  }
})
