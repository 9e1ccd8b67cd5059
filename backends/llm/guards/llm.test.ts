/** Prompt guards of the shortcut `llm`: of the port, of models, and of models that stand for others. */

import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import type { Models } from '#engine/testing/models.ts'
import { policies } from '#policies/index.ts'
import { CHAT, chat, SSN } from './guards.fixture.ts'

const SECRET = 'sk-abcdef'
const at = ({ port }: Models) => ({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'k' })
const ssn = { regex: { builtins: ['Ssn'] } }
const secret = (action = 'Mask') => ({ regex: { matches: ['sk-[a-z]{6}'], action } })
const lastPrompt = (models: Models) => models.requests.at(-1)!.body.messages[0].content as string

test('the port guards all models, and each model itself too', async (t) => {
  const models = await provider(t)
  const { ask } = await gatewayOf(t, {
    llm: {
      port: 4000,
      promptGuard: { request: [ssn] },
      models: [
        { name: 'open', provider: 'openai', params: at(models) },
        { name: 'masked', provider: 'openai', params: at(models), promptGuard: { request: [secret()] } },
        { name: 'closed', provider: 'openai', params: at(models), promptGuard: { request: [secret('Reject')] } }
      ],
      virtualModels: [
        { name: 'either', routing: { failover: { targets: [{ model: 'open' }, { model: 'masked' }] } } },
        { name: 'some', routing: { weighted: { targets: [{ model: 'masked' }] } } },
        { name: 'strict', routing: { failover: { targets: [{ model: 'open' }, { model: 'closed' }] } } }
      ],
      modelAliases: { alias: 'masked' }
    }
  })
  for (const [model, wanted] of [
    ['open', `<SSN> ${SECRET}`],
    ['masked', '<SSN> <masked>'],
    ['either', '<SSN> <masked>'],
    ['some', '<SSN> <masked>'],
    ['alias', '<SSN> <masked>']
  ] as const) {
    equal((await ask(CHAT, chat(`${SSN} ${SECRET}`, { model }))).status, 200, model)
    equal(lastPrompt(models), wanted, model)
  }
  const before = models.requests.length
  for (const model of ['closed', 'strict']) equal((await ask(CHAT, chat(SECRET, { model }))).status, 403)
  equal(models.requests.length, before)
})

test('answers are guarded too, and content that guards cannot read does not pass', async (t) => {
  const models = await provider(t)
  const { ask } = await gatewayOf(t, {
    llm: {
      port: 4000,
      models: [
        { name: 'm', provider: 'openai', params: at(models), promptGuard: { response: [ssn] } },
        { name: 'free', provider: 'openai', params: at(models) }
      ]
    }
  })
  models.instead = (_, response) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: SSN }, finish_reason: 'stop' }]
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'x', model: 'm', choices }))
    return true
  }
  match(await (await ask(CHAT, chat('hi'))).text(), /<SSN>/)
  const before = models.requests.length
  const refused = await ask('/v1/images/generations', { model: 'm', prompt: SSN })
  deepEqual([refused.status, models.requests.length], [400, before])
  match(await refused.text(), /prompt guards of this model cannot see/)
  equal((await ask('/v1/images/generations', { model: 'free', prompt: SSN })).status, 200)
})

test('the schema is that of backends, and Reject of answers is warned of', async (t) => {
  const models = await provider(t)
  const one = (more: object, outer: object = {}) => ({
    llm: { port: 4000, ...outer, models: [{ name: 'm', provider: 'openai', params: at(models), ...more }] }
  })
  await rejects(gatewayOf(t, one({ promptGuard: {} })), /llm\.models\[0\]\.promptGuard.*at least one of/s)
  const nine = { request: Array(9).fill(ssn) }
  await rejects(gatewayOf(t, one({}, { promptGuard: nine })), /llm\.promptGuard\.request.*1 to 8/s)
  const warnings = (file: object): string[] => {
    const result = loadConfig(JSON.stringify(file), {
      file: 'f',
      env: {},
      policies,
      backends,
      folder: '.',
      processors: 1
    })
    ok(result.ok)
    return result.warnings.filter((text) => text.includes('promptGuard')).map((text) => text.replace(/^\S+ /, ''))
  }
  const both = { request: [secret('Reject')], response: [ssn, secret('Reject')] }
  const why = 'promptGuard.response[1].regex.action: has no effect: what is found in an answer is always masked'
  deepEqual(warnings(one({ promptGuard: both })), [`llm.models[0].${why}`])
  deepEqual(warnings(one({}, { promptGuard: both })), [`llm.${why}`])
  const ai = { provider: { openai: {} }, promptGuard: both }
  deepEqual(warnings({ backends: [{ name: 'b', ai }] }), [`backends[0].ai.${why}`])
  const routes = [{ backends: [{ ai }] }]
  deepEqual(warnings({ binds: [{ port: 1, listeners: [{ routes }] }] }), [
    `binds[0].listeners[0].routes[0].backends[0].ai.${why}`
  ])
  deepEqual(warnings({ backends: [{ name: 'b', ai: { ...ai, promptGuard: { response: [ssn] } } }] }), [])
})
