/** Expressions over large prompts and answers: they run elsewhere, and give what they give for small ones. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answers, at, provider } from '#backends/llm/testing/llm-gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { bare, LONG, TEXT, timeless, watchJson } from './large-bodies.fixture.ts'

const CHAT = '/v1/chat/completions'
const ASK = { model: 'm', temperature: 0.5, messages: [{ role: 'user', content: TEXT }] }

interface Setting {
  readonly policies?: object
  readonly ai?: object
  readonly accessLog?: object
}

async function start(t: TestContext, { policies = {}, ai = {}, accessLog = {} }: Setting) {
  const models = await provider(t)
  answers(models, CHAT, ({ body }) => ({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: body.messages[0].content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  }))
  const file = join(mkdtempSync(join(tmpdir(), 'weir-large-')), 'log')
  const backends = [{ ai: { provider: at('openai', models), ...ai } }]
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'info' } },
      frontendPolicies: { accessLog: { remove: ['duration'], ...accessLog } },
      binds: [{ port: 0, listeners: [{ routes: [{ policies, backends }] }] }]
    }),
    { log: { format: 'json', fd: openSync(file, 'w') } }
  )
  const ask = async (text: string, length: 'announced' | 'not') => {
    const body = JSON.stringify(ASK).replace(TEXT, () => text)
    const streamed = new Blob([body]).stream()
    const response = await fetch(`http://127.0.0.1:${gateway.port}${CHAT}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: length === 'announced' ? body : streamed,
      ...(length === 'announced' ? {} : { duplex: 'half' })
    })
    const results = [response.status, response.headers.get('x-said'), timeless(bare(await response.text(), text))]
    return [...results, models.requests.splice(0).map(({ bytes }) => bare(bytes.toString(), text))]
  }
  const lines = async () => {
    await gateway.close()
    return readFileSync(file, 'utf8').split('\n').slice(0, -1)
  }
  return { gateway, ask, lines }
}

const rule = (allow: string) => ({ policies: { authorization: { rules: [allow] } } })
const setting = (value: string) => ({ policies: { transformation: { response: { set: { 'x-said': value } } } } })
const limited = (key: string) => ({
  policies: { rateLimit: { local: [{ requests: 1, unit: 'Hours', burst: 1, key }] } }
})
const bodyOf = (value: string) => ({ policies: { transformation: { request: { body: value } } } })

const SETTINGS: readonly (readonly [name: string, setting: Setting])[] = [
  ['a rule lets it pass', rule('json(request.body).model == "m"')],
  ['a rule does not', rule('json(request.body).model == "n"')],
  ['a rule over its bytes', rule('request.body.startsWith("{")')],
  ['a limit by a field of it', limited('json(request.body).model')],
  ['its body by an expression', bodyOf('request.body')],
  ['its body, a map', bodyOf('json(request.body)')],
  ['what is told of the request', setting('llmRequest.model + string(llmRequest.temperature)')],
  [
    'what is told of the request, as it was edited',
    { ...setting('string(llmRequest.top_p)'), ai: { defaults: [{ field: 'top_p', value: 0.25 }] } }
  ],
  ['what is told of messages', setting('llm.prompt[0].role + string(size(llm.prompt))')],
  ['what is told of settings', setting('string(llm.params.temperature)')],
  ['what is told of the answer', setting('string(size(llm.completion)) + string(size(llm.toolCalls))')]
]

for (const [name, setting] of SETTINGS) {
  for (const length of ['announced', 'not'] as const) {
    test(`an expression over a large prompt gives what it gives over a small one: ${name}, length ${length}`, async (t) => {
      const [small, large] = [await start(t, setting), await start(t, setting)]
      const outcome = async ({ ask }: typeof small, text: string) => [await ask(text, length), await ask(text, length)]
      const expected = await outcome(small, 'short')
      const seen = watchJson(t)
      deepEqual(await outcome(large, LONG), expected)
      equal(seen.longest, 0)
      await Promise.all([small.lines(), large.lines()])
    })
  }
}

const ADDED = {
  first: 'llm.prompt[0].content.substring(0, 2)',
  all: 'llmRequest',
  spread: 'flatten(llm.params)',
  answers: 'size(llm.completion)',
  secret: '{"password": llm.prompt[0].role}',
  wrong: 'llm.prompt[7].role'
}
const FILTER = 'llm.prompt[0].role == "user"'

test('fields of the log over a large prompt are those over a small one', async (t) => {
  const setting = { accessLog: { add: ADDED, filter: FILTER } }
  const linesFor = async (text: string) => {
    const { ask, lines, gateway } = await start(t, setting)
    const run = t.mock.method(OffloadPool.prototype, 'run')
    await ask(text, 'announced')
    await Promise.allSettled(run.mock.calls.map(({ result }) => result))
    run.mock.restore()
    const failures = gateway.metrics().match(/weir_access_log_failures_total\{.*/g)
    const [line = '{}'] = await lines()
    const { first, spread, answers: count, secret, wrong, all, ...rest } = JSON.parse(line)
    ok(String(all).startsWith('{"model":"m","temperature":0.5'), line)
    return [first, spread, rest['spread.temperature'], count, secret, wrong, failures]
  }
  const expected = await linesFor('xxxxx')
  equal(expected[0], 'xx')
  const seen = watchJson(t)
  deepEqual(await linesFor('x'.repeat(300_000)), expected)
  equal(seen.longest, 0)
})

test('a log line whose fields take too long is written without them', async (t) => {
  const { ask, lines, gateway } = await start(t, { accessLog: { add: { first: 'llm.prompt[0].role' } } })
  const { run } = OffloadPool.prototype
  t.mock.method(OffloadPool.prototype, 'run', function (this: OffloadPool, job: string, argument: unknown) {
    return job === 'cel-log' ? Promise.reject(new Error('too much waits')) : run.call(this, job, argument)
  })
  await ask(LONG, 'announced')
  const failures = gateway.metrics().match(/weir_access_log_failures_total\{.*/g)
  const [line = ''] = await lines()
  deepEqual([JSON.parse(line).first, JSON.parse(line)['http.status']], [undefined, 200])
  deepEqual(failures, ['weir_access_log_failures_total{part="attribute"} 1'])
})
