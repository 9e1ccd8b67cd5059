/** Servers that refuse what is added to requests here, before the vendors' own clients. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { DIALECTS } from '#backends/llm/providers/compatible.ts'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { MockRequest, Models } from '#engine/testing/models.ts'
import { dialectFor } from './dialects.ts'

const ROUTES = { '/messages': 'Messages', '*': 'Completions' }
const messages = [{ role: 'user' as const, content: 'Hi' }]
const THOUGHT = { type: 'thinking' as const, thinking: 'hm', signature: 'c2ln' }
const HISTORY: Anthropic.MessageParam[] = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: [THOUGHT, { type: 'text', text: 'Ho' }] },
  { role: 'user', content: 'And?' }
]

/** How servers say that they do not take a member. */
type Say = (name: string) => object

const VOICES = {
  pydantic: (name: string) => ({
    detail: [{ type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' }]
  }),
  groq: (name: string) => ({ error: { message: `'messages.1' : property '${name}' is unsupported` } }),
  openai: (name: string) => ({ error: { message: `Unrecognized request argument supplied: ${name}`, param: null } })
}

const hasMember = ({ body }: MockRequest, name: string): boolean => new RegExp(`"${name}":`).test(JSON.stringify(body))

/** A server that refuses requests with any of `members`, one at a time. */
function refusing(models: Models, members: readonly string[], say: Say = VOICES.pydantic, status = 422): void {
  models.instead = (request, response) => {
    const name = members.find((one) => hasMember(request, one))
    if (name === undefined) return false
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(say(name)))
    return true
  }
}

async function before(t: TestContext, models: Models, more: object = {}) {
  const { base } = await gateway(t, { provider: at('custom', models, more), routes: ROUTES })
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 })
  const streamed = async () => {
    const stream = openai.chat.completions.stream({ model: 'm', messages })
    return (await stream.finalChatCompletion()).choices[0]?.message.content
  }
  const converse = async (stream: boolean, history = HISTORY) => {
    const body = { model: 'm', max_tokens: 9, messages: history }
    const whole = stream ? await anthropic.messages.stream(body).finalMessage() : await anthropic.messages.create(body)
    return whole.content.find((block) => block.type === 'text')?.text
  }
  return { openai, streamed, converse }
}

for (const [voice, say] of Object.entries(VOICES)) {
  test(`what was added and is refused is left out, and that is remembered (${voice})`, async (t) => {
    for (const status of [400, 422]) {
      const models = await provider(t)
      const { streamed, converse } = await before(t, models)
      const text = await streamed()
      models.requests.length = 0
      refusing(models, ['stream_options', 'max_completion_tokens', 'reasoning_content'], say, status)
      equal(await streamed(), text)
      equal(models.requests.length, 2)
      equal(await streamed(), text)
      equal(models.requests.length, 3)
      equal(await converse(true), text)
      // The bound of the answer and the thoughts were refused one after the other.
      equal(models.requests.length, 6)
      deepEqual(
        models.requests.slice(3).map(({ body }) => [body.max_tokens, body.max_completion_tokens]),
        [
          [undefined, 9],
          [9, undefined],
          [9, undefined]
        ]
      )
      models.requests.length = 0
      equal(await converse(false), text)
      equal(await converse(true), text)
      deepEqual(
        models.requests.map(({ body }) => body.messages),
        [1, 2].map(() => [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'Ho' },
          { role: 'user', content: 'And?' }
        ])
      )
    }
  })
}

test('thoughts that were left out are named as losses', async (t) => {
  const models = await provider(t)
  refusing(models, ['reasoning_content'])
  const { ask } = await gateway(t, { provider: at('custom', models), routes: ROUTES })
  const response = await ask('/v1/messages', { model: 'm', max_tokens: 9, messages: HISTORY })
  equal(response.status, 200)
  equal(response.headers.get('x-weir-dropped'), 'messages[1].content[0]')
})

test('a large request is asked again too', async (t) => {
  const models = await provider(t)
  const { streamed, converse } = await before(t, models)
  const text = await streamed()
  refusing(models, ['max_completion_tokens', 'reasoning_content'])
  const long: Anthropic.MessageParam[] = [...HISTORY, { role: 'user', content: 'x'.repeat(300_000) }]
  models.requests.length = 0
  equal(await converse(false, long), text)
  equal(models.requests.length, 3)
  equal(await converse(true, long), text)
  equal(models.requests.length, 4)
})

test('fields of the client are not left out, and other refusals cause no retry', async (t) => {
  const models = await provider(t)
  const { openai, converse } = await before(t, models)
  const own = { model: 'm', messages, max_completion_tokens: 5, stream_options: { include_usage: true } }
  refusing(models, ['max_completion_tokens', 'stream_options'])
  await rejects(openai.chat.completions.create({ ...own, stream: true }), { status: 422 })
  await rejects(openai.chat.completions.create({ model: 'm', messages, max_completion_tokens: 5 }), { status: 422 })
  equal(models.requests.length, 2)

  const others = [
    'max_completion_tokens is too large: 9. This model supports at most 5',
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    'Unsupported parameter: temperature'
  ]
  for (const message of others) {
    models.requests.length = 0
    refusing(models, ['model'], () => ({ error: { message } }), 400)
    await rejects(converse(true), { status: 400 })
    equal(models.requests.length, 1)
  }
})

test('a change that does not help is not remembered', async (t) => {
  const models = await provider(t)
  const { converse, streamed } = await before(t, models)
  models.instead = (_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(VOICES.openai('stream_options')))
    return true
  }
  await rejects(converse(true), { status: 400 })
  equal(models.requests.length, 2)
  models.instead = null
  await streamed()
  deepEqual(models.requests.at(-1)!.body.stream_options, { include_usage: true })
})

test('a server by its name is asked in its dialect at once', async (t) => {
  const models = await provider(t)
  refusing(models, ['stream_options', 'max_completion_tokens', 'reasoning_content', 'thinking_blocks'])
  const { streamed, converse } = await before(t, models, { dialect: 'mistral' })
  const texts = [await streamed(), await converse(true), await converse(false)]
  equal(new Set(texts).size, 1)
  equal(models.requests.length, 3)
  const cerebras = await before(t, models, { dialect: 'cerebras' })
  models.instead = null
  await cerebras.converse(false)
  equal(models.requests.at(-1)!.body.messages[1].reasoning, 'hm')
})

test('known hosts have dialects, and similar names have none', () => {
  equal(dialectFor(null, 'API.Mistral.ai').streamOptions, false)
  equal(dialectFor(null, 'eu.api.groq.com').thoughts, 'none')
  deepEqual(dialectFor(null, 'notapi.mistral.ai.example'), dialectFor('openai', ''))
  deepEqual(dialectFor('openai', 'api.mistral.ai'), dialectFor(null, 'example.com'))
  for (const name of DIALECTS) equal(typeof dialectFor(name, '').limit, 'string')
})

test('an empty dialect is refused by name', async (t) => {
  const models = await provider(t)
  await rejects(gateway(t, { provider: at('anthropic', models, { dialect: 'vllm' }) }), /dialect/)
  await rejects(gateway(t, { provider: at('custom', models, { dialect: 'vlm' }) }), /dialect/)
})
