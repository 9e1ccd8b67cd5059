import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

/** "provider model", with what else may know the price. */
function modelsOf(config: object): readonly string[] {
  const loaded = loadConfig(JSON.stringify(config), { file: 'a.json', env: {}, folder: '.', policies, backends })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors))
  return Object.values(loaded.snapshot.backends).flatMap((backend) => {
    const named = backends.find(({ kind }) => kind === backend.kind)?.models?.(backend as never) ?? []
    return named.map(({ provider, model, otherwise }) => `${provider} ${model ?? '?'} ${otherwise}`)
  })
}

test('models of `llm`: by the name that the provider has for them', () => {
  const models = [
    { name: 'a', provider: 'openai' },
    { name: 'b', provider: 'anthropic', params: { model: 'claude-x' } },
    { name: 'c-*', provider: 'groq' },
    { name: 'd', provider: 'openrouter', params: { model: 'x/y' } }
  ]
  deepEqual(modelsOf({ llm: { models } }), [
    'openai a nothing',
    'anthropic claude-x nothing',
    'groq ? nothing',
    'openrouter x/y provider'
  ])
})

test('models of `ai`: of all providers, with aliases; a star leaves it to the client', () => {
  const ai = {
    name: 'one',
    provider: { openai: {} },
    modelAliases: { fast: 'gpt-x', 'any-*': 'y-*' }
  }
  const routes = [{ backends: [{ ai }] }]
  deepEqual(modelsOf({ binds: [{ port: 1, listeners: [{ routes }] }] }), ['openai gpt-x nothing', 'openai ? nothing'])
  const azure = {
    name: 'two',
    provider: { azureopenai: { endpoint: 'a.openai.azure.com' } },
    modelAliases: { x: 'mine' }
  }
  const others = [{ backends: [{ ai: azure }] }]
  deepEqual(modelsOf({ binds: [{ port: 1, listeners: [{ routes: others }] }] }), [
    'azureopenai mine answer',
    'azureopenai ? answer'
  ])
})
