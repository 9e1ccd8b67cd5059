/** What providers do that their documentation does not say: usage that comes often, or not at all; and limits. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { at, gateway, jsonOf, provider } from './llm-gateway.ts'

const ROUTES = { '/messages': 'Messages', '/responses': 'Responses', '*': 'Completions' }
const messages = [{ role: 'user' as const, content: 'Hi' }]

async function started(t: TestContext, kind: string) {
  const models = await provider(t)
  return { models, ...(await gateway(t, { provider: at(kind, models), routes: ROUTES })) }
}

/** Says `events` as the stream of the provider. */
const says = (models: Awaited<ReturnType<typeof provider>>, events: readonly object[], end = '') => {
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const text = (data: object) => `${'type' in data ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`
    response.end(events.map(text).join('') + end)
    return true
  }
}

const tokensOf = (metrics: string, type: string) =>
  [...metrics.matchAll(new RegExp(`gen_ai_client_token_usage_sum\\{[^}]*"${type}"\\} (\\d+)`, 'g'))].map(([, n]) =>
    Number(n)
  )

test('usage in every chunk, as some servers say it, is counted once, natively and translated', async (t) => {
  const { models, base, metrics } = await started(t, 'openai')
  const chunk = (delta: object, output: number, finish: string | null = null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    usage: { prompt_tokens: 12, completion_tokens: output, total_tokens: 12 + output }
  })
  const chunks = [
    chunk({ role: 'assistant', content: '' }, 0),
    chunk({ content: 'a' }, 1),
    chunk({ content: 'b' }, 2, 'stop')
  ]
  says(models, [...chunks, { ...chunks[2]!, choices: [] }], 'data: [DONE]\n\n')
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const stream = client.chat.completions.stream({ model: 'm', messages, stream_options: { include_usage: true } })
  equal((await stream.finalChatCompletion()).usage?.completion_tokens, 2)
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 })
  const message = await anthropic.messages.stream({ model: 'm', max_tokens: 9, messages }).finalMessage()
  deepEqual([message.usage.input_tokens, message.usage.output_tokens], [12, 2])
  deepEqual([tokensOf(metrics(), 'input'), tokensOf(metrics(), 'output')], [[24], [4]])
})

test('a provider that counts nothing: streams are whole, and nothing is made up', async (t) => {
  const { models, base, metrics } = await started(t, 'anthropic')
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
  says(models, [
    { type: 'message_start', message: head },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' }
  ])
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const whole = await client.chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
  deepEqual([whole.choices[0]?.message.content, whole.choices[0]?.finish_reason], ['Hello', 'stop'])
  const answer = await client.responses.stream({ model: 'm', input: 'Hi' }).finalResponse()
  equal(answer.output_text, 'Hello')
  deepEqual([tokensOf(metrics(), 'input').at(0) ?? 0, tokensOf(metrics(), 'output').at(0) ?? 0], [0, 0])
})

test("limits: how long to wait and what is left is the client's too, in its own words or the provider's", async (t) => {
  for (const kind of ['openai', 'anthropic']) {
    const { models, ask } = await started(t, kind)
    models.instead = (_, response) => {
      const error = { type: 'rate_limit_error', message: 'slow down' }
      const fields = {
        'retry-after': '7',
        'x-ratelimit-remaining-tokens': '0',
        'anthropic-ratelimit-tokens-remaining': '0'
      }
      response
        .writeHead(429, { 'content-type': 'application/json', ...fields })
        .end(JSON.stringify({ type: 'error', error }))
      return true
    }
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const refused = await ask(path, { model: 'm', max_tokens: 9, messages })
      const headers = ['retry-after', 'x-ratelimit-remaining-tokens', 'anthropic-ratelimit-tokens-remaining']
      deepEqual([refused.status, ...headers.map((name) => refused.headers.get(name))], [429, '7', '0', '0'])
      match((await jsonOf(refused)).error.message, /slow down/)
    }
  }
})
