/** Why a target was drawn: what the access log, spans and expressions tell of it, for each way of drawing. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { provider } from '#backends/llm/testing/llm-gateway.ts'
import { asksWhyDrawn } from '#engine/contract/model-routing.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Models } from '#engine/testing/models.ts'
import { startHttpCollector } from '#engine/testing/otlp-collector.ts'

const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }
const PRICES = [
  { input: 1, output: 1 },
  { input: 3, output: 3 },
  { input: 2, output: 2 }
]

interface Drawn {
  readonly strategy: string
  readonly target: string
  readonly candidates: number
  readonly excluded: readonly { readonly target: string; readonly reason: string; readonly forMs?: number }[]
  readonly figure?: number
  readonly reason: string
  readonly fallback?: string
  readonly shadow?: string
}

/** Models a, b and c behind the virtual model v; `lines` ends the gateway and gives what its log tells of each call. */
async function start(t: TestContext, virtual: object, more: { model?: object[]; llm?: object; file?: object } = {}) {
  const all = (await Promise.all([provider(t), provider(t), provider(t)])) as [Models, Models, Models]
  const models = ['a', 'b', 'c'].map((name, i) => {
    const params = { baseUrl: `http://127.0.0.1:${all[i]!.port}/v1`, apiKey: 'k' }
    return { name, provider: 'openai', params, ...more.model?.[i] }
  })
  const log = join(mkdtempSync(join(tmpdir(), 'weir-drawn-')), 'log')
  const file = {
    config: QUIET,
    llm: { port: 4000, models, virtualModels: [{ name: 'v', ...virtual }], ...more.llm },
    frontendPolicies: { accessLog: { add: { drawn: 'llm.routing' } } },
    ...more.file
  }
  const gateway = await startGateway(JSON.stringify(file), { log: { format: 'json', fd: openSync(log, 'w') } })
  t.after(() => gateway.close())
  const ask = async (headers: Record<string, string> = {}, content = 'Hi', model = 'v'): Promise<Response> => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content }] })
    const answer = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body
    })
    await answer.text()
    return answer
  }
  const lines = async () => {
    await gateway.close()
    const text = readFileSync(log, 'utf8').split('\n').slice(0, -1)
    return text.map((line) => JSON.parse(line) as Record<string, string>)
  }
  const drawn = async () => (await lines()).map(({ drawn }) => JSON.parse(drawn!) as Drawn)
  return { ask, drawn, lines, all }
}

const refuse = (models: Models, status: number, error: object = { message: 'broken' }): void => {
  models.instead = (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    return true
  }
}

test('failover: who failed, what kind of error it was, and how long its circuit stays open', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b', priority: 1 }]
  const cooldown = { first: '1h', max: '1h' }
  const { ask, drawn, all } = await start(
    t,
    { routing: { failover: { targets } } },
    { llm: { failover: { cooldown } } }
  )
  refuse(all[0], 503)
  equal((await ask()).status, 200)
  equal((await ask()).status, 200)
  const [first, second] = await drawn()
  deepEqual([first!.strategy, first!.target, first!.candidates, first!.fallback], ['failover', 'b', 1, 'overloaded'])
  deepEqual(first!.excluded, [{ target: 'a', reason: 'tried' }])
  equal(second!.fallback, undefined)
  deepEqual([second!.excluded[0]!.target, second!.excluded[0]!.reason], ['a', 'circuit_open'])
  ok(second!.excluded[0]!.forMs! > 0 && second!.excluded[0]!.forMs! <= 3_600_000)
})

test('failover: of equal ones the better of two, and a lower priority is not among them', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b' }, { model: 'c', priority: 1 }]
  const { ask, drawn } = await start(t, { routing: { failover: { targets } } })
  await ask()
  const [line] = await drawn()
  equal(line!.candidates, 2)
  deepEqual(line!.excluded, [{ target: 'c', reason: 'priority' }])
  match(line!.reason, /^latency by load 1 ms, the better of two of 2$/)
})

test('weighted, conditional and canary: the share or the condition', async (t) => {
  const weighted = await start(t, { routing: { weighted: { targets: [{ model: 'a', weight: 1 }] } } })
  await weighted.ask()
  deepEqual(await weighted.drawn(), [
    { strategy: 'weighted', target: 'a', candidates: 1, excluded: [], figure: 100, reason: '100 %, drawn' }
  ])
  const targets = [{ when: 'request.headers["x-tier"] == "gold"', model: 'b' }, { model: 'c' }]
  const conditional = await start(t, { routing: { conditional: { targets } } })
  await conditional.ask({ 'x-tier': 'gold' })
  await conditional.ask()
  const [gold, rest] = await conditional.drawn()
  deepEqual([gold!.strategy, gold!.target, gold!.figure], ['conditional', 'b', undefined])
  equal(gold!.reason, 'its condition is the first that is true')
  deepEqual([rest!.target, rest!.reason], ['c', 'no condition is true: 100 % of the rest'])
  const canary = { model: 'a', to: 'b', percent: 100, key: 'request.headers["x-user"]' }
  const split = await start(t, { routing: { canary } })
  refuse(split.all[1], 500)
  await split.ask({ 'x-user': 'u' })
  const [tried] = await split.drawn()
  deepEqual([tried!.strategy, tried!.target, tried!.fallback], ['canary', 'a', 'server_error'])
})

test('cost: the price of the request, in the currency of the prices', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b' }, { model: 'c' }]
  const model = PRICES.map((price) => ({ prices: [price] }))
  const { ask, drawn } = await start(t, { routing: { cost: { targets } } }, { model })
  await ask()
  const [line] = await drawn()
  deepEqual([line!.strategy, line!.target, line!.candidates], ['cost', 'a', 3])
  match(line!.reason, /^0\.000\d+ USD, the lowest of 3$/)
  ok(line!.figure! > 0.0005 && line!.figure! < 0.0006)
})

test('latency: never measured, then milliseconds to the first token', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b' }]
  const { ask, drawn } = await start(t, { routing: { latency: { targets, explorePercent: 0 } } })
  for (let i = 0; i < 3; i++) await ask()
  const [first, second, third] = await drawn()
  for (const line of [first!, second!]) deepEqual([line.reason, line.figure], ['it was never measured', 0])
  deepEqual([first!.target, second!.target].sort(), ['a', 'b'])
  match(third!.reason, /^[\d.]+ ms to the first token, the lowest of 2$/)
  ok(third!.figure! > 0)
})

test('leastBusy: the calls under way', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b' }]
  const { ask, drawn } = await start(t, { routing: { leastBusy: { targets } } })
  await ask()
  const [line] = await drawn()
  deepEqual([line!.strategy, line!.figure, line!.reason], ['leastBusy', 0, '0 calls under way, the fewest of 2'])
})

test('consistentHash: by the key, or, without one, the calls under way', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b' }]
  const key = 'request.headers["x-user"]'
  const { ask, drawn } = await start(t, { routing: { consistentHash: { targets, key } } })
  await ask({ 'x-user': 'u1' })
  await ask()
  const [keyed, keyless] = await drawn()
  deepEqual([keyed!.strategy, keyed!.reason, keyed!.figure], ['consistentHash', 'the hash of the key, of 2', undefined])
  equal(keyless!.reason, 'without a key: 0 calls under way, the fewest of 2')
})

test('a list for one kind of error, and a target whose context is too small', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }, { model: 'b', priority: 1 }] } }
  const list = { routing, fallbacks: [{ on: ['context_window'], models: ['c'] }] }
  const { ask, drawn, all } = await start(t, list, { model: [{}, { contextTokens: 1000 }, {}] })
  refuse(all[0], 400, { message: 'x', code: 'context_length_exceeded' })
  await ask({}, 'long words '.repeat(1000))
  const [line] = await drawn()
  deepEqual([line!.target, line!.fallback], ['c', 'context_window'])
  deepEqual(line!.excluded, [
    { target: 'a', reason: 'tried' },
    { target: 'b', reason: 'context_too_long' }
  ])
})

test('a copy is told with the target that gets it', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }] } }
  const { ask, drawn } = await start(t, { routing, shadow: { model: 'c', percent: 100 } })
  await ask()
  const [line] = await drawn()
  deepEqual([line!.target, line!.shadow], ['a', 'c'])
})

test('a header of the answer is asking, and nobody asks of an exchange without one', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }] } }
  const set = [{ name: 'x-target', value: 'llm.routing.target' }]
  const policies = { transformation: { response: { set } } }
  equal(asksWhyDrawn(fakeExchange()), false)
  const all = await provider(t)
  const params = { baseUrl: `http://127.0.0.1:${all.port}/v1`, apiKey: 'k' }
  const models = [{ name: 'a', provider: 'openai', params }]
  const server = await start(t, { routing }, { file: { llm: { port: 4000, models, policies } } })
  equal((await server.ask({}, 'Hi', 'a')).headers.get('x-target'), 'a')
})

test('spans of the attempts tell it without being server, each its own', async (t) => {
  const collector = await startHttpCollector()
  t.after(() => collector.close())
  const tracing = { host: `127.0.0.1:${collector.port}`, randomSampling: true, batch: { scheduleDelay: '10ms' } }
  const targets = [{ model: 'a' }, { model: 'b', priority: 1 }]
  const traced = await start(t, { routing: { failover: { targets } } }, { file: { frontendPolicies: { tracing } } })
  refuse(traced.all[0], 503)
  await traced.ask()
  const spans = await collector.until((all) => all.some(({ kind }) => kind === 'SPAN_KIND_SERVER'))
  const attempts = spans.filter(({ kind }) => kind === 'SPAN_KIND_CLIENT').map(({ attributes }) => attributes)
  const of = (name: string) => attempts.map((attributes) => attributes[`weir.llm.routing.${name}`])
  deepEqual(of('target'), ['a', 'b'])
  deepEqual(of('strategy'), ['failover', 'failover'])
  deepEqual(of('fallback'), [undefined, 'overloaded'])
  deepEqual(of('excluded'), [['b: priority'], ['a: tried']])
})
