/** Providers that stray from HTTP and events, before the vendors' own clients. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { at, gateway, provider } from './llm-gateway.ts'

const ROUTES = { '/messages': 'Messages', '*': 'Completions' }
const messages = [{ role: 'user' as const, content: 'Hi' }]

/** A gateway whose provider of chat completions answers `body`, whatever it is asked; with a client of each vendor. */
async function answering(t: TestContext, body: string, type: string) {
  const models = await provider(t)
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': type }).end(body)
    return true
  }
  const { base } = await gateway(t, { provider: at('openai', models), routes: ROUTES })
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  return { openai, anthropic: new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 }) }
}

test('an error with status 200 is an error, by its own code or its kind', async (t) => {
  const cases = [
    [{ error: { message: 'slow', code: 429 } }, 429],
    [{ error: { message: 'slow', type: 'rate_limit_error' } }, 429],
    [[{ error: { message: 'bad key', code: 401 } }], 401],
    [{ error: 'out of order' }, 500]
  ] as const
  for (const [body, status] of cases) {
    const { openai, anthropic } = await answering(t, JSON.stringify(body), 'application/json')
    await rejects(openai.chat.completions.create({ model: 'm', messages }), { status })
    await rejects(anthropic.messages.create({ model: 'm', max_tokens: 9, messages }), { status })
  }
})

test('a page of HTML is no answer', async (t) => {
  const { openai, anthropic } = await answering(t, '<html>Sign in</html>', 'text/html; charset=utf-8')
  for (const stream of [false, true]) {
    await rejects(openai.chat.completions.create({ model: 'm', messages, stream }), { status: 502 })
    await rejects(anthropic.messages.create({ model: 'm', max_tokens: 9, messages, stream }), { status: 502 })
  }
})

const chunk = (delta: object, finish: string | null = null) =>
  JSON.stringify({ id: 'c', model: 'm', created: 1, choices: [{ index: 0, delta, finish_reason: finish }] })
const CHUNKS = [chunk({ role: 'assistant', content: 'a' }), chunk({ content: 'b' }), chunk({}, 'stop')]

test('streams with comments, CRLF, no space and no end of their own are whole', async (t) => {
  const ways: readonly string[] = [
    CHUNKS.map((data) => `: PROCESSING\n\ndata: ${data}\n\n`).join(''),
    CHUNKS.map((data) => `data:${data}\r\n\r\n`).join(''),
    `${CHUNKS.map((data) => `data: ${data}\n\n`).join('')}data: [DONE]`,
    `data: ${CHUNKS.join('\n\ndata: ')}`
  ]
  for (const wire of ways) {
    const { openai, anthropic } = await answering(t, wire, 'text/event-stream')
    const whole = await openai.chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
    equal(whole.choices[0]?.message.content, 'ab')
    const message = await anthropic.messages.stream({ model: 'm', max_tokens: 9, messages }).finalMessage()
    deepEqual(
      message.content.map((block) => block.type === 'text' && block.text),
      ['ab']
    )
  }
})

test('an error in the middle of a stream is one for every client', async (t) => {
  const wire = `data: ${CHUNKS[0]}\n\ndata: ${JSON.stringify({ error: { message: 'gone', code: 503 } })}\n\n`
  const { openai, anthropic } = await answering(t, wire, 'text/event-stream')
  await rejects(openai.chat.completions.stream({ model: 'm', messages }).finalChatCompletion(), /gone/)
  await rejects(anthropic.messages.stream({ model: 'm', max_tokens: 9, messages }).finalMessage(), (error) => {
    match(String(error), /gone/)
    return true
  })
})
