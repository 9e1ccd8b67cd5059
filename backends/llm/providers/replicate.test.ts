/** Replicate: chats of clients of all formats as predictions, which are begun, waited for and cancelled. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { request as httpRequest, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { accountOf } from '#engine/testing/account.ts'
import { parseEvents } from '#engine/testing/sse.ts'

const MODEL = 'meta/meta-llama-3-70b-instruct'
const ID = 'gm3qorzdhgbfurvjtvhg6dckhu'
const prediction = (status: string, more: JsonObject = {}): JsonObject => ({
  ...{ id: ID, model: MODEL, version: 'hidden', status, error: null, created_at: '2026-01-02T03:04:05.678Z' },
  input: { prompt: 'secret of the prompt', max_tokens: 99 },
  urls: {
    get: 'http://169.254.169.254/latest',
    cancel: 'http://169.254.169.254/x',
    stream: 'http://169.254.169.254/y'
  },
  ...more
})
const METRICS = { input_token_count: 12, output_token_count: 7, predict_time: 0.3 }
const DONE = prediction('succeeded', { output: ['Hello, ', 'wor', 'ld'], metrics: METRICS, logs: 'l' })

type Say = (path: string, nth: number) => readonly [status: number, body: object] | null

/** `say`: answers to a path, the nth to it; null: it is not answered. */
async function replicate(t: TestContext, say: Say, file: object = {}) {
  const models = await provider(t)
  const counts = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()
  models.instead = ({ path }, response: ServerResponse) => {
    if (!path.includes('/predictions')) return false
    const nth = counts.get(path) ?? 0
    counts.set(path, nth + 1)
    const answer = say(path, nth)
    for (const [part, calls] of waiting) if (path.endsWith(part)) for (const call of calls.splice(0)) call()
    if (answer === null) return true
    response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]))
    return true
  }
  const arrival = (end: string) => new Promise<void>((resolve) => waiting.set(end, [resolve]))
  const params = { host: '127.0.0.1', port: models.port, apiKey: 'canary-of-replicate' }
  const llm = { port: 0, models: [{ name: '*', provider: 'replicate', params }], ...file }
  return { models, arrival, ...(await gatewayOf(t, { llm })) }
}

const HI = { role: 'user', content: 'Hi' }
const SYSTEM = 'Be brief'
const REQUESTS: readonly (readonly [name: string, path: string, body: JsonObject])[] = [
  [
    'completions',
    '/v1/chat/completions',
    { model: MODEL, max_tokens: 9, messages: [{ role: 'system', content: SYSTEM }, HI] }
  ],
  ['responses', '/v1/responses', { model: MODEL, max_output_tokens: 9, instructions: SYSTEM, input: 'Hi' }],
  ['messages', '/v1/messages', { model: MODEL, max_tokens: 9, system: SYSTEM, messages: [HI] }],
  [
    'gemini',
    `/v1beta/models/${encodeURIComponent(MODEL)}:generateContent`,
    {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: SYSTEM }] },
      generationConfig: { maxOutputTokens: 9 }
    }
  ]
]
const FIRST = `/v1/models/${MODEL}/predictions`

/** Text and tokens, wherever a format has them. */
const TELLS = /Hello, world[\s\S]*12[\s\S]*7|12[\s\S]*7[\s\S]*Hello, world/

for (const [name, path, body] of REQUESTS) {
  test(`${name}: whole, at once and after a while; no address of an answer is followed`, async (t) => {
    for (const waits of [false, true]) {
      const { models, ask } = await replicate(t, (to, nth) => {
        if (to === FIRST) return [201, waits ? prediction('starting') : DONE]
        return [200, nth === 0 ? prediction('processing', { output: ['Hel'] }) : DONE]
      })
      const answer = await ask(path, body)
      const text = await answer.text()
      equal(answer.status, 200, text)
      match(text, TELLS)
      ok(!/secret|hidden|169\.254|x-weir/.test(text), text)
      const [first, ...rest] = models.requests
      deepEqual(
        [first!.path, first!.body, first!.headers.authorization],
        [FIRST, { input: { prompt: 'Hi', system_prompt: SYSTEM, max_tokens: 9 } }, 'Bearer canary-of-replicate']
      )
      deepEqual([first!.headers.prefer, first!.headers['cancel-after']], ['wait=5', '600s'])
      const polled = waits ? [`/v1/predictions/${ID}`, `/v1/predictions/${ID}`] : []
      deepEqual(
        rest.map(({ path }) => path),
        polled
      )
      for (const { headers } of rest) equal(headers.authorization, 'Bearer canary-of-replicate')
    }
  })

  test(`${name}: streamed, made of the whole answer`, async (t) => {
    const { models, ask } = await replicate(t, () => [201, DONE])
    const streamed = name === 'gemini' ? body : { ...body, stream: true, ...(name === 'completions' ? USAGE : {}) }
    const answer = await ask(
      path.replace(':generate', ':streamGenerate').replace(/Content$/, 'Content?alt=sse'),
      streamed
    )
    match(answer.headers.get('content-type')!, /^text\/event-stream/)
    const text = await answer.text()
    match(text, TELLS)
    ok(parseEvents(text).length > 0)
    equal(models.requests[0]!.body.stream, undefined)
  })

  test(`${name}: a prediction that fails, and a refusal`, async (t) => {
    const failing = await replicate(t, () => [201, prediction('failed', { error: 'CUDA out of memory' })])
    const failed = await failing.ask(path, body)
    deepEqual([failed.status, /CUDA out of memory/.test(await failed.text())], [502, true])
    const refusing = await replicate(t, () => [
      422,
      { title: 'Input validation failed', detail: '- input: too hot', status: 422 }
    ])
    const refused = await refusing.ask(path, body)
    deepEqual([refused.status, /too hot/.test(await refused.text())], [422, true])
  })

  test(`${name}: tools are refused by their name`, async (t) => {
    const { models, ask } = await replicate(t, () => [201, DONE])
    const answer = await ask(path, { ...body, ...TOOLS[name]! })
    equal(answer.status, 400)
    match(await answer.text(), /tools/)
    equal(models.requests.length, 0)
  })
}

const USAGE = { stream_options: { include_usage: true } }
const FUNCTION = { name: 'f', description: 'd', parameters: { type: 'object' } }
const TOOLS: Readonly<Record<string, JsonObject>> = {
  completions: { tools: [{ type: 'function', function: FUNCTION }] },
  responses: { tools: [{ type: 'function', ...FUNCTION }] },
  messages: { tools: [{ name: 'f', input_schema: { type: 'object' } }] },
  gemini: { tools: [{ functionDeclarations: [FUNCTION] }] }
}

const [, CHAT, BODY] = REQUESTS[0]!

/** A client that leaves when `leaves` has settled. */
async function leaving(base: string, leaves: Promise<unknown>, more: object = {}): Promise<void> {
  const request = httpRequest(`${base}${CHAT}`, { method: 'POST', headers: { 'content-type': 'application/json' } })
  const closed = new Promise<void>((resolve) => request.once('close', resolve))
  request.on('error', () => {})
  request.end(JSON.stringify({ ...BODY, ...more }))
  await leaves
  request.destroy()
  await closed
}

test('a client that leaves while it is waited for: the prediction is cancelled', async (t) => {
  const { models, arrival, base } = await replicate(t, (path) => {
    if (path === FIRST) return [201, prediction('starting')]
    return path.endsWith('/cancel') ? [200, prediction('canceled')] : [200, prediction('processing')]
  })
  const cancelled = arrival('/cancel')
  await leaving(base, arrival(`/v1/predictions/${ID}`))
  await cancelled
  const last = models.requests.at(-1)!
  deepEqual([last.path, last.headers.authorization], [`/v1/predictions/${ID}/cancel`, 'Bearer canary-of-replicate'])
})

test('a client that leaves before the id is known: it is cancelled when it is', async (t) => {
  const gone = Promise.withResolvers<void>()
  const { models, arrival, base } = await replicate(t, (path) =>
    path === FIRST ? null : [200, prediction('canceled')]
  )
  const { instead } = models
  models.instead = (request, response) => {
    if (request.path === FIRST)
      void gone.promise.then(() => response.writeHead(201).end(JSON.stringify(prediction('starting'))))
    return instead!(request, response)
  }
  const cancelled = arrival('/cancel')
  await leaving(base, arrival('/predictions'))
  gone.resolve()
  await cancelled
  equal(models.requests.filter(({ path }) => path.endsWith('/cancel')).length, 1)
})

test('a client that leaves before the id is known: what is sent of it stays on the account until it is', async (t) => {
  const gone = Promise.withResolvers<void>()
  const { models, arrival, base } = await replicate(t, (path) =>
    path === FIRST ? null : [200, prediction('canceled')]
  )
  const account = accountOf(t, 10_000_000)
  const { instead } = models
  models.instead = (request, response) => {
    if (request.path === FIRST)
      void gone.promise.then(() => response.writeHead(201).end(JSON.stringify(prediction('starting'))))
    return instead!(request, response)
  }
  const cancelled = arrival('/cancel')
  const heldThen = arrival('/predictions').then(() => account.bytes)
  await leaving(base, heldThen, { messages: [{ role: 'user', content: 'x'.repeat(100_000) }] })
  const before = await heldThen
  ok(before > 100_000)
  while (account.bytes === before) await new Promise((resolve) => setImmediate(resolve))
  equal(account.bytes, JSON.stringify(models.requests[0]!.body).length)
  gone.resolve()
  await cancelled
  while (account.bytes > 0) await new Promise((resolve) => setImmediate(resolve))
})

test('a question about a prediction is answered whole, and about no other one', async (t) => {
  const { models, ask } = await replicate(t, (path) => {
    return [201, path === FIRST ? prediction('starting') : { ...DONE, id: 'other' }]
  })
  const conditions = { range: 'bytes=0-9', 'if-none-match': '*', 'if-modified-since': 'Tue, 24 Nov 2026 12:00:00 GMT' }
  const answer = await ask(CHAT, BODY, conditions)
  deepEqual([answer.status, /about another prediction/.test(await answer.text())], [502, true])
  deepEqual(
    models.requests
      .slice(0, 2)
      .map(({ path, headers }) => [path, ...Object.keys(conditions).map((name) => headers[name])]),
    [FIRST, `/v1/predictions/${ID}`].map((path) => [path, undefined, undefined, undefined])
  )
})

/** What a client of completions reads, event by event. */
const piecesOf = (text: string): (string | undefined)[] =>
  parseEvents(text).flatMap(({ data }) =>
    data === '[DONE]' ? [] : [JSON.parse(data).error?.message ?? JSON.parse(data).choices[0]?.delta.content]
  )

test('a stream tells what has been put out while it is', async (t) => {
  const states = [['Hel'], ['Hel', 'lo, '], ['Hel', 'lo, ']].map((output) => prediction('processing', { output }))
  const { models, ask } = await replicate(t, (path, nth) => {
    return path === FIRST ? [201, prediction('starting')] : [200, states[nth] ?? DONE]
  })
  const text = await (await ask(CHAT, { ...BODY, ...USAGE, stream: true })).text()
  deepEqual(
    piecesOf(text).filter((piece) => piece !== undefined && piece !== ''),
    ['Hel', 'lo, ', 'world']
  )
  match(text, /"prompt_tokens":12/)
  match(text, /\[DONE\]/)
  equal(models.requests[0]!.headers.prefer, undefined)
})

test('a stream whose prediction fails, or says something else in the end, ends with an error', async (t) => {
  for (const [end, why] of [
    [prediction('failed', { error: 'CUDA out of memory' }), /CUDA/],
    [prediction('succeeded', { output: ['Other'] }), /something else/]
  ] as const) {
    const { ask } = await replicate(t, (path, nth) => {
      if (path === FIRST) return [201, prediction('processing', { output: ['Hel'] })]
      return [200, nth === 0 ? prediction('processing', { output: ['Hel'] }) : end]
    })
    const text = await (await ask(CHAT, { ...BODY, stream: true })).text()
    match(text, why)
    deepEqual(piecesOf(text).slice(0, 2).includes('Hel'), true)
  }
})

test('a client that leaves a stream: the prediction is cancelled', async (t) => {
  const { arrival, base } = await replicate(t, (path) => {
    return path.endsWith('/cancel') ? [200, prediction('canceled')] : [201, prediction('processing', { output: ['H'] })]
  })
  const cancelled = arrival('/cancel')
  await leaving(base, arrival(`/v1/predictions/${ID}`), { stream: true })
  await cancelled
})

test('a route that does not wait as long: 504, and the prediction is cancelled', async (t) => {
  const models = await provider(t)
  const cancelled = Promise.withResolvers<void>()
  models.instead = ({ path }, response) => {
    if (path.endsWith('/cancel')) cancelled.resolve()
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(prediction('processing')))
    return true
  }
  const ai = { provider: { replicate: { model: MODEL }, host: '127.0.0.1', port: models.port } }
  const routes = [{ backends: [{ ai }], policies: { timeout: { backendRequestTimeout: '100ms' } } }]
  const { ask } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes }] }] })
  const answer = await ask(CHAT, BODY)
  await cancelled.promise
  equal(answer.status, 504)
})

test('another provider is asked after a failed prediction', async (t) => {
  const models = await provider(t)
  models.instead = ({ path }, response) => {
    if (!path.includes('/predictions')) return false
    response.writeHead(201).end(JSON.stringify(prediction('failed', { error: 'no' })))
    return true
  }
  const at = { host: '127.0.0.1', port: models.port }
  const groups = [
    { providers: [{ name: 'a', replicate: { model: MODEL }, ...at }] },
    { providers: [{ name: 'b', openai: { model: 'gpt-5' }, ...at }] }
  ]
  const { ask } = await gatewayOf(t, {
    binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai: { groups } }] }] }] }]
  })
  const answer = await ask(CHAT, BODY)
  equal(answer.status, 200)
  deepEqual(
    models.requests.map(({ path }) => path),
    [FIRST, '/v1/chat/completions']
  )
})

test('an answer that is no prediction, output that is no text, an id that is no part of a path', async (t) => {
  for (const [body, why] of [
    [{ a: 1 }, /no prediction/],
    [prediction('succeeded', { output: { x: 1 } }), /no text/],
    [prediction('starting', { id: '../secrets' }), /no id/]
  ] as const) {
    const { models, ask } = await replicate(t, (_, nth) => [201, nth === 0 ? body : DONE])
    const answer = await ask(CHAT, BODY)
    deepEqual([answer.status, models.requests.length], [502, 1])
    match(await answer.text(), why)
  }
})

test('questions that fail are asked again, a few times', async (t) => {
  const { ask } = await replicate(t, (path, nth) => {
    if (path === FIRST) return [201, prediction('starting')]
    return nth < 2 ? [503, {}] : [200, DONE]
  })
  equal((await jsonOf(await ask(CHAT, BODY))).choices[0].message.content, 'Hello, world')
})

test('names of models: versions and deployments have paths of their own, and others are refused', async (t) => {
  const { models, ask } = await replicate(t, () => [201, DONE])
  const version = 'a'.repeat(64)
  for (const model of [`acme/own:${version}`, 'deployments/acme/own']) {
    equal((await ask(CHAT, { ...BODY, model })).status, 200)
  }
  deepEqual(
    models.requests.map(({ path, body }) => [path, body.version]),
    [
      ['/v1/predictions', version],
      ['/v1/deployments/acme/own/predictions', undefined]
    ]
  )
  for (const model of ['llama', '../x', 'a/..', 'a/b/c', 'a/b:1', `deployments/a/b:${version}`, 'a/b?c=d', 'a/b#c']) {
    const answer = await ask(CHAT, { ...BODY, model })
    equal(answer.status, 400, model)
    match(await answer.text(), /owner\/name/)
  }
  equal(models.requests.length, 2)
})
