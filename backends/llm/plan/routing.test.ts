/** Virtual models: which of their models is asked, and who is asked after an error of one kind. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { answers, gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const CHAT = '/v1/chat/completions'
const ask = (model: string, content = 'Hi') => ({ model, messages: [{ role: 'user', content }] })

/** A gateway of models a, b and c, each with a provider of its own. */
async function models(t: TestContext, virtual: object, more: object = {}) {
  const all = await Promise.all([provider(t), provider(t), provider(t)])
  const list = ['a', 'b', 'c'].map((name, i) => {
    return {
      name,
      provider: 'openai',
      params: { baseUrl: `http://127.0.0.1:${all[i]!.port}/v1`, apiKey: 'k' },
      ...more
    }
  })
  const gateway = await gatewayOf(t, { llm: { port: 4000, models: list, virtualModels: [{ name: 'v', ...virtual }] } })
  const counts = () => all.map(({ requests }) => requests.length)
  return { ...gateway, all: all as [Models, Models, Models], counts }
}

const refuse = (models: Models, status: number, error: object) => answers(models, '/chat', () => ({ error }), status)

const TOO_LONG = {
  message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  type: 'invalid_request_error',
  code: 'context_length_exceeded'
}

test('a condition decides by the request; without one that is true the client is told', async (t) => {
  const targets = [
    { when: 'request.headers["x-tier"] == "gold"', model: 'a' },
    { when: 'request.headers["x-tier"] == "silver"', model: 'b' }
  ]
  const { ask: send, counts } = await models(t, { routing: { conditional: { targets } } })
  equal((await send(CHAT, ask('v'), { 'x-tier': 'gold' })).status, 200)
  equal((await send(CHAT, ask('v'), { 'x-tier': 'silver' })).status, 200)
  const none = await send(CHAT, ask('v'), { 'x-tier': 'tin' })
  equal(none.status, 400)
  match((await jsonOf(none)).error.message, /none of the conditions of this model is true/)
  deepEqual(counts(), [1, 1, 0])
})

test('the last target of conditions may have none: it gets the rest', async (t) => {
  const targets = [{ when: 'request.headers["x-tier"] == "gold"', model: 'a' }, { model: 'c' }]
  const { ask: send, counts } = await models(t, { routing: { conditional: { targets } } })
  equal((await send(CHAT, ask('v'))).status, 200)
  deepEqual(counts(), [0, 0, 1])
})

test('a canary gets its percent, one key always goes the same way, and its failures are not seen', async (t) => {
  const all = await models(t, {
    routing: { canary: { model: 'a', to: 'b', percent: 50, key: 'request.headers["x-user"]' } }
  })
  refuse(all.all[1], 500, { message: 'broken' })
  for (let user = 0; user < 20; user++) {
    for (let i = 0; i < 2; i++) equal((await all.ask(CHAT, ask('v'), { 'x-user': `u${user}` })).status, 200)
  }
  const [stable, canary] = all.counts()
  equal(stable, 40)
  // It rests after its first failure, and is asked once by then at least.
  equal(canary! > 0, true)
})

test('without its key a prompt stays with the provider that knows its beginning, through a conversation', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b' }, { model: 'c' }]
  const { ask: send, all } = await models(t, { routing: { consistentHash: { targets } } })
  for (let i = 0; i < 12; i++) {
    const first = { role: 'user', content: `question ${i}` }
    const turns = [first, { role: 'assistant', content: 'yes?' }, { role: 'user', content: 'go on' }]
    for (const messages of [[first], turns]) equal((await send(CHAT, { model: 'v', messages })).status, 200)
  }
  const prompts = all.map(({ requests }) => requests.map(({ body }) => body.messages[0].content as string))
  for (const seen of prompts) for (const prompt of seen) equal(seen.filter((other) => other === prompt).length, 2)
  equal(prompts.filter((seen) => seen.length > 0).length > 1, true)
})

test('a large request whose few words stand at its end goes by them', async (t) => {
  const targets = [{ model: 'a' }, { model: 'b' }]
  const { ask: send, counts } = await models(t, { routing: { consistentHash: { targets } } })
  const tools = [{ type: 'function', function: { name: 'f', description: 'x'.repeat(200_000), parameters: {} } }]
  const large = { model: 'v', tools, messages: [{ role: 'user', content: 'Hi' }] }
  for (let i = 0; i < 2; i++) equal((await send(CHAT, large)).status, 200)
  deepEqual(counts().sort(), [0, 0, 2])
})

test('a model has fallbacks of its own: in their order, with their names for it; it is one model of the list', async (t) => {
  const [a, b, c] = await Promise.all([provider(t), provider(t), provider(t)])
  const at = ({ port }: Models) => ({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'k' })
  const list = [
    { name: 'main', provider: 'openai', params: at(a), fallbacks: ['second', 'third'] },
    { name: 'second', provider: 'openai', params: { ...at(b), model: 'b-1' } },
    { name: 'third', provider: 'openai', params: at(c) }
  ]
  const { port, ask: send } = await gatewayOf(t, { llm: { port: 4000, models: list } })
  equal((await send(CHAT, ask('main'))).status, 200)
  deepEqual([a.requests.length, b.requests.length], [1, 0])
  refuse(a, 500, { message: 'broken' })
  equal((await send(CHAT, ask('main'))).status, 200)
  deepEqual([b.requests[0]?.body.model, c.requests.length], ['b-1', 0])
  refuse(b, 503, { message: 'busy' })
  equal((await send(CHAT, ask('main'))).status, 200)
  equal(c.requests[0]?.body.model, 'third')
  // The others have none.
  equal((await send(CHAT, ask('second'))).status, 503)
  equal(c.requests.length, 1)
  const { data } = await jsonOf(await fetch(`http://127.0.0.1:${port}/v1/models`))
  deepEqual(
    data.map(({ id }: { readonly id: string }) => id),
    ['main', 'second', 'third']
  )
})

test('a provider that answers that a request is too long: the larger model of the list is asked, and no other', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }, { model: 'b', priority: 1 }] } }
  const all = await models(t, { routing, fallbacks: [{ on: ['context_window'], models: ['c'] }] })
  refuse(all.all[0], 400, TOO_LONG)
  equal((await all.ask(CHAT, ask('v'))).status, 200)
  deepEqual(all.counts(), [1, 0, 1])
  // An error of any other kind goes where it went before.
  refuse(all.all[0], 500, { message: 'broken' })
  equal((await all.ask(CHAT, ask('v'))).status, 200)
  deepEqual(all.counts(), [2, 1, 1])
})

test('where the list refuses it too, the client gets the answer of its last one', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }] } }
  const all = await models(t, { routing, fallbacks: [{ on: ['context_window'], models: ['c'] }] })
  for (const one of all.all) refuse(one, 400, TOO_LONG)
  const answer = await all.ask(CHAT, ask('v'))
  equal(answer.status, 400)
  equal((await jsonOf(answer)).error.code, 'context_length_exceeded')
  deepEqual(all.counts(), [1, 0, 1])
})

test('a request that is longer than the model can be is not sent there', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }] } }
  const list = [{ on: ['context_window'], models: ['big'] }]
  const [small, big] = await Promise.all([provider(t), provider(t)])
  const at = ({ port }: Models) => ({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'k' })
  const { ask: send } = await gatewayOf(t, {
    llm: {
      port: 4000,
      models: [
        { name: 'a', provider: 'openai', params: at(small), contextTokens: 100 },
        { name: 'big', provider: 'openai', params: at(big) }
      ],
      virtualModels: [{ name: 'v', routing, fallbacks: list }]
    }
  })
  equal((await send(CHAT, ask('v', 'x'.repeat(1000)))).status, 200)
  equal((await send(CHAT, ask('v'))).status, 200)
  deepEqual([small.requests.length, big.requests.length], [1, 1])
})

test('a picture is not taken for text, and the answer that is asked for takes its place in the context', async (t) => {
  const [small, big] = await Promise.all([provider(t), provider(t)])
  const at = ({ port }: Models) => ({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'k' })
  const { ask: send } = await gatewayOf(t, {
    llm: {
      port: 4000,
      models: [
        { name: 'a', provider: 'openai', params: at(small), contextTokens: 1000 },
        { name: 'big', provider: 'openai', params: at(big) }
      ],
      virtualModels: [
        {
          name: 'v',
          routing: { failover: { targets: [{ model: 'a' }] } },
          fallbacks: [{ on: ['context_window'], models: ['big'] }]
        }
      ]
    }
  })
  const url = `data:image/png;base64,${'iVBORw0K'.repeat(4000)}`
  const picture = { model: 'v', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }
  equal((await send(CHAT, picture)).status, 200)
  deepEqual([small.requests.length, big.requests.length], [1, 0])
  equal((await send(CHAT, { ...ask('v'), max_tokens: 990 })).status, 200)
  deepEqual([small.requests.length, big.requests.length], [1, 1])
})

/** Answers of each format that a filter has stopped before there was any, whole and streamed. */
const sse = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const FILTERED = {
  openai: [
    {
      id: 'c',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'content_filter' }]
    },
    `${sse(
      { id: 'c', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] },
      { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'content_filter' }] }
    )}data: [DONE]\n\n`
  ],
  anthropic: [
    {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: 'refusal',
      usage: { input_tokens: 9, output_tokens: 1 }
    },
    sse(
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 9, output_tokens: 1 }
        }
      },
      { type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' }
    )
  ],
  gemini: [
    {
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      modelVersion: 'm'
    },
    sse({
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      modelVersion: 'm'
    })
  ]
} as const

for (const [kind, [whole, streamed]] of Object.entries(FILTERED)) {
  for (const isStreamed of [false, true]) {
    test(`a filter that has stopped an answer before its content: ${kind}, ${isStreamed ? 'streamed' : 'whole'}`, async (t) => {
      const [filtering, other] = await Promise.all([provider(t), provider(t)])
      filtering.instead = (_, response) => {
        response.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' })
        response.end(isStreamed ? streamed : JSON.stringify(whole))
        return true
      }
      const at = ({ port }: Models) => ({ host: '127.0.0.1', port, apiKey: 'k' })
      const routing = { failover: { targets: [{ model: 'a' }] } }
      const models = [
        { name: 'a', provider: kind, params: at(filtering) },
        { name: 'b', provider: 'openai', params: at(other) }
      ]
      for (const fallbacks of [undefined, [{ on: ['content_policy'], models: ['b'] }]]) {
        const virtualModels = [{ name: 'v', routing, ...(fallbacks === undefined ? {} : { fallbacks }) }]
        const { ask: send } = await gatewayOf(t, { llm: { port: 4000, models, virtualModels } })
        const answer = await send(CHAT, { ...ask('v'), stream: isStreamed })
        equal(answer.status, 200)
        match(await answer.text(), fallbacks === undefined ? /"content_filter"/ : /"stop"/)
      }
      deepEqual([filtering.requests.length, other.requests.length], [2, 1])
    })
  }
}

test('a filter that stops a stream behind some of its content has the last word', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }] } }
  const all = await models(t, { routing, fallbacks: [{ on: ['content_policy'], models: ['c'] }] })
  const chunk = (delta: object, finish: string | null) => ({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }]
  })
  all.all[0].instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${sse(chunk({ content: 'Well' }, null), chunk({}, 'content_filter'))}data: [DONE]\n\n`)
    return true
  }
  match(await (await all.ask(CHAT, { ...ask('v'), stream: true })).text(), /Well[\s\S]*content_filter/)
  deepEqual(all.counts(), [1, 0, 0])
})

for (const [kind, status, error] of [
  ['auth', 401, { message: 'Incorrect API key provided', code: 'invalid_api_key' }],
  ['content_policy', 400, { message: 'The response was filtered', code: 'content_filter' }],
  ['rate_limit', 429, { message: 'Rate limit reached' }],
  ['overloaded', 503, { message: 'Overloaded' }],
  ['timeout', 504, { message: 'timed out' }],
  ['server_error', 500, { message: 'oops' }]
] as const) {
  test(`${kind} goes to the list for it, past the targets that would be next`, async (t) => {
    const routing = { failover: { targets: [{ model: 'a' }, { model: 'b', priority: 1 }] } }
    const all = await models(t, { routing, fallbacks: [{ on: [kind], models: ['c'] }] })
    refuse(all.all[0], status, error)
    equal((await all.ask(CHAT, ask('v'))).status, 200)
    deepEqual(all.counts(), [1, 0, 1])
  })
}

test('an error that no list is for, of a request that is wrong, is the answer', async (t) => {
  const routing = { failover: { targets: [{ model: 'a' }, { model: 'b', priority: 1 }] } }
  const all = await models(t, { routing, fallbacks: [{ on: ['context_window', 'content_policy'], models: ['c'] }] })
  refuse(all.all[0], 400, { message: 'temperature: must be a number', param: 'temperature' })
  equal((await all.ask(CHAT, ask('v'))).status, 400)
  deepEqual(all.counts(), [1, 0, 0])
})

for (const [whose, name, rows] of [
  // Of the catalogue: llama-3.1-8b-instant of Groq costs a tenth of llama-3.3-70b-versatile.
  ['of a provider that speaks another format', 'groq', [[], []]],
  ['of the backend itself', 'openai', [[{ input: 2, output: 2 }], [{ input: 1, output: 9 }]]]
] as const) {
  test(`cost: prices ${whose} are compared`, async (t) => {
    const all = await Promise.all([provider(t), provider(t)])
    const models = ['llama-3.1-8b-instant', 'llama-3.3-70b-versatile'].map((model, i) => {
      const params = {
        baseUrl: `http://127.0.0.1:${all[i]!.port}/v1`,
        apiKey: 'k',
        ...(name === 'groq' ? { dialect: 'groq' } : {})
      }
      return {
        name: model,
        provider: name === 'groq' ? { custom: {} } : name,
        params,
        ...(rows[i]!.length > 0 ? { prices: rows[i] } : {})
      }
    })
    const targets = models.map(({ name: model }) => ({ model })).reverse()
    const virtualModels = [{ name: 'v', routing: { cost: { targets } } }]
    const { ask: send } = await gatewayOf(t, { llm: { port: 4000, models, virtualModels } })
    for (let i = 0; i < 12; i++) equal((await send(CHAT, ask('v'))).status, 200)
    deepEqual(
      all.map(({ requests }) => requests.length),
      [12, 0]
    )
  })
}

test('the example of the documentation: each of its virtual models is answered', async (t) => {
  const models = await provider(t)
  const text = readFileSync(new URL('../../../docs/examples/llm-routing.yaml', import.meta.url), 'utf8')
    .replace(/http:\/\/gpu-[12]\.internal:8000/g, `http://127.0.0.1:${models.port}`)
    .replace(/params: \{ apiKey/g, `params: { baseUrl: "http://127.0.0.1:${models.port}", apiKey`)
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  for (const model of ['cheap', 'fast', 'idle', 'cached', 'tiered', 'next']) {
    const body = JSON.stringify(ask(model))
    const headers = { 'content-type': 'application/json' }
    equal(
      (await fetch(`http://127.0.0.1:${gateway.port}${CHAT}`, { method: 'POST', headers, body })).status,
      200,
      model
    )
  }
  // And a copy, once in forty times.
  equal(models.requests.length >= 6, true)
})

test('providers of a group, by the same ways', async (t) => {
  const [a, b] = await Promise.all([provider(t), provider(t)])
  const at = (name: string, { port }: Models) => ({ name, openai: {}, host: '127.0.0.1', port })
  const routing = { consistentHash: { key: 'request.headers["x-user"]' } }
  const ai = { groups: [{ providers: [at('a', a), at('b', b)] }], routing }
  const { ask: send } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
  for (let i = 0; i < 4; i++) equal((await send(CHAT, ask('m'), { 'x-user': 'one' })).status, 200)
  deepEqual([a.requests.length, b.requests.length].sort(), [0, 4])
})
