/** Refusals on routes to models, as the vendors' own clients raise them; and where these show their keys. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI, { AzureOpenAI } from 'openai'
import { answers, at, gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'

const ROUTES = {
  '/chat/completions': 'Completions',
  '/messages': 'Messages',
  '/responses': 'Responses',
  ':generateContent': 'GenerateContent',
  ':streamGenerateContent': 'GenerateContent'
}
const messages = [{ role: 'user' as const, content: 'Hi' }]

async function guarded(t: TestContext, policies: object, ai: object = { routes: ROUTES }) {
  const models = await provider(t)
  const route = { policies, backends: [{ ai: { provider: at('openai', models), ...ai } }] }
  const started = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [route] }] }] })
  return { models, ...started }
}

/** The same question by each client, with `key`. */
const clients = (base: string, apiKey: string) => {
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey, maxRetries: 0 })
  const azure = new AzureOpenAI({ endpoint: base, deployment: 'd', apiVersion: '2024-10-21', apiKey, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: base, apiKey, maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: base } })
  return {
    openai: () => openai.chat.completions.create({ model: 'm', messages }),
    responses: () => openai.responses.create({ model: 'm', input: 'Hi' }),
    azure: () => azure.chat.completions.create({ model: 'm', messages }),
    anthropic: () => anthropic.messages.create({ model: 'm', max_tokens: 9, messages }),
    google: () => google.models.generateContent({ model: 'm', contents: 'Hi' })
  }
}

const KEYS = { apiKeyAuthentication: { keys: [{ key: 'gateway-key-1' }] } }

describe('keys', () => {
  test("each vendor's client shows the gateway's key where it always does; no provider sees it", async (t) => {
    const { base, models } = await guarded(t, KEYS)
    for (const ask of Object.values(clients(base, 'gateway-key-1'))) await ask()
    equal(models.requests.length, 5)
    for (const { path, headers } of models.requests) ok(!JSON.stringify([path, headers]).includes('gateway-key-1'))
  })

  test('?key= is taken too, and is not passed on', async (t) => {
    const { ask, models } = await guarded(t, KEYS)
    const body = { contents: [{ parts: [{ text: 'Hi' }] }] }
    equal((await ask('/v1beta/models/m:generateContent?key=gateway-key-1', body)).status, 200)
    equal((await ask('/v1beta/models/m:generateContent?key=gateway-key-2', body)).status, 401)
    ok(!JSON.stringify(models.requests.map(({ path, headers }) => [path, headers])).includes('gateway-key'))
  })

  test('a key that is not the gateway’s is refused; in mode Optional it may be the provider’s', async (t) => {
    const strict = await guarded(t, KEYS)
    const body = { model: 'm', messages }
    equal((await strict.ask('/v1/chat/completions', body, { 'x-api-key': 'wrong' })).status, 401)
    const optional = await guarded(t, { apiKeyAuthentication: { ...KEYS.apiKeyAuthentication, mode: 'Optional' } })
    equal((await optional.ask('/v1/chat/completions', body, { 'x-api-key': 'wrong' })).status, 200)
    equal((await optional.ask('/v1/chat/completions', body, { authorization: 'Bearer wrong' })).status, 401)
  })

  test('a place that is configured is the only one', async (t) => {
    const { ask } = await guarded(t, {
      apiKeyAuthentication: { ...KEYS.apiKeyAuthentication, location: { header: { name: 'x-team' } } }
    })
    const body = { model: 'm', messages }
    equal((await ask('/v1/chat/completions', body, { 'x-api-key': 'gateway-key-1' })).status, 401)
    equal((await ask('/v1/chat/completions', body, { 'x-team': 'gateway-key-1' })).status, 200)
  })

  test('no other route looks there', async (t) => {
    const route = { policies: { ...KEYS, directResponse: { status: 200 } } }
    const { ask } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [route] }] }] })
    equal((await ask('/', undefined, { 'x-api-key': 'gateway-key-1' })).status, 401)
  })
})

const CLASSES = {
  401: [OpenAI.AuthenticationError, Anthropic.AuthenticationError],
  403: [OpenAI.PermissionDeniedError, Anthropic.PermissionDeniedError],
  429: [OpenAI.RateLimitError, Anthropic.RateLimitError]
} as const

const REFUSALS: readonly (readonly [status: keyof typeof CLASSES, policies: object])[] = [
  [401, KEYS],
  [403, { authorization: { rules: [{ deny: 'true' }] } }],
  [429, { localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h' }] }]
]

for (const [status, policies] of REFUSALS) {
  test(`${status} is the client's own class of errors, with an id`, async (t) => {
    const { base } = await guarded(t, policies)
    const { openai, responses, anthropic, google } = clients(base, 'wrong')
    if (status === 429) await openai()
    const [ofOpenai, ofAnthropic] = CLASSES[status]
    for (const ask of [openai, responses]) {
      await rejects(ask(), (error) => {
        ok(error instanceof ofOpenai, String(error))
        match(error.requestID ?? '', /^req_/)
        ok(error.message.length > 10)
        if (status === 429) match(error.headers.get('retry-after') ?? '', /^\d+$/)
        return true
      })
    }
    await rejects(anthropic(), (error) => {
      ok(error instanceof ofAnthropic, String(error))
      match(error.requestID ?? '', /^req_/)
      return true
    })
    await rejects(google(), (error) => {
      ok(error instanceof ApiError && error.status === status, String(error))
      equal(JSON.parse(error.message).error.code, status)
      return true
    })
  })
}

test('the id of a refusal is the client’s own when it gives one, and bodies that are configured stay', async (t) => {
  const { ask } = await guarded(t, KEYS)
  const body = { model: 'm', max_tokens: 9, messages }
  const refused = await ask('/v1/messages', body, { 'x-request-id': 'mine-1' })
  deepEqual([refused.headers.get('request-id'), (await jsonOf(refused)).request_id], ['mine-1', 'mine-1'])
  const odd = await ask('/v1/messages', body, { 'x-request-id': 'a b<' })
  match(odd.headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/)
  const own = await guarded(t, { directResponse: { status: 403, body: 'closed' } })
  equal(await (await own.ask('/v1/messages', body)).text(), 'closed')
})

test('where no route fits, paths of models are answered as such, others as text', async (t) => {
  const models = await provider(t)
  const route = {
    matches: [{ path: { exact: '/v1/chat/completions' } }],
    backends: [{ ai: { provider: at('openai', models), routes: ROUTES } }]
  }
  const { ask } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [route] }] }] })
  const missing = await ask('/v1/messages', {})
  deepEqual([missing.status, (await jsonOf(missing)).error.type], [404, 'not_found_error'])
  const other = await ask('/index.html', undefined)
  match(other.headers.get('content-type') ?? '', /text\/plain/)
})

describe('the id of a refusal stands in those that come late, too', () => {
  const own = { max_tokens: 9, messages }
  const CASES: readonly (readonly [what: string, path: string, body: unknown, status: number])[] = [
    ['a model that is not there', '/v1/chat/completions', { ...own, model: 'none' }, 404],
    ['the same of Anthropic', '/v1/messages', { ...own, model: 'none' }, 404],
    ['a request without a model', '/v1/messages', own, 400],
    ['a body that is no object', '/v1/messages', [], 400],
    ['a field that cannot be carried', '/v1/chat/completions', { ...own, model: 'm', logprobs: true }, 400],
    ['one of the list that is not there', '/v1/models/none', undefined, 404],
    ['an answer that cannot be read', '/v1/chat/completions', { ...own, model: 'broken' }, 502],
    ['another API', '/v1/images/generations', { model: 'none', prompt: 'Hi' }, 404],
    ['a path of none', '/v1/nothing', undefined, 404]
  ]
  for (const [what, path, body, status] of CASES) {
    test(what, async (t) => {
      const models = await provider(t)
      answers(models, '/', () => [])
      const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k' }
      const named = ['m', 'broken'].map((name) => ({ name, provider: 'anthropic', params }))
      const { ask } = await gatewayOf(t, { llm: { port: 4000, models: named } })
      const refused = await ask(path, body, { 'x-request-id': 'mine-1' })
      const isAnthropic = path === '/v1/messages'
      const error = await jsonOf(refused)
      equal(refused.status, status, JSON.stringify(error))
      equal(refused.headers.get(isAnthropic ? 'request-id' : 'x-request-id'), 'mine-1')
      if (isAnthropic) equal(error.request_id, 'mine-1')
    })
  }
})

describe('other APIs than chat', () => {
  const PATHS = [
    ...['/v1/images/generations', '/v1/audio/speech', '/v1/audio/transcriptions', '/v1/completions'],
    ...['/v1/moderations', '/v1/batches', '/v1/files', '/v1/files/file-1/content', '/v1/fine_tuning/jobs']
  ]
  const body = { model: 'm', messages, prompt: 'Hi' }

  test('are not answered as chat: 404, with what to do, and no provider is asked', async (t) => {
    for (const routes of [undefined, { '*': 'Completions' }]) {
      const { ask, models, base } = await guarded(t, {}, routes === undefined ? {} : { routes })
      for (const path of PATHS) {
        const refused = await ask(path, body)
        deepEqual([refused.status, (await jsonOf(refused)).error.type], [404, 'not_found_error'], path)
      }
      const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
      await rejects(client.images.generate({ model: 'm', prompt: 'a cat' }), (error) => {
        ok(error instanceof OpenAI.NotFoundError)
        match(error.message, /routes/)
        return true
      })
      equal(models.requests.length, 0)
      equal((await ask('/anywhere', body)).status, 200)
    }
  })

  test('are served as routes name them', async (t) => {
    const { ask, models } = await guarded(
      t,
      {},
      { routes: { '/v1/moderations': 'Passthrough', '/completions': 'Completions' } }
    )
    await ask('/v1/moderations', { input: 'Hi' })
    equal(models.requests[0]?.path, '/v1/moderations')
    equal((await ask('/v1/completions', body)).status, 200)
    equal((await ask('/v1/files', undefined)).status, 404)
  })
})
