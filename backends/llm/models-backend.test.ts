/** The file's `llm`: many models behind one address, driven by the vendors' own clients. */

import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { backends } from '#backends/index.ts'
import type { ModelsBackend } from '#backends/llm/config/snapshot.ts'
import { answers, gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { redact } from '#engine/admin/redact.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Models } from '#engine/testing/models.ts'
import { policies } from '#policies/index.ts'

const HI = [{ role: 'user' as const, content: 'Hi' }]
const CHAT = '/v1/chat/completions'
const at = ({ port }: Models, prefix = '/v1') => ({ baseUrl: `http://127.0.0.1:${port}${prefix}`, apiKey: 'sk-canary' })

/** As a file has it: the port is chosen by the system. */
const llm = (t: TestContext, config: object) => gatewayOf(t, { llm: { port: 4000, ...config } })

test('the example of the documentation, with the SDKs of three vendors', async (t) => {
  const [gpt, claude, gemini, local] = await Promise.all([provider(t), provider(t), provider(t), provider(t)])
  const address = ({ port }: Models) => `params: { baseUrl: "http://127.0.0.1:${port}",`
  const text = readFileSync(new URL('../../docs/examples/llm-shortcut.yaml', import.meta.url), 'utf8')
    .replace('provider: openai, params: {', `provider: openai, ${address(gpt)}`)
    .replace('provider: anthropic, params: {', `provider: anthropic, ${address(claude)}`)
    .replace('provider: gemini, params: {', `provider: gemini, ${address(gemini)}`)
    .replace('provider: ollama, params: {', `provider: ollama, ${address(local)}`)
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  const base = `http://127.0.0.1:${gateway.port}`
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'of-the-caller', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'of-the-caller', maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: 'of-the-caller', httpOptions: { baseUrl: base } })
  const last = ({ requests }: Models) => {
    const { path, body } = requests.at(-1)!
    return [path, body.model]
  }
  for (const model of ['gpt-5', 'claude-opus-4-5', 'gemini-2.5-flash']) {
    const chat = await openai.chat.completions.create({ model, messages: HI })
    equal(chat.choices[0]?.message.content, 'Hello, world')
    const streamed = await openai.chat.completions.stream({ model, messages: HI }).finalChatCompletion()
    equal(streamed.choices[0]?.message.content, 'Hello, world')
    const message = await anthropic.messages.create({ model, messages: HI, max_tokens: 5 })
    ok(message.content[0]?.type === 'text' && message.content[0].text === 'Hello, world')
    equal((await google.models.generateContent({ model, contents: 'Hi' })).text, 'Hello, world')
  }
  deepEqual(
    [gpt, claude, gemini].map(({ requests }) => requests.length),
    [4, 4, 4]
  )
  equal(last(gpt)[1], 'gpt-5')
  equal(last(gemini)[0], '/v1beta/models/gemini-2.5-flash:generateContent')
  await openai.chat.completions.create({ model: 'best', messages: HI })
  deepEqual(last(claude), ['/v1/messages', 'claude-opus-4-5'])
  await openai.chat.completions.create({ model: 'local', messages: HI })
  deepEqual([last(local), local.requests.at(-1)!.body.temperature], [[CHAT, 'llama3.2'], 0])
  local.instead = (_, response) => {
    response.writeHead(503).end('{}')
    return true
  }
  const steady = await openai.chat.completions.create({ model: 'steady', messages: HI })
  equal(steady.choices[0]?.message.content, 'Hello, world')
  deepEqual([last(local)[1], last(gpt)[1]], ['llama3.2', 'gpt-5-mini'])
  const listed = (await openai.models.list()).data.map(({ id }) => id)
  deepEqual(listed, ['fast', 'best', 'local', 'steady'])
  await rejects(
    openai.chat.completions.create({ model: 'mistral', messages: HI }),
    (error: InstanceType<typeof OpenAI.APIError>) => {
      deepEqual([error.status, error.code, error.param], [404, 'model_not_found', 'model'])
      return true
    }
  )
  equal(
    JSON.stringify([gpt, claude, gemini].map(({ requests }) => requests.map(({ headers }) => headers))).includes(
      'of-the-caller'
    ),
    false
  )
})

test('models share a provider, its address and its settings, and have their own', async (t) => {
  const models = await provider(t)
  answers(models, '/serving', () => ({ id: 'x', object: 'chat.completion', choices: [] }))
  const { ask } = await llm(t, {
    providers: [
      {
        name: 'farm',
        provider: { custom: { formats: ['completions'] } },
        params: at(models, '/serving/v2'),
        defaults: { defaults: { seed: 1, top_p: 0.5 }, overrides: { user: 'u' } }
      }
    ],
    models: [
      { name: 'a', provider: { reference: 'farm' } },
      { name: 'b', provider: { reference: 'farm' }, params: { model: 'bb' }, defaults: { seed: 2 } },
      {
        name: 'c',
        provider: { reference: 'farm' },
        overrides: { model: 'cc' },
        prompt: { prepend: [{ role: 'system', content: 'S' }] }
      }
    ]
  })
  for (const model of ['a', 'b', 'c']) equal((await ask(CHAT, { model, messages: HI })).status, 200)
  deepEqual(
    models.requests.map(({ path, body: { model, seed, top_p, user, messages } }) => [
      path,
      model,
      seed,
      top_p,
      user,
      messages.length
    ]),
    [
      ['/serving/v2/chat/completions', 'a', 1, 0.5, 'u', 1],
      ['/serving/v2/chat/completions', 'bb', 2, undefined, 'u', 1],
      ['/serving/v2/chat/completions', 'cc', 1, 0.5, undefined, 2]
    ]
  )
  equal(models.requests[0]!.headers.authorization, 'Bearer sk-canary')
})

test('weights share requests out; what is hidden is reached only through others', async (t) => {
  const models = await provider(t)
  const { ask } = await llm(t, {
    models: [
      { name: 'x', provider: 'openai', params: at(models), visibility: 'internal' },
      { name: 'y', provider: 'openai', params: { ...at(models), model: 'yy' } }
    ],
    modelAliases: { shown: 'x' },
    virtualModels: [
      {
        name: 'both',
        routing: { weighted: { targets: [{ model: 'x' }, { model: 'y', weight: 1 }, { model: 'y', weight: 0 }] } }
      },
      {
        name: 'one',
        routing: {
          weighted: {
            targets: [
              { model: 'x', weight: 0 },
              { model: 'y', weight: 7 }
            ]
          }
        }
      }
    ]
  })
  for (let i = 0; i < 40; i++) await ask(CHAT, { model: 'both', messages: HI })
  deepEqual([...new Set(models.requests.map(({ body }) => body.model))].toSorted(), ['x', 'yy'])
  models.requests.length = 0
  for (let i = 0; i < 5; i++) await ask(CHAT, { model: 'one', messages: HI })
  await ask(CHAT, { model: 'shown', messages: HI })
  deepEqual(
    models.requests.map(({ body }) => body.model),
    ['yy', 'yy', 'yy', 'yy', 'yy', 'x']
  )
  equal((await ask(CHAT, { model: 'x', messages: HI })).status, 404)
  deepEqual(
    (await jsonOf(await ask('/v1/models', undefined))).data.map(({ id }: { id: string }) => id),
    ['shown', 'both', 'one', 'y']
  )
})

test("the star of a provider's name is what the client's star stands for, by aliases and virtual models too", async (t) => {
  const models = await provider(t)
  const { ask } = await llm(t, {
    models: [
      { name: 'claude/*', provider: 'openai', params: { ...at(models), model: '*' } },
      { name: '*', provider: 'openai', params: { ...at(models), model: 'all/*' } },
      { name: 'claude/fast', provider: 'openai', params: at(models) }
    ],
    modelAliases: { best: 'claude/opus', other: 'claude/fast' },
    virtualModels: [{ name: 'vendor/any:1', routing: { failover: { targets: [{ model: 'claude/sonnet' }] } } }]
  })
  const names = ['claude/opus', 'gpt', 'best', 'vendor/any:1', 'claude/fast', 'other']
  for (const model of names) equal((await ask(CHAT, { model, messages: HI })).status, 200)
  deepEqual(
    models.requests.map(({ body }) => body.model),
    ['opus', 'all/gpt', 'opus', 'sonnet', 'claude/fast', 'claude/fast']
  )
})

test("a star of a provider's name has to mean something", async (t) => {
  const at = 'llm.models[0].params.model'
  const refused = (name: string, model: string) =>
    rejects(llm(t, { models: [{ name, provider: 'openai', params: { model } }] }), ({ message }: Error) =>
      message.includes(
        `${at}: ${name === 'a' ? 'has a star, and the name of the model has none' : 'may have one star'}`
      )
    )
  await refused('a', 'b*')
  await refused('a*', '*b*')
})

test('a model with one provider is asked once, whatever others have', async (t) => {
  const models = await provider(t)
  models.instead = (_, response) => {
    response.writeHead(503, { 'retry-after': '0' }).end('{}')
    return true
  }
  const names = ['a', 'b', 'c', 'd']
  const { ask } = await llm(t, {
    models: names.map((name) => ({ name, provider: 'openai', params: at(models) })),
    virtualModels: [
      { name: 'two', routing: { failover: { targets: [{ model: 'a' }, { model: 'b' }] } } },
      { name: 'four', routing: { failover: { targets: names.map((model, priority) => ({ model, priority })) } } }
    ]
  })
  const seen = async (model: string) => {
    models.requests.length = 0
    equal((await ask(CHAT, { model, messages: HI })).status, 503)
    return models.requests.map(({ body }) => body.model)
  }
  deepEqual(await seen('four'), names)
  deepEqual(await seen('a'), ['a'])
  equal((await seen('two')).length, 2)
})

test('other paths: embeddings, counts and other calls that name a model', async (t) => {
  const models = await provider(t)
  const { base, ask } = await llm(t, {
    models: [
      { name: 'e*', provider: 'openai', params: at(models) },
      { name: 'claude', provider: 'anthropic', params: at(models) }
    ]
  })
  answers(models, '/embeddings', () => ({
    object: 'list',
    data: [],
    model: 'e1',
    usage: { prompt_tokens: 1, total_tokens: 1 }
  }))
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  equal((await openai.embeddings.create({ model: 'e1', input: 'a', encoding_format: 'float' })).usage.total_tokens, 1)
  answers(models, '/count_tokens', () => ({ input_tokens: 3 }))
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 })
  equal((await anthropic.messages.countTokens({ model: 'claude', messages: HI })).input_tokens, 3)
  answers(models, '/rerank', ({ path, body }) => ({ path, body }))
  const passed = await ask('/v1/rerank?x=1', { model: 'e2', documents: ['a'] })
  deepEqual(await jsonOf(passed), { path: '/v1/rerank?x=1', body: { model: 'e2', documents: ['a'] } })
  equal(models.requests.at(-1)!.headers.authorization, 'Bearer sk-canary')
  for (const [path, body, status, message] of [
    ['/v1/elsewhere', 'not JSON', 400, 'the body is not valid JSON'],
    [CHAT, [], 400, 'the body must be a JSON object'],
    [CHAT, { model: 7, messages: HI }, 400, 'model: is required, and must be a string'],
    [CHAT, { messages: HI }, 400, 'model: is required, and must be a string'],
    [CHAT, '['.repeat(200_000), 400, 'the body is not valid JSON'],
    ['/v1beta/models/none:generateContent', {}, 404, 'there is no such model here: "none"'],
    [CHAT, { model: 'gpt-4o\n\u202e\u0007"', messages: HI }, 404, 'there is no such model here: "gpt-4o???\\""'],
    ['/v1/messages', { model: 'x'.repeat(900) }, 404, `there is no such model here: "${'x'.repeat(128)}..."`],
    ['/v1/responses', { model: 'ü', input: 'Hi' }, 404, 'there is no such model here: "ü"']
  ] as const) {
    const refused = await ask(path, body)
    const { error } = await jsonOf(refused)
    deepEqual([refused.status, error.message], [status, message], path)
  }
})

test('a path at which nothing is says where something is', async (t) => {
  const models = await provider(t)
  const { ask } = await llm(t, { models: [{ name: '*', provider: 'openai', params: at(models) }] })
  const nowhere = await ask('/v1/elsewhere', undefined)
  const { error } = await jsonOf(nowhere)
  deepEqual([nowhere.status, error.type, error.code], [404, 'not_found_error', null])
  match(error.message, /^nothing is served at this path: .* end with .*\/chat\/completions, .*\/messages, /)
  equal(models.requests.length, 0)
  const empty = await ask(CHAT, undefined)
  deepEqual([empty.status, (await jsonOf(empty)).error.message], [400, 'there is no body: send JSON with POST'])
})

test('a name that only a pattern fits can be looked up like one that is listed', async (t) => {
  const models = await provider(t)
  const { base, ask } = await llm(t, {
    models: [
      { name: 'gpt-*', provider: 'openai', params: at(models) },
      { name: 'gpt-hidden*', provider: 'openai', params: at(models), visibility: 'internal' }
    ]
  })
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base } })
  equal((await openai.models.retrieve('gpt-5')).id, 'gpt-5')
  equal((await anthropic.models.retrieve('gpt-5')).id, 'gpt-5')
  equal((await google.models.get({ model: 'gpt-5' })).name, 'models/gpt-5')
  deepEqual((await openai.models.list()).data, [])
  for (const name of ['claude', 'gpt-hidden-5']) {
    await rejects(openai.models.retrieve(name), (error: Error) =>
      error.message.includes(`no such model here: "${name}"`)
    )
    equal((await ask(CHAT, { model: name, messages: HI })).status, 404)
  }
  equal(models.requests.length, 0)
})

test('the clouds: their addresses and required settings', () => {
  const params = { azureResourceName: 'Res', azureApiVersion: '2024-10-21', model: 'dep' }
  const result = load({
    models: [
      { name: 'a', provider: 'azure', params },
      { name: 'v', provider: 'vertex', params: { vertexProject: 'p', vertexRegion: 'us-central1' } },
      { name: 'b', provider: 'bedrock', params: { awsRegion: 'eu-west-1', model: 'm' } }
    ]
  })
  ok(result.ok)
  const backend = result.snapshot.backends['llm/models'] as ModelsBackend
  equal(backend.kind, 'models')
  const [azure, vertex, bedrock] = backend.models.map(({ backend: { groups } }) => groups[0]![0]!)
  deepEqual(
    [azure!.host, azure!.model, azure!.cloud],
    ['res.openai.azure.com', 'dep', { kind: 'azureopenai', apiVersion: '2024-10-21' }]
  )
  deepEqual(vertex!.cloud, { kind: 'vertexai', projectId: 'p', region: 'us-central1' })
  deepEqual([bedrock!.model, bedrock!.auth.kind], ['m', 'aws'])
  const errors = (provider: string, fields: object): string[] => {
    const refused = load({ models: [{ name: 'a', provider, params: fields }] })
    return refused.ok ? [] : refused.errors.map(({ path, message }) => `${path}: ${message}`)
  }
  deepEqual(errors('vertex', { vertexRegion: 'r' }), ['llm.models[0].provider: needs params.vertexProject'])
  deepEqual(errors('openai', { awsRegion: 'r' }), ['llm.models[0].params.awsRegion: is for bedrock only'])
  match(errors('azure', { azureResourceName: 'a', azureApiVersion: '2024-10-21' })[0]!, /needs params.model/)
  match(errors('azure', { azureResourceName: 'a/b' })[0]!, /azureResourceName: must match/)
})

function load(llm: object, more: object = {}) {
  const options = { file: 'f', env: {}, policies, backends, folder: '.', processors: 1 }
  return loadConfig(JSON.stringify({ ...more, llm }), options)
}

const MODELS = { models: [{ name: 'a', provider: 'openai' }] }

test('mistakes are errors with their place, and fields that are not honoured have warnings by name', () => {
  const errors = (llm: object, more: object = {}): string[] => {
    const result = load(llm, more)
    return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`)
  }
  const model = (more: object) => errors({ models: [{ name: 'a', provider: 'openai', ...more }] })
  const params = (values: object) => model({ params: values })
  deepEqual(errors(MODELS), [])
  deepEqual(errors({ models: [] }), ['llm.models: must have 1 to 1024 entries'])
  for (const name of [
    'authorization',
    'guardrails',
    'matches',
    'transformation',
    'tls',
    'auth',
    'health',
    'requestHeaders'
  ]) {
    match(
      model({ [name]: {} })[0]!,
      new RegExp(`^llm.models\\[0\\].${name}: .*'${name}' is not in this version of weir`)
    )
  }
  for (const name of ['tokenize', 'hostOverride', 'azureProjectName']) {
    match(params({ [name]: 'x' })[0]!, new RegExp(`params.${name}: parameter '${name}' is not in this version`))
  }
  match(errors({ ...MODELS, gateways: 'x' })[0]!, /^llm.gateways: llm setting 'gateways' is not in this version/)
  match(model({ provider: 'copilot' })[0]!, /provider 'copilot' is not in this version/)
  match(model({ provider: 'openia' })[0]!, /^llm.models\[0\].provider: must be .* did you mean "openai"/)
  deepEqual(model({ provider: { custom: {} } }), ['llm.models[0].provider.custom: needs params.baseUrl or params.host'])
  deepEqual(model({ provider: { reference: 'x' } }), [
    'llm.models[0].provider.reference: there is no provider "x" in llm.providers'
  ])
  deepEqual(model({ name: 'a*b' }), ['llm.models[0].name: may have one star, at its beginning or end'])
  for (const baseUrl of ['ftp://a', 'http://u:p@a/', 'http://a/?k=v', 'http://a:99999', 'a.example', 7]) {
    match(params({ baseUrl })[0]!, /^llm.models\[0\].params.baseUrl: must be "http:/)
  }
  deepEqual(params({ baseUrl: 'http://a', host: 'b' }), ['llm.models[0].params.host: says again what baseUrl says'])
  deepEqual(params({ port: 1 }), ['llm.models[0].params.port: needs a host'])
  match(params({ apiKey: { file: 'x' } })[0]!, /apiKey: must be text/)
  deepEqual(model({ overrides: { stream: 1 } }), ['llm.models[0].overrides.stream: must be true or false'])
  const virtual = (routing: object) => errors({ ...MODELS, virtualModels: [{ name: 'v', routing }] })
  match(virtual({ canary: { model: 'a', to: 'zz', percent: 5 } })[0]!, /canary.to: no model of llm.models serves "zz"/)
  const where = 'llm.virtualModels[0].routing.failover.targets[0].model'
  deepEqual(virtual({ failover: { targets: [{ model: 'b' }] } }), [`${where}: no model of llm.models serves "b"`])
  deepEqual(virtual({ failover: { targets: [{ model: '*' }] } }), [
    `${where}: must be the name of a model, without a star`
  ])
  deepEqual(virtual({ weighted: { targets: [{ model: 'a', weight: 0 }] } }), [
    'llm.virtualModels[0].routing.weighted.targets: every weight is 0'
  ])
  deepEqual(errors({ models: [...MODELS.models, ...MODELS.models] }), [
    'llm.models[1].name: there is already a model "a"'
  ])
  const shared = {
    providers: [{ name: 'p', provider: 'openai' }],
    models: [{ name: 'a', provider: { reference: 'p' }, params: { apiKey: 'k' } }]
  }
  deepEqual(errors(shared), ['llm.models[0].params.apiKey: is said by the provider that is referred to'])
  match(
    errors({ ...MODELS, port: 8080 }, { binds: [{ port: 8080, listeners: [{}] }] })[0]!,
    /^llm.port: port 8080 is already the port of/
  )
  const twice = { timeouts: { request: '1s' }, timeout: { requestTimeout: '1s' } }
  match(errors({ ...MODELS, policies: twice })[0]!, /^llm.policies.timeout/)
  const doubtful = load({ ...MODELS, policies: { authorization: { rules: ['jwt.sub == "a"'] } } })
  match(doubtful.ok ? doubtful.warnings.join() : '', /llm.policies.authorization: reads jwt/)
  match(errors({ ...MODELS, policies: { rateLimt: {} } })[0]!, /^llm.policies.rateLimt: is not a known key/)
})

test('policies stand before all models; keys show in no dump', async (t) => {
  const models = await provider(t)
  const { ask } = await llm(t, {
    models: [{ name: 'a', provider: 'openai', params: at(models) }],
    policies: { authorization: { rules: ['request.headers["x-user"] == "ann"'] } }
  })
  const statuses = []
  for (const headers of [{}, { 'x-user': 'ann' }])
    statuses.push((await ask(CHAT, { model: 'a', messages: HI }, headers)).status)
  deepEqual(statuses, [403, 200])
  const result = load({ models: [{ name: 'a', provider: 'openai', params: at(models) }] })
  ok(result.ok)
  equal(JSON.stringify(redact(result.snapshot)).includes('canary'), false)
})
