/** Answers that replicas share: who gets them, what the server sees, and what happens without it. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answers, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { startRedis } from '#engine/testing/redis.ts'
import { nameOf, open, seal } from './sealed.ts'
import type { Kept } from './store.ts'

const CHAT = '/v1/chat/completions'
const ASK = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
const statusOf = (response: Response) => response.headers.get('x-weir-cache')
const tick = () => new Promise((resolve) => setImmediate(resolve))

/** Two replicas. */
async function replicas(t: TestContext, more: object = {}) {
  const [models, redis] = [await provider(t), await startRedis(t)]
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const cache = { ttl: '1h', url: `redis://127.0.0.1:${redis.port}`, timeout: '10s', ...more }
  const llm = { port: 4000, models: [{ name: 'm', provider: 'openai', params }], cache }
  const gateways = [await gatewayOf(t, { llm }), await gatewayOf(t, { llm })] as const
  // The first request of a worker begins to connect.
  for (const { ask } of gateways) await (await ask(CHAT, { ...ASK, model: 'm', seed: 0 })).text()
  const ask = async (i: 0 | 1, body: object, headers: Record<string, string> = {}) => {
    const response = await gateways[i].ask(CHAT, { ...ASK, ...body }, headers)
    return { status: statusOf(response), text: await response.text(), age: response.headers.get('age') }
  }
  // Until both are connected: an answer of the one is that of the other.
  for (let seed = 1; ; seed++) {
    await ask(0, { seed })
    await ask(1, { seed: -seed })
    if ((await ask(1, { seed })).status === 'hit' && (await ask(0, { seed: -seed })).status === 'hit') break
    await tick()
  }
  return { models, redis, ask }
}

test('what one replica keeps is given by the other, whole and streamed, for as long as ttl says', async (t) => {
  const { models, redis, ask } = await replicas(t)
  const before = models.requests.length
  const first = await ask(0, { seed: 10_000 })
  const second = await ask(1, { seed: 10_000 })
  deepEqual([first.status, second.status, second.text], ['miss', 'hit', first.text])
  match(second.age!, /^\d+$/)
  const streamed = await ask(1, { seed: 10_000, stream: true })
  equal(streamed.status, 'hit')
  match(streamed.text, /^data: /)
  equal(models.requests.length - before, 1)
  ok(redis.ttls.every((ttl) => ttl === 3_600_000))
})

test('the server sees neither requests, nor answers, nor whose they are', async (t) => {
  const { redis, ask } = await replicas(t)
  await ask(0, { seed: 20_000 }, { authorization: 'Bearer sk-of-a-client' })
  for (const [name, value] of redis.values) {
    match(name, /^\{weir:cache\}:[\w-]{43}$/)
    ok(!/Hello|sk-of-a-client|openai/.test(value.toString('latin1')))
  }
  // Another tenant asks for the same.
  const other = await ask(1, { seed: 20_000 }, { authorization: 'Bearer sk-of-another' })
  equal(other.status, 'miss')
})

test('the first request of a replica looks at the server: it waits for the connection', async (t) => {
  const { redis, ask } = await replicas(t)
  await ask(0, { seed: 60_000 })
  const models = await provider(t)
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const cache = { ttl: '1h', url: `redis://127.0.0.1:${redis.port}`, timeout: '10s' }
  const llm = { port: 4000, models: [{ name: 'm', provider: 'openai', params }], cache }
  const late = await gatewayOf(t, { llm })
  const response = await late.ask(CHAT, { ...ASK, seed: 60_000 })
  deepEqual([statusOf(response), models.requests.length], ['hit', 0])
  await response.text()
})

test('a server that is not there when a replica begins: its first request is a miss, and the log says why', async (t) => {
  const [models, redis] = [await provider(t), await startRedis(t)]
  redis.stop()
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const cache = { ttl: '1h', url: `redis://127.0.0.1:${redis.port}`, timeout: '10s' }
  const gateway = await gatewayOf(t, {
    llm: { port: 4000, models: [{ name: 'm', provider: 'openai', params }], cache }
  })
  const response = await gateway.ask(CHAT, ASK)
  equal(statusOf(response), 'miss')
  await response.text()
  ok(gateway.logged.some((line) => /^warn: the server of the cache is away/.test(line)))
})

test('what was changed at the server, or is of a later version, is not there', async (t) => {
  const { redis, ask } = await replicas(t)
  await ask(0, { seed: 30_000 })
  for (const value of redis.values.values()) value[value.length - 20]! ^= 1
  equal((await ask(1, { seed: 30_000 })).status, 'miss')
})

test('without the server providers are asked, and each replica goes on with what it keeps', async (t) => {
  const { redis, ask } = await replicas(t)
  redis.stop()
  await tick()
  deepEqual([(await ask(0, { seed: 40_000 })).status, (await ask(0, { seed: 40_000 })).status], ['miss', 'hit'])
  equal((await ask(1, { seed: 40_000 })).status, 'miss')
})

test('a server that does not answer is waited for as long as timeout says', async (t) => {
  const { redis, ask, models } = await replicas(t, { timeout: '300ms' })
  redis.isSilent = true
  answers(models, '/chat', () => ({
    ...{ id: 'x', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'new' }, finish_reason: 'stop' }]
  }))
  const late = await ask(1, { seed: 50_000 })
  equal(late.status, 'miss')
  match(late.text, /new/)
})

test('the connection ends with the last configuration that has the server, and with the worker', async (t) => {
  const [models, redis] = [await provider(t), await startRedis(t)]
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
  const llm = { port: 4000, models: [{ name: 'm', provider: 'openai', params }] }
  const kept = { ...llm, cache: { ttl: '1h', url: `redis://127.0.0.1:${redis.port}`, timeout: '10s' } }
  const gateway = await gatewayOf(t, { llm: kept })
  const ask = async (seed: number) => statusOf(await gateway.ask(CHAT, { ...ASK, seed }))
  equal(await ask(1), 'miss')
  equal(redis.connections(), 1)
  // Another one that has it: it goes on.
  await gateway.reload(JSON.stringify({ llm: { ...kept, cache: { ...kept.cache, ttl: '2h' } } }))
  equal(await ask(2), 'miss')
  equal(redis.connections(), 1)
  let left = redis.left()
  await gateway.reload(JSON.stringify({ llm }))
  await left
  equal(await ask(3), null)
  equal(redis.connections(), 0)
  await gateway.reload(JSON.stringify({ llm: kept }))
  equal(await ask(4), 'miss')
  equal(redis.connections(), 1)
  left = redis.left()
  await gateway.close()
  await left
  equal(redis.connections(), 0)
})

test('bytes of a kept answer: only who knows the request reads them', () => {
  const kept: Kept = {
    ...{ format: 'completions', isStream: false, hasUsage: true, bytes: Buffer.from('{}'), usage: null, at: 900 },
    ...{ provider: 'openai', requestModel: 'm', responseModel: undefined }
  }
  const [one, other] = ['a'.repeat(64), 'b'.repeat(64)]
  const sealed = seal(one, kept, 1_000, 1_000_000)
  deepEqual(open(one, sealed, 5_000, 1_000_500), { ...kept, at: 4_400 })
  equal(open(other, sealed, 0, 0), null)
  equal(nameOf(one) === nameOf(other), false)
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at]! ^= 1
    equal(open(one, changed, 0, 0), null)
    equal(open(one, sealed.subarray(0, at), 0, 0), null)
  }
})
