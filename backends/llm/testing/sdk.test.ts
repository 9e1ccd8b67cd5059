/** The official SDKs as clients of a gateway whose providers speak each wire format: the same answer in every cell. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Models, startModels, TOOL_ARGUMENTS } from '#engine/testing/models.ts'

/** What is configured for each; models of the clouds decide what is spoken to them. */
const CONFIGS = {
  openai: { openai: {} },
  anthropic: { anthropic: {} },
  gemini: { gemini: {} },
  azure: { azureopenai: { endpoint: 'https://name.openai.azure.com/' } },
  'azure-dated': { azureopenai: { endpoint: 'name', deploymentName: 'mine', apiVersion: '2024-10-21' } },
  'vertex-gemini': { vertexai: { projectId: 'p', region: 'global', model: 'gemini-3-pro' } },
  'vertex-claude': { vertexai: { projectId: 'p', region: 'us-east5', model: 'claude-sonnet-4-5-20250929' } },
  'vertex-other': { vertexai: { projectId: 'p', region: 'us-central1', model: 'meta/llama-4' } },
  bedrock: { bedrock: { region: 'eu-west-1', model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0' } }
} as const
type Provider = keyof typeof CONFIGS
const PROVIDERS = Object.keys(CONFIGS) as Provider[]
/** Paths that the mock gets, for a streamed answer and for one in one piece; null: as the client's. */
const CLAUDE = '/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929'
const PATHS: Readonly<Record<Provider, readonly string[]>> = {
  openai: ['/v1/chat/completions', '/v1/chat/completions'],
  anthropic: ['/v1/messages', '/v1/messages'],
  gemini: ['/v1beta/models/m1:generateContent', '/v1beta/models/m1:streamGenerateContent?alt=sse'],
  azure: ['/openai/v1/chat/completions', '/openai/v1/chat/completions'],
  'azure-dated': Array(2).fill('/openai/deployments/mine/chat/completions?api-version=2024-10-21'),
  'vertex-gemini': ['generateContent', 'streamGenerateContent?alt=sse'].map(
    (method) => `/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro:${method}`
  ),
  'vertex-claude': [`${CLAUDE}:rawPredict`, `${CLAUDE}:streamRawPredict`],
  'vertex-other': Array(2).fill('/v1/projects/p/locations/us-central1/endpoints/openapi/chat/completions'),
  bedrock: ['converse', 'converse-stream'].map(
    (method) => `/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/${method}`
  )
}
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

let models: Models
let gateway: Awaited<ReturnType<typeof startGateway>>

before(async () => {
  models = await startModels()
  const routes = {
    '/chat/completions': 'Completions',
    '/messages': 'Messages',
    '/responses': 'Responses',
    '*': 'GenerateContent'
  }
  const route = (provider: Provider) => ({
    matches: [{ path: { pathPrefix: `/${provider}` } }],
    backends: [
      {
        ai: {
          provider: {
            ...CONFIGS[provider],
            host: '127.0.0.1',
            port: models.port,
            policies: { auth: { key: 'sk-test' } }
          },
          routes
        }
      }
    ]
  })
  gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      binds: [{ port: 0, listeners: [{ routes: PROVIDERS.map(route) }] }]
    })
  )
})

after(async () => {
  await gateway.close()
  models.close()
})

const base = (provider: string) => `http://127.0.0.1:${gateway.port}/${provider}`

for (const provider of PROVIDERS) {
  describe(`provider ${provider}`, () => {
    const openai = () => new OpenAI({ baseURL: `${base(provider)}/v1`, apiKey: 'of-the-caller', maxRetries: 0 })
    const anthropic = () => new Anthropic({ baseURL: base(provider), apiKey: 'of-the-caller', maxRetries: 0 })
    const google = () => new GoogleGenAI({ apiKey: 'of-the-caller', httpOptions: { baseUrl: base(provider) } })
    const ask = { model: 'm1', messages: [{ role: 'user' as const, content: 'Hi' }] }
    const tools = [{ type: 'function' as const, function: { name: 'weather', description: 'w', parameters: SCHEMA } }]

    test('chat completions', async () => {
      const answer = await openai().chat.completions.create(ask)
      equal(answer.choices[0]?.message.content, 'Hello, world')
      equal(answer.choices[0]?.finish_reason, 'stop')
      const { prompt_tokens, completion_tokens, prompt_tokens_details } = answer.usage!
      deepEqual([prompt_tokens, completion_tokens, prompt_tokens_details?.cached_tokens], [12, 7, 4])
      const called = await openai().chat.completions.create({ ...ask, tools })
      const call = called.choices[0]?.message.tool_calls?.[0]
      ok(call?.type === 'function' && call.function.name === 'weather')
      deepEqual(JSON.parse(call.function.arguments), JSON.parse(TOOL_ARGUMENTS))
      equal(called.choices[0]?.finish_reason, 'tool_calls')
    })

    test('chat completions, streamed', async () => {
      const stream = openai().chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
      const answer = await stream.finalChatCompletion()
      equal(answer.choices[0]?.message.content, 'Hello, world')
      deepEqual([answer.usage?.prompt_tokens, answer.usage?.completion_tokens], [12, 7])
      const called = await openai()
        .chat.completions.stream({ ...ask, tools })
        .finalChatCompletion()
      const call = called.choices[0]?.message.tool_calls?.[0]
      ok(call?.type === 'function')
      deepEqual(JSON.parse(call.function.arguments), JSON.parse(TOOL_ARGUMENTS))
      let chunks = 0
      for await (const chunk of await openai().chat.completions.create({ ...ask, stream: true })) {
        ok(chunk.choices.length > 0 && !chunk.usage, 'usage only for who asks')
        chunks++
      }
      ok(chunks >= 3)
    })

    test('messages', async () => {
      const body = { ...ask, max_tokens: 100 }
      const answer = await anthropic().messages.create(body)
      deepEqual([answer.content[0]?.type, answer.stop_reason], ['text', 'end_turn'])
      ok(answer.content[0]?.type === 'text' && answer.content[0].text === 'Hello, world')
      deepEqual(
        [answer.usage.input_tokens, answer.usage.cache_read_input_tokens, answer.usage.output_tokens],
        [8, 4, 7]
      )
      const streamed = await anthropic().messages.stream(body).finalMessage()
      ok(streamed.content[0]?.type === 'text' && streamed.content[0].text === 'Hello, world')
      deepEqual([streamed.usage.output_tokens, streamed.stop_reason], [7, 'end_turn'])
      const called = await anthropic()
        .messages.stream({ ...body, tools: [{ name: 'weather', input_schema: SCHEMA as never }] })
        .finalMessage()
      const use = called.content.find(({ type }) => type === 'tool_use')
      ok(use?.type === 'tool_use')
      deepEqual([use.name, use.input, called.stop_reason], ['weather', { city: 'Paris' }, 'tool_use'])
    })

    test('responses', async () => {
      const answer = await openai().responses.create({ model: 'm1', input: 'Hi' })
      equal(answer.output_text, 'Hello, world')
      deepEqual([answer.usage?.input_tokens, answer.usage?.output_tokens, answer.status], [12, 7, 'completed'])
      const streamed = await openai().responses.stream({ model: 'm1', input: 'Hi' }).finalResponse()
      equal(streamed.output_text, 'Hello, world')
      deepEqual([streamed.usage?.input_tokens, streamed.usage?.output_tokens], [12, 7])
    })

    test('generateContent', async () => {
      const request = { model: 'm1', contents: 'Hi' }
      const answer = await google().models.generateContent(request)
      equal(answer.text, 'Hello, world')
      deepEqual([answer.usageMetadata?.promptTokenCount, answer.usageMetadata?.cachedContentTokenCount], [12, 4])
      let text = ''
      for await (const chunk of await google().models.generateContentStream(request)) text += chunk.text ?? ''
      equal(text, 'Hello, world')
    })

    test('the provider is asked where it listens', async () => {
      await openai().chat.completions.create(ask)
      equal(models.requests.at(-1)?.path, PATHS[provider][0])
      for await (const _ of await openai().chat.completions.create({ ...ask, stream: true }));
      equal(models.requests.at(-1)?.path, PATHS[provider][1])
      const { anthropic_version: version = null, model = null } = models.requests.at(-1)!.body
      if (provider === 'vertex-claude') deepEqual([version, model], ['vertex-2023-10-16', null])
      else equal(version, null)
    })

    test("the provider gets the configured key, and none of the client's", () => {
      const { headers } = models.requests.at(-1)!
      equal(JSON.stringify(headers).includes('of-the-caller'), false)
      match(JSON.stringify(headers), /sk-test/)
    })
  })
}
