/** The mock provider, asked directly by each official SDK: what it says is what the formats are. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic, { NotFoundError, RateLimitError } from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { type Models, startModels } from '#engine/testing/models.ts'

let models: Models
before(async () => {
  models = await startModels()
})
after(() => models.close())

const url = () => `http://127.0.0.1:${models.port}`
const openai = () => new OpenAI({ baseURL: `${url()}/v1`, apiKey: 'k', maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: url(), apiKey: 'k', maxRetries: 0 })
const google = () => new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url() } })
const parameters = { type: 'object', properties: { city: { type: 'string' } } } as const
const CITY = { city: 'Paris' }

test('chat completions', async () => {
  const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] }
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }]
  const { completions } = openai().chat
  equal((await completions.create(ask)).choices[0]?.message.content, 'Hello, world')
  const streamed = await completions
    .stream({ ...ask, tools, stream_options: { include_usage: true } })
    .finalChatCompletion()
  const call = streamed.choices[0]?.message.tool_calls?.[0]
  ok(call?.type === 'function')
  deepEqual(JSON.parse(call.function.arguments), CITY)
  deepEqual([streamed.usage?.prompt_tokens, streamed.usage?.total_tokens], [12, 19])
  await rejects(completions.create({ ...ask, model: 'error-429' }), OpenAI.RateLimitError)
})

test('responses: whole and streamed are the same object', async () => {
  const { responses } = openai()
  const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }]
  for (const ask of [
    { model: 'm', input: 'Hi' },
    { model: 'm', input: 'Hi', tools }
  ]) {
    const whole = await responses.create(ask)
    const seen: string[] = []
    const stream = responses.stream(ask)
    for await (const event of stream) seen.push(event.type)
    const streamed = await stream.finalResponse()
    deepEqual([streamed.output_text, streamed.usage], [whole.output_text, whole.usage])
    deepEqual(
      streamed.output.map((item) => ('arguments' in item ? item.arguments : item.type)),
      whole.output.map((item) => ('arguments' in item ? item.arguments : item.type))
    )
    deepEqual([seen[0], seen.at(-1)], ['response.created', 'response.completed'])
  }
  equal((await responses.create({ model: 'm', input: 'Hi' })).output_text, 'Hello, world')
  await rejects(responses.create({ model: 'error-503', input: 'Hi' }), OpenAI.InternalServerError)
})

test('messages', async () => {
  const ask = { model: 'm', max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hi' }] }
  const tools = [{ name: 'weather', input_schema: { ...parameters } }]
  const whole = await anthropic().messages.create(ask)
  deepEqual(whole.content[0], { type: 'text', text: 'Hello, world' })
  const streamed = await anthropic()
    .messages.stream({ ...ask, tools })
    .finalMessage()
  const [use] = streamed.content
  ok(use?.type === 'tool_use')
  deepEqual([use.input, streamed.stop_reason, streamed.usage.output_tokens], [CITY, 'tool_use', 7])
  await rejects(anthropic().messages.create({ ...ask, model: 'error-429' }), RateLimitError)
})

test('generateContent', async () => {
  const request = { model: 'm', contents: 'Hi' }
  const { models: api } = google()
  equal((await api.generateContent(request)).text, 'Hello, world')
  let text = ''
  for await (const chunk of await api.generateContentStream(request)) text += chunk.text ?? ''
  equal(text, 'Hello, world')
  const config = { tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: parameters }] }] }
  deepEqual((await api.generateContent({ ...request, config })).functionCalls?.[0]?.args, CITY)
  await rejects(
    api.generateContent({ ...request, model: 'error-404' }),
    (error: unknown) => error instanceof ApiError && error.status === 404
  )
})

test('embeddings and counts', async () => {
  const vector = [0.5, -0.25, 0.125]
  const one = await openai().embeddings.create({ model: 'm', input: 'Hi' })
  deepEqual([one.data.map(({ embedding }) => embedding), one.model], [[vector], 'm'])
  const tokens = await openai().embeddings.create({ model: 'm', input: [1, 2], encoding_format: 'float' })
  deepEqual(
    tokens.data.map(({ embedding }) => embedding),
    [vector]
  )
  await rejects(openai().embeddings.create({ model: 'error-429', input: 'Hi' }), OpenAI.RateLimitError)
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  equal((await anthropic().messages.countTokens({ model: 'm', messages })).input_tokens, 12)
  equal((await google().models.countTokens({ model: 'm', contents: 'Hi' })).totalTokens, 12)
  const { embeddings } = await google().models.embedContent({ model: 'm', contents: ['a', 'b'] })
  deepEqual(
    embeddings?.map(({ values }) => values),
    [vector, vector]
  )
  equal((await openai().responses.inputTokens.count({ model: 'm', input: 'Hi' })).input_tokens, 12)
})

test("lists of models, and one of them, in each vendor's words", async () => {
  const [gpt] = (await openai().models.list()).data
  deepEqual(await openai().models.retrieve('demo'), gpt)
  deepEqual([gpt?.id, gpt?.object, gpt?.owned_by], ['demo', 'model', 'weir'])
  await rejects(openai().models.retrieve('none'), OpenAI.NotFoundError)
  const claudes = await anthropic().models.list()
  deepEqual([claudes.data[0]?.type, claudes.data[0]?.display_name, claudes.hasNextPage()], ['model', 'Demo', false])
  equal((await anthropic().models.retrieve('demo')).id, 'demo')
  await rejects(anthropic().models.retrieve('none'), NotFoundError)
  const names: (string | undefined)[] = []
  for await (const { name } of await google().models.list()) names.push(name)
  deepEqual(names, ['models/demo'])
  const gemini = await google().models.get({ model: 'demo' })
  deepEqual([gemini.displayName, gemini.inputTokenLimit], ['Demo', 1_000_000])
  await rejects(google().models.get({ model: 'none' }), ApiError)
})
