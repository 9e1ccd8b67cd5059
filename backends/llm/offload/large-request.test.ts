/** Large bodies: read and written elsewhere, with the same outcome as small ones, while others are answered. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { answers, at, gateway, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Models } from '#engine/testing/models.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { bare, LONG, TEXT, timeless, total, watchJson } from './large-bodies.fixture.ts'
import { LARGE_BYTES } from './threshold.ts'

const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
const ROUTES = { '/messages': 'Messages', '/responses': 'Responses', ':generateContent': 'GenerateContent' }

interface Case {
  readonly name: string
  readonly ai: (models: Models) => object
  readonly path?: string
  readonly body: string
}

const chat = (more = '') => `{"model":"m"${more},"messages":[{"role":"user","content":"${TEXT}"}]}`
const openai =
  (more: object = {}) =>
  (models: Models) => ({ provider: at('openai', models), ...more })
const anthropic =
  (more: object = {}) =>
  (models: Models) => ({ provider: at('anthropic', models), ...more })
const both = (models: Models) => ({
  groups: [{ providers: ['openai', 'anthropic'].map((kind) => at(kind, models, { name: kind })) }]
})

const CUSTOM = ',"tools":[{"type":"custom","custom":{"name":"patch"}}]'

const CASES: readonly Case[] = [
  { name: 'as it came', ai: openai(), body: chat() },
  {
    name: 'with what nobody knows, and a number that no double holds',
    ai: openai(),
    body: chat(',"x":12345678901234567890')
  },
  { name: 'under an alias', ai: openai({ modelAliases: { m: 'n' } }), body: chat(',"x":[{}]') },
  {
    name: 'under an alias, the model twice',
    ai: openai({ modelAliases: { m: 'n' } }),
    body: chat(',"model":"o","model":"m"')
  },
  { name: 'streamed: usage is asked for', ai: openai(), body: chat(',"stream":true') },
  { name: 'streamed to another format', ai: anthropic(), body: chat(',"stream":true') },
  { name: 'to another format', ai: anthropic(), body: chat(',"max_tokens":7,"temperature":0.5') },
  { name: 'with a field that cannot be carried', ai: anthropic(), body: chat(',"n":2') },
  { name: 'with a hint that cannot be carried', ai: anthropic(), body: chat(',"seed":1') },
  { name: 'with a tool of the client', ai: anthropic(), body: chat(CUSTOM) },
  { name: 'streamed, with a tool of the client', ai: anthropic(), body: chat(`,"stream":true${CUSTOM}`) },
  { name: 'with a field that is dropped', ai: anthropic({ unsupported: 'drop' }), body: chat(',"seed":1') },
  { name: 'with a field that one of two can be told', ai: both, body: chat(',"n":2') },
  {
    name: 'edited',
    ai: openai({
      defaults: [{ field: 'temperature', value: 1 }],
      overrides: [{ field: 'stream', value: true }],
      prompt: { prepend: [{ role: 'system', content: 'Be brief.' }], append: [{ role: 'user', content: 'Now.' }] }
    }),
    body: chat()
  },
  { name: 'without a model', ai: openai(), body: chat().replace('"model":"m"', '"n":1') },
  { name: 'with a model of the wrong type', ai: openai(), body: chat().replace('"m"', '7') },
  { name: 'no object', ai: openai(), body: `["${TEXT}"]` },
  { name: 'cut', ai: openai(), body: chat().slice(0, -1) },
  { name: 'messages of the wrong type', ai: anthropic(), body: `{"model":"m","messages":"${TEXT}"}` },
  {
    name: 'deep',
    ai: openai({ modelAliases: { m: 'n' } }),
    body: chat(`,"x":${'['.repeat(60_000)}${']'.repeat(60_000)}`)
  },
  { name: "Anthropic's, to OpenAI", ai: openai({ routes: ROUTES }), path: MESSAGES, body: chat(',"max_tokens":9') },
  {
    name: "Gemini's, to Anthropic",
    ai: anthropic({ routes: ROUTES }),
    path: '/v1beta/models/m:generateContent',
    body: `{"contents":[{"role":"user","parts":[{"text":"${TEXT}"}]}]}`
  }
]

for (const { name, ai, path = CHAT, body } of CASES) {
  test(`a large request is what a small one is: ${name}`, async (t) => {
    const models = await provider(t)
    const { ask } = await gateway(t, ai(models))
    const outcome = async (text: string) => {
      models.requests.length = 0
      const response = await ask(
        path,
        body.replace(TEXT, () => text)
      )
      const requests = models.requests.map((one) => ({ path: one.path, body: bare(one.bytes.toString(), text) }))
      const dropped = response.headers.get('x-weir-dropped')
      return [response.status, dropped, timeless(bare(await response.text(), text)), requests]
    }
    deepEqual(await outcome(LONG), await outcome('short'))
  })
}

test('a large request for a virtual model is what a small one is', async (t) => {
  const models = await provider(t)
  const baseUrl = `http://127.0.0.1:${models.port}/v1`
  const { ask } = await gatewayOf(t, {
    llm: { port: 4000, models: [{ name: 'm', provider: 'openai', params: { baseUrl, apiKey: 'k', model: 'real' } }] }
  })
  for (const body of [chat(), chat().replace('"m"', '"none"'), chat().replace('"m"', '7'), chat().slice(1)]) {
    const outcome = async (text: string) => {
      models.requests.length = 0
      const response = await ask(
        CHAT,
        body.replace(TEXT, () => text)
      )
      return [response.status, timeless(await response.text()), models.requests.map((one) => one.body.model)]
    }
    deepEqual(await outcome(LONG), await outcome('short'))
  }
})

test('a large request is tried at one provider after the other', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, both(models))
  let failures = 1
  models.instead = (_, response) => {
    if (failures-- <= 0) return false
    response.writeHead(500).end('{}')
    return true
  }
  equal(
    (
      await ask(
        CHAT,
        chat().replace(TEXT, () => LONG)
      )
    ).status,
    200
  )
  const paths = models.requests.map(({ path }) => path)
  deepEqual(paths.toSorted(), [CHAT, MESSAGES])
  ok(models.requests.every(({ bytes }) => bytes.length > LARGE_BYTES))
})

const MANY = {
  model: 'm',
  max_tokens: 9,
  messages: Array.from({ length: 60_000 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: 'x'.repeat(120) }))
}

test('10 MB in many messages, converted both ways: none of it is parsed or printed here, and others are answered', async (t) => {
  const models = await provider(t)
  answers(models, MESSAGES, ({ body }) => ({
    id: 'a',
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: [{ type: 'text', text: 'y'.repeat(body.messages.length > 1 ? 10_000_000 : 1) }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 4 }
  }))
  const big = { frontendPolicies: { http: { maxBufferSize: 33_554_432 } } }
  const ai = { provider: at('anthropic', models), modelAliases: { m: 'n' } }
  const started = await gatewayOf(t, {
    ...big,
    binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
  })
  const small = { ...MANY, messages: MANY.messages.slice(0, 1) }
  // What runs elsewhere, and how many small requests are answered meanwhile.
  const during: number[] = []
  const { run } = OffloadPool.prototype
  let answered = 0
  t.mock.method(OffloadPool.prototype, 'run', async function (this: OffloadPool, job: string, argument: unknown) {
    const before = answered
    const result = await run.call(this, job, argument)
    during.push(answered - before)
    return result
  })
  let isOver = false
  const others = (async () => {
    while (!isOver) {
      equal((await started.ask(CHAT, small)).status, 200)
      answered++
    }
  })()
  const seen = watchJson(t)
  const response = await started.ask(CHAT, JSON.stringify(MANY))
  const text = await response.text()
  isOver = true
  await others
  equal(response.status, 200)
  ok(text.length > 10_000_000)
  equal(models.requests.find(({ bytes }) => bytes.length > LARGE_BYTES)?.body.model, 'n')
  equal(seen.longest, 0)
  equal(during.length, 2)
  // The conversion takes hundreds of milliseconds, a small request two.
  ok(during[0]! >= 3, `${during}`)
  const tokens = started.metrics().match(/gen_ai_client_token_usage_sum\{[^}]*"input"[^}]*\} \d+/g)
  equal(Number(tokens?.[0]?.split(' ').at(-1)) % 3, 0)
})

test('a large answer is what a small one is', async (t) => {
  const models = await provider(t)
  let text = ''
  let status = 200
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  const message = () => ({ role: 'assistant', content: text })
  let answer = (): object => ({ id: 'a', object: 'chat.completion', created: 1, model: 'm', choices: [], usage })
  answers(models, '', () => answer())
  models.instead = (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer()))
    return true
  }
  const native = await gateway(t, openai()(models))
  const converted = await gateway(t, openai({ routes: ROUTES })(models))
  const cases: readonly (readonly [number, () => object])[] = [
    [200, () => ({ id: 'a', model: 'm', choices: [{ index: 0, message: message(), finish_reason: 'stop' }], usage })],
    [200, () => ({ id: 'a', model: 'm', choices: [{ message: message(), logprobs: { content: [] } }], usage })],
    [200, () => ({ id: 'a', choices: text })],
    [200, () => [text]],
    [400, () => ({ error: { message: text, type: 'invalid_request_error' } })],
    [500, () => ({ detail: text })]
  ]
  for (const [name, make] of cases) {
    status = name
    answer = make
    for (const [path, { ask, metrics }] of [
      [CHAT, native],
      [MESSAGES, converted]
    ] as const) {
      const outcome = async (prompt: string) => {
        text = prompt
        const before = total(metrics())
        const response = await ask(path, chat(',"max_tokens":9'))
        const all = timeless((await response.text()).replaceAll(prompt, TEXT)).replaceAll(/req_[0-9a-f]{32}/g, 'req_')
        return [response.status, response.headers.get('x-weir-dropped'), all, total(metrics()) - before]
      }
      deepEqual(await outcome('z'.repeat(LARGE_BYTES + 1)), await outcome('short'), `${path} ${status} ${make}`)
    }
  }
})

test('a client that leaves while its large request is written costs others nothing', async (t) => {
  const models = await provider(t)
  const { base, ask } = await gateway(t, openai({ modelAliases: { m: 'n' } })(models))
  const leaving = new AbortController()
  const begun = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  const { run } = OffloadPool.prototype
  t.mock.method(OffloadPool.prototype, 'run', async function (this: OffloadPool, job: string, argument: unknown) {
    begun.resolve()
    await done.promise
    return await run.call(this, job, argument)
  })
  const response = fetch(base + CHAT, {
    method: 'POST',
    body: chat().replace(TEXT, () => LONG),
    signal: leaving.signal
  })
  await begun.promise
  leaving.abort()
  await response.catch(() => null)
  done.resolve()
  equal((await ask(CHAT, chat())).status, 200)
  equal(
    (
      await ask(
        CHAT,
        chat().replace(TEXT, () => LONG)
      )
    ).status,
    200
  )
  deepEqual(
    models.requests.map(({ bytes }) => bytes.length > LARGE_BYTES),
    [false, true]
  )
})

test('where too much waits, a large request is refused and small ones pass', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, openai()(models))
  t.mock.method(OffloadPool.prototype, 'run', () => Promise.reject(new Error('full')))
  const refused = await ask(
    CHAT,
    chat().replace(TEXT, () => LONG)
  )
  // BODY_OVERLOAD
  equal(refused.status, 503)
  ok((await refused.text()).includes('too many large bodies wait to be read'))
  equal((await ask(CHAT, chat())).status, 200)
})

test('with a full queue, the cost of a large answer is counted all the same', async (t) => {
  const models = await provider(t)
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  const choices = [{ index: 0, message: { role: 'assistant', content: LONG }, finish_reason: 'stop' }]
  answers(models, '', () => ({ id: 'a', object: 'chat.completion', created: 1, model: 'm', choices, usage }))
  t.mock.method(OffloadPool.prototype, 'run', () => Promise.reject(new Error('full')))
  for (const [path, setup, status] of [
    [CHAT, openai(), 200],
    [MESSAGES, openai({ routes: ROUTES }), 502]
  ] as const) {
    const { ask, metrics } = await gateway(t, setup(models))
    const response = await ask(path, chat(',"max_tokens":9'))
    await response.text()
    deepEqual([response.status, total(metrics())], [status, 7], path)
  }
})
