/** Keys with budgets, through a whole gateway: what is set aside, what is settled, and what clients are told. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { at, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Models } from '#engine/testing/models.ts'

/** A token costs a microdollar. */
const PRICES = [{ input: 1, output: 1 }]
const CENT = '0.01'
const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'off' } }

/** An answer that has used so many tokens; `cost` as the record of the call has it. */
const answer = (tokens: number) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens }
})

async function start(t: TestContext, models: Models, accounts: object) {
  const llm = {
    port: 0,
    models: ['m', 'n', 'unpriced', 'other-*'].map((name) => {
      return {
        name,
        provider: 'openai',
        params: { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'of-provider' },
        ...(name === 'unpriced' ? {} : { prices: PRICES })
      }
    })
  }
  const gateway = await startGateway(JSON.stringify({ config: QUIET, llm, ...accounts }))
  t.after(() => gateway.close())
  const base = `http://127.0.0.1:${gateway.port}`
  const chat = (key: string, more: object = {}, path = '/v1/chat/completions', signal?: AbortSignal) =>
    fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...more }),
      ...(signal === undefined ? {} : { signal })
    })
  const spent = (account: string) => gateway.accounts.ledger.budgets.find((one) => one.account === account)!
  return { gateway, base, chat, spent }
}

const key = (more: object = {}) => ({ name: 'alice', key: 'sk-alice-0001', ...more })
const budget = (amount: string | number, more: object = {}) => ({ amount, period: 'month', ...more })

test('a call is paid for by the key, its team and its organisation; the first that is used up refuses the next', async (t) => {
  const models = await provider(t)
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(6_000)))
    return true
  }
  const { chat, spent } = await start(t, models, {
    organisations: [{ name: 'acme', budgets: [budget(1)] }],
    teams: [{ name: 'ml', organisation: 'acme', budgets: [budget(CENT, { period: 'day' })] }],
    keys: [key({ team: 'ml', budgets: [budget(1)] }), { name: 'bob', key: 'sk-bob-00001', team: 'ml' }]
  })
  const max = { max_tokens: 7_000 }
  equal((await chat('sk-alice-0001', max)).status, 200)
  equal((await chat('sk-bob-00001', max)).status, 200)
  deepEqual(
    ['key/alice', 'team/ml', 'organisation/acme'].map((name) => [spent(name).spent, spent(name).reserved]),
    [
      ['0.006', '0'],
      ['0.012', '0'],
      ['0.012', '0']
    ]
  )
  const refused = await chat('sk-bob-00001', max)
  equal(refused.status, 429)
  const { error } = await jsonOf(refused)
  deepEqual([error.code, error.type], ['BUDGET_EXCEEDED', 'insufficient_quota'])
  match(
    error.message,
    /^the budget of team ml \(0\.01 USD per day\) is used up; it begins anew at \d{4}-\d\d-\d\dT00:00:00Z$/
  )
  ok(Number(refused.headers.get('retry-after')) > 0)
  ok(['false', null].includes(refused.headers.get('x-should-retry')), 'null: the day ends within a minute')
  deepEqual(spent('key/alice').spent, '0.006', 'a refusal costs nobody anything')
})

test('refusals are in the format of the client', async (t) => {
  const models = await provider(t)
  const { chat, base } = await start(t, models, {
    keys: [
      key({ models: ['n', 'other-*'], budgets: [budget(1)] }),
      { name: 'old', key: 'sk-old-000001', expires: '2020-01-01T00:00:00Z' }
    ]
  })
  const messages = await chat('sk-alice-0001', {}, '/v1/messages')
  equal(messages.status, 403)
  deepEqual((await jsonOf(messages)).error.type, 'permission_error')
  const completions = await jsonOf(await chat('sk-alice-0001'))
  equal(completions.error.code, 'MODEL_NOT_ALLOWED')
  equal((await chat('sk-alice-0001', { model: 'other-x' })).status, 200)
  equal((await chat('sk-old-000001')).status, 401)
  equal((await chat('sk-nobody-001')).status, 401)
  const list = await fetch(`${base}/v1/models`, { headers: { authorization: 'Bearer sk-alice-0001' } })
  deepEqual(
    (await jsonOf(list)).data.map(({ id }: { id: string }) => id),
    ['n']
  )
  const one = await fetch(`${base}/v1/models/m`, { headers: { 'x-api-key': 'sk-alice-0001' } })
  equal(one.status, 404)
})

test('a call without a price is refused where there is a budget, unless the file says otherwise', async (t) => {
  const models = await provider(t)
  const accounts = { keys: [key({ budgets: [budget(1)] }), { name: 'free', key: 'sk-free-00001' }] }
  const { chat } = await start(t, models, accounts)
  const refused = await chat('sk-alice-0001', { model: 'unpriced' })
  deepEqual([refused.status, (await jsonOf(refused)).error.code], [403, 'PRICE_UNKNOWN'])
  equal((await chat('sk-free-00001', { model: 'unpriced' })).status, 200)
  const policies = { virtualKeys: { unknownPrice: 'Allow' } }
  const open = await start(t, models, { ...accounts, policies })
  equal((await open.chat('sk-alice-0001', { model: 'unpriced' })).status, 200)
})

test('limits of requests and of tokens, and how many at a time', async (t) => {
  const models = await provider(t)
  const { chat } = await start(t, models, {
    teams: [{ name: 'ml', limits: [{ requests: 3, unit: 'Days' }] }],
    keys: [
      key({ team: 'ml', limits: [{ tokens: 4, unit: 'Days' }] }),
      { name: 'bob', key: 'sk-bob-00001', team: 'ml', concurrency: 1 }
    ]
  })
  const first = await chat('sk-alice-0001')
  equal(first.status, 200)
  deepEqual(
    ['limit-requests', 'remaining-requests', 'limit-tokens', 'remaining-tokens'].map((name) =>
      first.headers.get(`x-ratelimit-${name}`)
    ),
    ['3', '2', '4', '4']
  )
  await first.text()
  const tokens = await chat('sk-alice-0001')
  deepEqual(
    [tokens.status, (await jsonOf(tokens)).error.message],
    [429, 'the limit of key alice, 4 tokens per 86400s, is reached']
  )
  const held = Promise.withResolvers<() => void>()
  models.instead = (_, response) => {
    held.resolve(() => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(1))))
    return true
  }
  const slow = chat('sk-bob-00001')
  const release = await held.promise
  const second = await chat('sk-bob-00001')
  deepEqual([second.status, (await jsonOf(second)).error.code], [429, 'CONCURRENCY_LIMITED'])
  models.instead = null
  release()
  equal((await slow).status, 200)
  equal((await chat('sk-bob-00001')).status, 200, 'what was refused for another reason did not count')
  equal((await chat('sk-bob-00001')).status, 429)
})

test('an attempt that fails costs nothing, and the one behind it what it says', async (t) => {
  const models = await provider(t)
  let calls = 0
  models.instead = (_, response) => {
    calls++
    response.writeHead(calls === 1 ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(calls === 1 ? { error: { message: 'busy' } } : answer(100)))
    return true
  }
  const route = {
    backends: [
      { ai: { prices: PRICES, groups: [{ providers: ['a', 'b'].map((name) => ({ name, ...at('openai', models) })) }] } }
    ]
  }
  const gateway = await startGateway(
    JSON.stringify({
      config: QUIET,
      keys: [key({ budgets: [budget(1)] })],
      binds: [{ port: 0, listeners: [{ routes: [{ policies: { virtualKeys: {} }, ...route }] }] }]
    })
  )
  t.after(() => gateway.close())
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'sk-alice-0001' },
    body: JSON.stringify({ model: 'm', max_tokens: 200, messages: [{ role: 'user', content: 'hi' }] })
  })
  deepEqual([response.status, calls], [200, 2])
  await response.text()
  const [report] = gateway.accounts.ledger.budgets
  deepEqual([report!.spent, report!.reserved], ['0.0001', '0'])
})

test('a stream that its client leaves is paid for: what it has got so far, at most what was set aside', async (t) => {
  const models = await provider(t)
  const { gateway, chat, spent } = await start(t, models, { keys: [key({ budgets: [budget(1)] })] })
  const gone = Promise.withResolvers<void>()
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: {"choices":[{"index":0,"delta":{"content":"${'a'.repeat(3_200)}"}}]}\n\n`)
    response.once('close', () => gone.resolve())
    return true
  }
  const controller = new AbortController()
  const response = await chat('sk-alice-0001', { stream: true, max_tokens: 5_000 }, undefined, controller.signal)
  await response.body!.getReader().read()
  equal(spent('key/alice').spent, '0')
  ok(Number(spent('key/alice').reserved) > 0.005)
  controller.abort()
  await gone.promise
  const { spent: paid, reserved } = spent('key/alice')
  ok(Number(paid) > 0 && Number(paid) < 0.001, paid)
  equal(reserved, '0')
  deepEqual(
    gateway.logged.filter((line) => !line.includes('no price')),
    []
  )
})

test('200 calls at once against the last cent: one of them may overdraw it', async (t) => {
  const models = await provider(t)
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(30_000)))
    return true
  }
  const { chat, spent } = await start(t, models, { keys: [key({ budgets: [budget(CENT)] })] })
  const max = { max_tokens: 30_000 }
  const all = await Promise.all(Array.from({ length: 200 }, async () => (await chat('sk-alice-0001', max)).status))
  deepEqual([all.filter((status) => status === 200).length, all.filter((status) => status === 429).length], [1, 199])
  deepEqual([spent('key/alice').spent, spent('key/alice').reserved], ['0.03', '0'])
})
