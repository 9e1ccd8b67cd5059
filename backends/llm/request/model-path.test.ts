/** Names of models in paths: with colons and slashes, plain and encoded. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { asksModel, modelPathOf } from './model-path.ts'

test('the method is behind the last colon', () => {
  const cases: [string, [string, string] | null][] = [
    ['/v1beta/models/m:generateContent', ['m', 'generateContent']],
    ['/v1beta/models/llama3:8b:streamGenerateContent', ['llama3:8b', 'streamGenerateContent']],
    ['/v1beta/models/meta/llama-4:generateContent', ['meta/llama-4', 'generateContent']],
    ['/v1beta/models/a%3Ab%2Fc:countTokens', ['a%3Ab%2Fc', 'countTokens']],
    ['/v1beta/models/m', null],
    ['/v1beta/models/:generateContent', null],
    ['/v1/models/llama3:8b', null]
  ]
  for (const [path, wanted] of cases) {
    const found = modelPathOf(path)
    deepEqual(found === null ? null : [found.name, found.method], wanted, path)
  }
  deepEqual([asksModel('/v1/models/llama3:latest'), asksModel('/v1/models/m:generateContent')], [false, true])
})

test('a client of Google asks for such models by name, and the provider gets it', async (t) => {
  const models = await provider(t)
  const routes = {
    ':generateContent': 'GenerateContent',
    ':streamGenerateContent': 'GenerateContent',
    '*': 'Completions'
  }
  const { base } = await gateway(t, { provider: at('openai', models), routes })
  const { models: google } = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base } })
  for (const model of ['llama3:8b', 'models/meta/llama-4', 'models/a%3Ab']) {
    await google.generateContent({ model, contents: 'Hi' })
    for await (const _ of await google.generateContentStream({ model, contents: 'Hi' }));
  }
  const names = models.requests.map(({ body }) => body.model)
  deepEqual(names, ['llama3:8b', 'llama3:8b', 'meta/llama-4', 'meta/llama-4', 'a:b', 'a:b'])
  equal(
    models.requests.every(({ path }) => path === '/v1/chat/completions'),
    true
  )
})
