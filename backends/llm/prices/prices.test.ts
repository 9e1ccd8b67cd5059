/** What calls cost, from the provider's answer to log, metrics and header. Costs are worked out by hand beside each. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { at, provider } from '#backends/llm/testing/llm-gateway.ts'
import { decimalText, PICO_PLACES } from '#engine/kit/money.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const ASK = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }
const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }

interface Parts {
  readonly prices?: object | undefined
  readonly add?: Record<string, string>
  readonly ai?: object
  readonly folder?: string
}

/** A gateway with one provider; `lines` ends it. */
async function start(t: TestContext, of: object, { prices = {}, add = {}, ai = {}, folder }: Parts = {}) {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-prices-')), 'log')
  const yaml = (listed: object | undefined) =>
    JSON.stringify({
      config: { ...QUIET, ...(listed === undefined ? {} : { prices: listed }) },
      ...(Object.keys(add).length === 0 ? {} : { frontendPolicies: { accessLog: { add } } }),
      binds: [{ port: 0, listeners: [{ routes: [{ name: 'r', backends: [{ ai: { provider: of, ...ai } }] }] }] }]
    })
  const log = { format: 'json', fd: openSync(file, 'w') } as const
  const gateway = await startGateway(yaml(prices), { log, ...(folder === undefined ? {} : { folder }) })
  const ask = async (body: object = ASK) => {
    const path = `http://127.0.0.1:${gateway.port}/v1/chat/completions`
    const response = await fetch(path, { method: 'POST', body: JSON.stringify(body) })
    await response.text()
    return response
  }
  let isOpen = true
  const close = async () => {
    if (isOpen) await gateway.close()
    isOpen = false
  }
  t.after(close)
  const lines = async () => {
    await close()
    const all = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return all.map((line) => JSON.parse(line) as Record<string, unknown>)
  }
  return { ask, lines, gateway, reload: (listed: object | undefined) => gateway.reload(yaml(listed)) }
}

const USAGE = {
  prompt_tokens: 2006,
  completion_tokens: 300,
  total_tokens: 2306,
  prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 }
}

/** All answers of `models`: with that usage, and what else there is beside it. */
function answerWith(models: Models, usage: object | null, more: object = {}): void {
  models.instead = (_, response) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }]
    const answer = { id: 'c', object: 'chat.completion', model: 'gpt-4o-mini-2024-07-18', choices, ...more }
    const body = JSON.stringify(usage === null ? answer : { ...answer, usage })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    return true
  }
}

/** A stream: its pieces of text, then what ends it, if anything. */
function streamWith(models: Models, pieces: number, usage: object | null, isWhole = true): void {
  const chunk = (delta: object, more: object = {}) =>
    `data: ${JSON.stringify({ id: 'c', model: 'gpt-4o-mini', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
  models.instead = (_, response) => {
    response.setHeader('content-type', 'text/event-stream')
    for (let i = 0; i < pieces; i++) response.write(chunk({ content: 'a' }))
    if (!isWhole) {
      response.end()
      return true
    }
    response.write(
      'data: {"id":"c","model":"gpt-4o-mini","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    )
    if (usage !== null)
      response.write(`data: ${JSON.stringify({ id: 'c', model: 'gpt-4o-mini', choices: [], usage })}\n\n`)
    response.end('data: [DONE]\n\n')
    return true
  }
}

test('a whole answer has its cost in the header, the log, expressions and the metrics', async (t) => {
  const models = await provider(t)
  answerWith(models, USAGE)
  const add = {
    total: 'llm.cost.total',
    text: 'llm.cost.text',
    rate: 'llm.costRates.output',
    from: 'llm.costRates.origin',
    dear: 'llm.cost.total > 0.1'
  }
  const { ask, lines, gateway } = await start(t, at('openai', models), { prices: { responseHeader: true }, add })
  // 86 x 0.15 + 1920 x 0.075 + 300 x 0.6 = 336.9 millionths of a dollar.
  equal((await ask()).headers.get('x-weir-cost'), '0.0003369')
  match(gateway.metrics(), /weir_llm_cost_total\{[^}]*gen_ai_request_model="gpt-4o-mini"[^}]*\} 0\.0003369\n/)
  const [line] = await lines()
  const seen = ['gen_ai.usage.cost', 'total', 'text', 'rate', 'from', 'dear'].map((name) => line![name])
  deepEqual(seen, ['0.0003369', 0.0003369, '0.0003369', 0.6, 'catalogue', false])
})

test('without prices in the configuration nothing is worked out', async (t) => {
  const models = await provider(t)
  answerWith(models, USAGE)
  const { ask, lines, reload } = await start(t, at('openai', models))
  await reload(undefined)
  equal((await ask()).headers.get('x-weir-cost'), null)
  const [line] = await lines()
  deepEqual(
    Object.keys(line!).filter((name) => name.includes('cost')),
    []
  )
})

test('streams: with their usage, without it, and broken off', async (t) => {
  const models = await provider(t)
  const { ask, lines } = await start(t, at('openai', models))
  streamWith(models, 3, USAGE)
  await ask({ ...ASK, stream: true })
  streamWith(models, 3, null)
  await ask({ ...ASK, stream: true })
  streamWith(models, 3, null, false)
  await ask({ ...ASK, stream: true })
  const seen = (await lines()).map((line) => [line['gen_ai.usage.cost'], line['weir.cost.basis']])
  // Nobody has told: four bytes are a token for 0.15, and each of the three pieces is one for 0.6 at least.
  const bytes = Buffer.byteLength(JSON.stringify({ ...ASK, stream: true }))
  const input = Math.ceil(bytes / 4) * 150_000
  const estimate = (pieces: number) => decimalText(input + pieces * 600_000, PICO_PLACES)
  equal(seen[0]![0], '0.0003369')
  deepEqual(
    seen.map(([, basis]) => basis),
    [undefined, 'estimated', 'estimated']
  )
  deepEqual([seen[1]![0], seen[2]![0]], [estimate(3), estimate(3)])
})

test('the tier that the answer names, and one without a price', async (t) => {
  const models = await provider(t)
  const { ask, lines } = await start(t, at('openai', models))
  for (const service_tier of ['default', 'priority', 'flex']) {
    answerWith(models, USAGE, { service_tier })
    await ask()
  }
  const all = await lines()
  // priority: 86 x 0.25 + 1920 x 0.125 + 300 x 1 = 561.5 millionths. This model has no flex.
  deepEqual(
    all.map((line) => line['gen_ai.usage.cost']),
    ['0.0003369', '0.0005615', undefined]
  )
  equal(all[2]!['weir.cost.unknown'], 'no price for the service tier flex')
})

test('a model without a price is told once, counted, and never free', async (t) => {
  const models = await provider(t)
  answerWith(models, USAGE, { model: 'house-model' })
  const { ask, lines, gateway } = await start(t, at('openai', models), { add: { unknown: 'llm.cost.unknown' } })
  for (let i = 0; i < 3; i++) await ask({ ...ASK, model: 'house-model' })
  const warnings = gateway.logged.filter((line) => line.includes('no price'))
  equal(warnings.length, 1)
  match(warnings[0]!, /^warn: no price for the model "house-model" of openai: .*config\.prices\.models/)
  match(gateway.metrics(), /weir_llm_cost_unknown_total\{[^}]*\} 3\n/)
  const [line] = await lines()
  equal(line!['gen_ai.usage.cost'], undefined)
  equal(line!.unknown, 'no price for the model "house-model" of openai')
})

test('rows of a provider, of a backend, and of the configuration go ahead of the catalogue, in this order', async (t) => {
  const models = await provider(t)
  const priced = (input: number) => ({ model: 'gpt-4o*', input, output: 0, cacheRead: 0 })
  answerWith(models, { prompt_tokens: 1000, completion_tokens: 1 })
  const config = { models: [priced(3)] }
  const costs: unknown[] = []
  for (const [own, ai] of [
    [{ prices: [{ input: 1, output: 0 }] }, { prices: [priced(2)] }],
    [{}, { prices: [priced(2)] }],
    [{}, {}]
  ] as const) {
    const { ask, lines } = await start(t, at('openai', models, own), { prices: config, ai })
    await ask()
    costs.push((await lines())[0]!['gen_ai.usage.cost'])
  }
  deepEqual(costs, ['0.001', '0.002', '0.003'])
})

test('a file of prices: its rows hold, a reload reads it again, and mistakes name it', async (t) => {
  const models = await provider(t)
  answerWith(models, { prompt_tokens: 1000, completion_tokens: 0 })
  const folder = mkdtempSync(join(tmpdir(), 'weir-prices-'))
  const file = join(folder, 'prices.yaml')
  writeFileSync(file, 'models:\n- { provider: openai, model: gpt-4o-mini, input: 5, output: 5 }\n')
  const prices = { file: 'prices.yaml' }
  const { ask, lines, reload } = await start(t, at('openai', models), { prices, folder })
  await ask()
  writeFileSync(file, "models:\n- { provider: openai, model: gpt-4o-mini, input: '7.25', output: 5 }\n")
  await reload(prices)
  await ask()
  writeFileSync(file, 'models:\n- { provider: openai, model: gpt-4o-mini, input: -1 }\n')
  await rejects(reload(prices), /config\.prices\.file.*prices\.yaml: models\.0\.input must be an amount/s)
  writeFileSync(file, 'currency: EUR\nmodels: []\n')
  await rejects(reload(prices), /prices\.yaml has prices in EUR, and the currency here is USD/)
  await rejects(reload({ currency: 'EUR', catalogue: true }), /config\.prices\.catalogue.*the currency here is EUR/s)
  deepEqual(
    (await lines()).map((line) => line['gen_ai.usage.cost']),
    ['0.005', '0.00725']
  )
})

test("a provider's own figure goes ahead, of those that are known to tell it", async (t) => {
  const models = await provider(t)
  const costs: unknown[] = []
  for (const [dialect, figure] of [
    ['openrouter', { cost: 0.00014235, cost_details: { upstream_inference_cost: 0.5 } }],
    ['openrouter', { cost: 0.00014235, is_byok: true, cost_details: { upstream_inference_cost: 0.5 } }],
    ['perplexity', { cost: { input_tokens_cost: 0, total_cost: 0.006 } }],
    ['xai', { cost_in_usd_ticks: 37_756_000 }],
    ['openai', { cost: 0.00000001 }]
  ] as const) {
    answerWith(models, { ...USAGE, ...figure })
    const { ask, lines } = await start(t, at('openai', models, { dialect }))
    await ask()
    const [line] = await lines()
    costs.push([line!['gen_ai.usage.cost'], line!['weir.cost.basis']])
  }
  deepEqual(costs, [
    ['0.00014235', 'provider'],
    ['0.50014235', 'provider'],
    ['0.006', 'provider'],
    ['0.0037756', 'provider'],
    ['0.0003369', undefined]
  ])
})

test('the example', async (t) => {
  const models = await provider(t)
  answerWith(models, { prompt_tokens: 1000, completion_tokens: 100 }, { model: 'house-1' })
  const example = readFileSync(new URL('../../../docs/examples/prices.yaml', import.meta.url), 'utf8')
  const yaml = example.replace('params: {', `params: { baseUrl: "http://127.0.0.1:${models.port}/v1",`)
  const gateway = await startGateway(yaml)
  t.after(() => gateway.close())
  const url = `http://127.0.0.1:${gateway.port}/v1/chat/completions`
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ ...ASK, model: 'house-1' }) })
  await response.text()
  // 1100 x 0.02.
  equal(response.headers.get('x-weir-cost'), '0.000022')
})

test("searches of Anthropic's own tool are a part of the cost, whole and streamed", async (t) => {
  const models = await provider(t)
  const rows = [{ model: 'claude*', input: 3, output: 15, perSearch: 0.01 }]
  const { ask, lines } = await start(
    t,
    { anthropic: {}, host: '127.0.0.1', port: models.port },
    { prices: { models: rows } }
  )
  const usage = { input_tokens: 100, output_tokens: 20, server_tool_use: { web_search_requests: 2 } }
  const head = { id: 'm', type: 'message', role: 'assistant', model: 'claude-x', content: [], stop_reason: null }
  models.instead = (request, response) => {
    if (!JSON.parse(request.bytes.toString()).stream) {
      const answer = { ...head, content: [{ type: 'text', text: 'a' }], stop_reason: 'end_turn', usage }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      return true
    }
    const events = [
      { type: 'message_start', message: { ...head, usage: { input_tokens: 100, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' }
    ]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
    return true
  }
  await ask({ ...ASK, model: 'claude-x' })
  await ask({ ...ASK, model: 'claude-x', stream: true })
  // 100 x 3 + 20 x 15 millionths, and two searches.
  deepEqual(
    (await lines()).map((line) => String(line['gen_ai.usage.cost'])),
    ['0.0206', '0.0206']
  )
})
