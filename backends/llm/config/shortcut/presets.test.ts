/** Providers of `llm` by their names: where they are, and how they are asked. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { AiProvider, ModelsBackend } from '#backends/llm/config/snapshot.ts'
import { COMPATIBLE, type CompatibleService } from '#backends/llm/providers/compatible.ts'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import { PRESETS } from './presets.ts'

/** The provider of the only model of a file. */
function loaded(model: object): AiProvider {
  const file = JSON.stringify({ llm: { models: [{ name: 'm', ...model }] } })
  const result = loadConfig(file, { file: 'f', env: {}, policies, backends })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  const found = Object.values(result.snapshot.backends).find((one) => one.kind === 'models') as ModelsBackend
  return found.models[0]!.backend.groups[0]![0]!
}

test('each name stands for its address, and for its dialect', () => {
  for (const [name, { baseUrl, dialect, example = 'https://example.com/v1' }] of PRESETS) {
    const own = loaded({ provider: name, ...(baseUrl === undefined ? { params: { baseUrl: example } } : {}) })
    const { hostname, pathname, protocol, port } = new URL(baseUrl ?? example)
    const prefix = pathname === '/' ? '' : pathname
    deepEqual(
      [own.host, own.port, own.hasTls, own.pathPrefix, own.dialect],
      [hostname, port === '' ? null : Number(port), protocol === 'https:', prefix, dialect],
      name
    )
  }
})

test('addresses of services are those of their hosts', () => {
  for (const [name, { baseUrl, hosts }] of Object.entries<CompatibleService>(COMPATIBLE)) {
    if (baseUrl === undefined || baseUrl.startsWith('http://localhost')) continue
    const { hostname } = new URL(baseUrl)
    equal(
      hosts?.some((host) => hostname === host || hostname.endsWith(`.${host}`)),
      true,
      name
    )
  }
})

test('a service without an address of its own asks for one, and shows what it looks like', () => {
  try {
    loaded({ provider: 'snowflake' })
  } catch (error) {
    match(String(error), /needs params\.baseUrl, which looks like https:\/\/ACCOUNT\.snowflakecomputing\.com/)
    return
  }
  throw new Error('it is taken')
})

test('what a file changes is changed in the dialect of the service', async (t) => {
  const models = await provider(t)
  const params = { host: '127.0.0.1', port: models.port, dialect: { seed: 'seed' } }
  const file = { llm: { port: 0, models: [{ name: 'm', provider: 'mistral', params }] } }
  const { ask } = await gatewayOf(t, file)
  const messages = [{ role: 'developer', content: 'Hi' }]
  equal((await ask('/v1/chat/completions', { model: 'm', seed: 1, messages })).status, 200)
  const { seed, messages: sent } = models.requests[0]!.body
  deepEqual([seed, sent[0].role], [1, 'system'])
  await rejects(async () => loaded({ provider: 'mistral', params: { dialect: {} } }), /dialect/)
})
