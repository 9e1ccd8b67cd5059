/**
 * The `ai` SDK with five of its provider packages, unmodified, at the gateway: a JSON line for each case (client,
 * provider, case, why: null if it passed). Arguments: where the packages are, the gateway's address, providers.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, base, providers, only = ''] = process.argv.slice(2)
const installed = createRequire(join(folder, 'package.json'))
const load = (name) => import(pathToFileURL(installed.resolve(name)).href)

const { generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } = await load('ai')
const { createOpenAI } = await load('@ai-sdk/openai')
const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible')
const { createAnthropic } = await load('@ai-sdk/anthropic')
const { createGoogleGenerativeAI } = await load('@ai-sdk/google')
const { createAzure } = await load('@ai-sdk/azure')

const SYSTEM = 'You are an agent. MARK-SYSTEM'
const USER = 'What is the weather in Paris, and what time is it? MARK-USER'
const ANSWER = 'MARK-ANSWER: it is 21 degrees.'
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PDF = Buffer.from('%PDF-1.4\n%%EOF').toString('base64')

const inputSchema = jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })

function toolsOf() {
  let count = 0
  const execute = () => `MARK-RESULT-${++count}: 21 degrees, noon`
  const made = (name) => [name, tool({ description: `Runs ${name}.`, inputSchema, execute })]
  return Object.fromEntries(['get_weather', 'get_time'].map(made))
}

const key = { apiKey: 'k' }
const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } }
const MODELS = {
  '@ai-sdk/openai responses': [(url) => createOpenAI({ baseURL: `${url}/v1`, ...key }).responses('gpt-5')],
  '@ai-sdk/openai responses, not stored': [
    (url) => createOpenAI({ baseURL: `${url}/v1`, ...key }).responses('gpt-5'),
    { openai: { store: false, include: ['reasoning.encrypted_content'], reasoningSummary: 'auto' } }
  ],
  '@ai-sdk/openai chat': [(url) => createOpenAI({ baseURL: `${url}/v1`, ...key }).chat('gpt-4.1')],
  '@ai-sdk/openai-compatible': [
    (url) => createOpenAICompatible({ name: 'weir', baseURL: `${url}/v1`, includeUsage: true, ...key })('deepseek-r1')
  ],
  '@ai-sdk/anthropic': [(url) => createAnthropic({ baseURL: `${url}/v1`, ...key })('claude-sonnet-4-5')],
  '@ai-sdk/anthropic thinking': [
    (url) => createAnthropic({ baseURL: `${url}/v1`, ...key })('claude-sonnet-4-5'),
    thinking
  ],
  '@ai-sdk/google': [
    (url) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, ...key })('gemini-2.5-flash'),
    { google: { thinkingConfig: { includeThoughts: true } } }
  ],
  '@ai-sdk/azure': [(url) => createAzure({ baseURL: url, apiVersion: 'v1', ...key }).chat('gpt-4.1')]
}

function conclude(text) {
  if (!text.includes(ANSWER)) throw new Error(`the answer is ${JSON.stringify(text)}`)
}

const loop = (model, providerOptions) => ({
  model,
  providerOptions,
  system: SYSTEM,
  prompt: USER,
  tools: toolsOf(),
  stopWhen: stepCountIs(5),
  maxRetries: 0
})

const CASES = {
  whole: async (model, options) => conclude((await generateText(loop(model, options))).text),
  streamed: async (model, options) => {
    let failed = null
    const onError = ({ error }) => {
      failed ??= error
    }
    const answer = streamText({ ...loop(model, options), onError })
    await answer.consumeStream()
    if (failed !== null) throw failed
    conclude(await answer.text)
  },
  files: async (model, providerOptions) => {
    const content = [
      { type: 'text', text: `${USER} [needs:image,pdf]` },
      { type: 'image', image: PICTURE, mediaType: 'image/png' },
      { type: 'file', data: PDF, mediaType: 'application/pdf', filename: 'The report, 2nd.pdf' }
    ]
    const messages = [{ role: 'user', content }]
    conclude((await generateText({ model, providerOptions, system: SYSTEM, messages, maxRetries: 0 })).text)
  },
  object: async (model) => {
    const properties = { city: { type: 'string' }, degrees: { type: 'number' } }
    const schema = jsonSchema({
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false
    })
    const { object } = await generateObject({ model, schema, system: SYSTEM, prompt: `[json] ${USER}`, maxRetries: 0 })
    if (object.degrees !== 21) throw new Error(`the answer is ${JSON.stringify(object)}`)
  }
}

for (const [client, [make, options]] of Object.entries(MODELS)) {
  if (!client.includes(only)) continue
  for (const provider of providers.split(',')) {
    for (const [name, run] of Object.entries(CASES)) {
      let why = null
      try {
        await run(make(`${base}/${provider}`), options)
      } catch (error) {
        why = `${error.name}: ${error.message} ${error.responseBody ?? ''}`.slice(0, 600)
      }
      console.log(JSON.stringify({ client, provider, case: name, why }))
    }
  }
}
