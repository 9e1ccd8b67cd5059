/** Defaults, overrides, enrichment, aliases and cache marks, as providers see them. */

import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Body } from '#backends/demo/models/wire.ts'
import { backends } from '#backends/index.ts'
import { at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

const CHAT = '/v1/chat/completions'
const HI = [{ role: 'user', content: 'Hi' }]
const ROUTES = {
  '/chat/completions': 'Completions',
  '/messages': 'Messages',
  '/responses': 'Responses',
  '*': 'GenerateContent'
}
const PROMPT = {
  prepend: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Before.' }
  ],
  append: [
    { role: 'user', content: 'After.' },
    { role: 'developer', content: 'No poems.' }
  ]
}

test('overrides replace, defaults fill in, and all else stays, unknown fields too', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, {
    provider: at('openai', models),
    defaults: [
      { field: 'temperature', value: 0.5 },
      { field: 'top_p', value: 0.9 },
      { field: 'seed', value: 7 }
    ],
    overrides: [
      { field: 'user', value: 'gateway' },
      { field: 'metadata', value: { team: ['a', null] } },
      { field: '__proto__', value: { polluted: true } }
    ]
  })
  const body = { model: 'm1', messages: HI, temperature: 0, top_p: null, user: 'mallory', vllm_thing: { a: [1] } }
  equal((await ask(CHAT, body)).status, 200)
  const seen = models.requests[0]!.body
  const { temperature, top_p, seed, user, metadata, vllm_thing, messages, model } = seen
  deepEqual([temperature, top_p, seed, user, metadata], [0, 0.9, 7, 'gateway', { team: ['a', null] }])
  deepEqual([vllm_thing, messages, model], [{ a: [1] }, HI, 'm1'])
  deepEqual([Object.hasOwn(seen, '__proto__'), ({} as Body).polluted], [true, undefined])
})

test('no alias applies to a model that an override sets; a default is for requests without a model', async (t) => {
  const models = await provider(t)
  const ai = { provider: at('openai', models) }
  const forced = await gateway(t, { ...ai, overrides: [{ field: 'model', value: 'm9' }], modelAliases: { m9: 'no' } })
  await forced.ask(CHAT, { model: 'm1', messages: HI })
  await forced.ask(CHAT, { messages: HI })
  const filled = await gateway(t, {
    ...ai,
    defaults: [{ field: 'model', value: 'usual' }],
    modelAliases: { usual: 'm5' }
  })
  await filled.ask(CHAT, { messages: HI })
  await filled.ask(CHAT, { model: 'm1', messages: HI })
  deepEqual(
    models.requests.map(({ body }) => body.model),
    ['m9', 'm9', 'm5', 'm1']
  )
  const { ask } = await gateway(t, ai)
  const refused = await ask(CHAT, { messages: HI })
  deepEqual([refused.status, (await jsonOf(refused)).error.message], [400, 'model: is required, and must be a string'])
})

test('the client gets the streaming mode that an override sets', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, {
    provider: at('anthropic', models),
    overrides: [{ field: 'stream', value: false }],
    defaults: [{ field: 'max_tokens', value: 11 }]
  })
  const answer = await ask(CHAT, { model: 'm1', messages: HI, stream: true })
  match(answer.headers.get('content-type') ?? '', /json/)
  equal((await jsonOf(answer)).choices[0].message.content, 'Hello, world')
  deepEqual([models.requests[0]!.body.stream ?? false, models.requests[0]!.body.max_tokens], [false, 11])
})

test('messages go around those of the client in every format, native and translated', async (t) => {
  const models = await provider(t)
  const system = (body: Body): string[] => (body.system ?? []).map(({ text }: Body) => text)
  const turns = (list: Body[]): Body[] => list.map(({ role, content, parts }) => [role, content ?? parts[0].text])
  const native = [
    ['user', 'Before.'],
    ['user', 'Hi'],
    ['user', 'After.']
  ]
  const seen = async (kind: string, drive: (base: string) => Promise<unknown>): Promise<Body> => {
    const { base } = await gateway(t, { provider: at(kind, models), prompt: PROMPT, routes: ROUTES })
    await drive(base)
    return models.requests.at(-1)!.body
  }
  const openai = (base: string) => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const ask = { model: 'm1', messages: [{ role: 'user' as const, content: 'Hi' }] }

  const chat = await seen('openai', (base) => openai(base).chat.completions.create(ask))
  deepEqual(turns(chat.messages), [['system', 'Be brief.'], ...native, ['developer', 'No poems.']])

  const claude = await seen('anthropic', (base) =>
    new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 }).messages.create({
      ...ask,
      max_tokens: 5,
      system: 'Own.'
    })
  )
  deepEqual([system(claude), turns(claude.messages)], [['Be brief.', 'Own.', 'No poems.'], native])

  const gemini = await seen('gemini', (base) =>
    new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base } }).models.generateContent({
      model: 'm1',
      contents: 'Hi',
      config: { systemInstruction: 'Own.' }
    })
  )
  deepEqual(
    gemini.systemInstruction.parts.map(({ text }: Body) => text),
    ['Be brief.', 'Own.', 'No poems.']
  )
  deepEqual(turns(gemini.contents), native)

  const translated = await seen('anthropic', (base) => openai(base).responses.create({ model: 'm1', input: 'Hi' }))
  deepEqual(system(translated), ['Be brief.', 'No poems.'])
  const messages = JSON.stringify(translated.messages)
  match(messages, /Before\..*Hi.*After\./)
})

test('a provider has settings of its own, each instead of that of the backend', async (t) => {
  const models = await provider(t)
  const own = { policies: { ai: { defaults: [{ field: 'seed', value: 2 }], modelAliases: { fast: 'own' } } } }
  models.instead = ({ body }, response) => {
    if (body.model !== 'backend') return false
    response.writeHead(503).end('{}')
    return true
  }
  const { ask } = await gateway(t, {
    groups: [
      { providers: [at('openai', models, { name: 'a' })] },
      { providers: [at('openai', models, { name: 'b', ...own })] }
    ],
    defaults: [{ field: 'seed', value: 1 }],
    overrides: [{ field: 'user', value: 'u' }],
    modelAliases: { 'f*': 'backend' }
  })
  equal((await ask(CHAT, { model: 'fast', messages: HI })).status, 200)
  deepEqual(
    models.requests.map(({ body: { model, seed, user } }) => [model, seed, user]),
    [
      ['backend', 1, 'u'],
      ['own', 2, 'u']
    ]
  )
})

test('the bytes of the client go to a provider that is asked after one that needed others', async (t) => {
  const [first, second] = [await provider(t), await provider(t)]
  first.instead = (_, response) => {
    response.writeHead(529).end('{"type":"error","error":{"type":"overloaded_error","message":"x"}}')
    return true
  }
  const { ask } = await gateway(t, {
    groups: [
      { providers: [at('anthropic', first, { name: 'a' })] },
      { providers: [at('openai', second, { name: 'b' })] }
    ]
  })
  const body = { model: 'm1', messages: HI, odd: { x: 1 }, max_tokens: 3 }
  equal((await ask(CHAT, body)).status, 400, 'odd is refused by the first')
  const plain = { model: 'm1', messages: [{ role: 'system', content: 'S' }, ...HI], max_tokens: 3 }
  equal((await ask(CHAT, plain)).status, 200)
  deepEqual(second.requests.at(-1)!.body, plain)
})

test('aliases may be patterns: the exact name first, then the longest', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, {
    provider: at('openai', models),
    modelAliases: { 'gpt-4': 'exact', 'gpt-*': 'any gpt', 'gpt-4*': 'any 4', '*-mini': 'small', '*': 'rest' }
  })
  for (const model of ['gpt-4', 'gpt-4o', 'gpt-5', 'o3-mini', 'claude', '__proto__', 'gpt-3-mini']) {
    await ask(CHAT, { model, messages: HI })
  }
  const sent = models.requests.map(({ body }) => body.model)
  deepEqual(sent, ['exact', 'any 4', 'any gpt', 'small', 'rest', 'rest', 'small'])
})

test('a body that breaks its format is refused with the path', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, { provider: at('openai', models), prompt: PROMPT, routes: ROUTES })
  const cases: [string, object, string][] = [
    [CHAT, { model: 'm', messages: 'x' }, 'messages: must be a list'],
    ['/v1/messages', { model: 'm', max_tokens: 1, messages: [], system: 7 }, 'system: must be a string or a list'],
    ['/v1/responses', { model: 'm', input: 7 }, 'input: must be a list'],
    ['/v1beta/models/m:generateContent', { contents: {} }, 'contents: must be a list'],
    ['/v1beta/models/m:generateContent', { systemInstruction: 'x' }, 'systemInstruction: must be an object'],
    [
      '/v1beta/models/m:generateContent',
      { system_instruction: { parts: 1 } },
      'system_instruction.parts: must be a list'
    ]
  ]
  for (const [path, body, message] of cases) {
    const refused = await ask(path, body)
    deepEqual([refused.status, (await jsonOf(refused)).error.message], [400, message])
  }
  equal(models.requests.length, 0)
})

test('mistakes in these settings are found when the file is read', () => {
  const errors = (ai: object): string[] => {
    const file = { binds: [{ port: 1, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] }
    const result = loadConfig(JSON.stringify(file), {
      file: 'f',
      env: {},
      policies,
      backends,
      folder: '.',
      processors: 1
    })
    return result.ok ? [] : result.errors.map(({ path, message }) => `${path.replace(/^.*\.ai\./, '')}: ${message}`)
  }
  const ai = { provider: { openai: {} } }
  const field = (field: unknown, value: unknown) => errors({ ...ai, overrides: [{ field, value }] })
  deepEqual(field('model', 7), ['overrides[0].value: must be a string for model'])
  deepEqual(field('stream', 'yes'), ['overrides[0].value: must be a boolean for stream'])
  deepEqual(errors({ ...ai, defaults: [] }), ['defaults: must have 1 to 64 entries'])
  deepEqual(errors({ ...ai, prompt: {} }), ['prompt: must have at least one of prepend, append'])
  deepEqual(errors({ ...ai, prompt: { append: [{ role: 'tool', content: 'x' }] } }), [
    'prompt.append[0].role: must be one of system, developer, user, assistant'
  ])
  deepEqual(errors({ ...ai, promptCaching: { minTokens: -1 } }), [
    'promptCaching.minTokens: must be a whole number from 0 to 10000000'
  ])
  deepEqual(errors({ ...ai, modelAliases: { 'a*b': 'c' } }), [
    'modelAliases["a*b"]: may have one star, at its beginning or end'
  ])
})
