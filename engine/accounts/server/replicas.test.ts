/** Gateways that share a server: keys with budgets and limits, through whole requests. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Models, startModels } from '#engine/testing/models.ts'
import { ServerBooks } from './client.ts'
import { ModelServer } from './model.fixture.ts'

const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'off' } }
const ALICE = 'sk-alice-0001'
const BUDGET = 'key/alice Month UTC -'

const answer = (tokens: number) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens }
})

/** Two replicas; a token costs a microdollar. */
async function replicas(t: TestContext, key: object, more: object = {}) {
  const models: Models = await startModels()
  t.after(() => models.close())
  const server = new ModelServer(Date.now())
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'of-provider' }
  const llm = { port: 0, models: [{ name: 'm', provider: 'openai', params, prices: [{ input: 1, output: 1 }] }] }
  const file = JSON.stringify({ config: QUIET, llm, keys: [{ name: 'alice', key: ALICE, ...key }] })
  const gateways = await Promise.all(
    ['a', 'b'].map(async (writer) => {
      const options = { writer, connect: server.connect, isOpen: false, timeoutMs: 60_000, journal: null }
      const gateway = await startGateway(file, { server: new ServerBooks({ ...options, ...more }) })
      t.after(() => gateway.close())
      return gateway
    })
  )
  const chat = (i: number, body: object = {}, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${gateways[i]!.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${ALICE}` },
      body: JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...body }),
      ...(signal === undefined ? {} : { signal })
    })
  return { server, models, chat }
}

const month = (amount: string) => ({ budgets: [{ amount, period: 'month' }] })
const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

test('parallel calls at two replicas against the last cent: one is answered', async (t) => {
  const { server, models, chat } = await replicas(t, month('0.001'))
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(1_000)))
    return true
  }
  const all = await Promise.all(Array.from({ length: 40 }, (_, i) => chat(i % 2, { max_tokens: 1_000 })))
  const statuses = all.map(({ status }) => status)
  deepEqual([statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 429).length], [1, 39])
  await until(() => server.budget(BUDGET)?.spent === 1_000_000n)
  const last = await chat(1)
  equal(last.status, 429)
  match((await last.text()).toString(), /the budget of key alice \(0.001 USD per month\) is used up; it begins anew/)
  equal(models.requests.length, 1)
})

test('a client that leaves while the server is asked costs nothing, and holds nothing', async (t) => {
  const { server, models, chat } = await replicas(t, { ...month('1'), concurrency: 1 })
  const leaving = new AbortController()
  const gone = chat(0, {}, leaving.signal).catch(() => null)
  leaving.abort()
  await gone
  await until(() => server.underWay('key/alice') === 0 && (server.budget(BUDGET)?.used ?? 0n) === 0n)
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(5)))
    return true
  }
  equal((await chat(1)).status, 200)
})

test('a stream that its client leaves is paid for by what has come', async (t) => {
  const { server, models, chat } = await replicas(t, month('1'))
  models.instead = (_, response) => {
    const choices = [{ index: 0, delta: { content: 'word' }, finish_reason: null }]
    const piece = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(piece)}\n\n`)
    return true
  }
  const { body } = await chat(0, { stream: true })
  const reader = body!.getReader()
  await reader.read()
  await reader.cancel()
  await until(() => (server.budget(BUDGET)?.spent ?? 0n) > 0n)
  equal(server.budget(BUDGET)?.used, server.budget(BUDGET)?.spent)
})

test('limits and requests at a time are those of all replicas', async (t) => {
  const { models, chat, server } = await replicas(t, { concurrency: 1, limits: [{ requests: 2, unit: 'Hours' }] })
  const held: (() => void)[] = []
  models.instead = (_, response) => {
    held.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(5))))
    return true
  }
  const first = chat(0)
  await until(() => held.length === 1)
  const second = await chat(1)
  equal(second.status, 429)
  match(await second.text(), /has 1 requests under way/)
  held[0]!()
  const answered = await first
  deepEqual([answered.status, answered.headers.get('x-ratelimit-remaining-requests')], [200, '1'])
  await answered.text()
  await until(() => server.underWay('key/alice') === 0)
  const third = chat(1)
  await until(() => held.length === 2)
  held[1]!()
  equal((await third).status, 200)
  await until(() => server.underWay('key/alice') === 0)
  const fourth = await chat(0)
  equal(fourth.status, 429)
  match(await fourth.text(), /the limit of key alice, 2 requests per 3600s, is reached/)
})

test('tokens are charged at all replicas', async (t) => {
  const { models, chat } = await replicas(t, { limits: [{ tokens: 10, unit: 'Hours' }] })
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(30)))
    return true
  }
  equal((await chat(0)).status, 200)
  let status = 0
  while (status !== 429) ({ status } = await chat(1))
  equal((await chat(0)).status, 429)
})

test('while the server is away: 503 in the words of the client, with Retry-After', async (t) => {
  const { server, chat } = await replicas(t, month('1'), { timeoutMs: 50 })
  server.isDown = true
  server.cut()
  const response = await chat(0)
  deepEqual([response.status, response.headers.get('retry-after')], [503, '1'])
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  deepEqual([error.code, error.message], ['BUDGET_UNAVAILABLE', 'limits and budgets cannot be looked up at the moment'])
})
