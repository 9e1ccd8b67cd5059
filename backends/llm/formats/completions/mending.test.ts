/** Usage that Groq and Moonshot have elsewhere, where the client of OpenAI looks; in streams that pass as they are. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { mending } from './mending.ts'

const usage = { prompt_tokens: 17, completion_tokens: 30, total_tokens: 47 }
const event = (choice: object, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop', ...choice }],
  ...more
})
const groq = event({}, { x_groq: { id: 'req_1', usage: { queue_time: 0.04, ...usage } } })
const moonshot = event({ usage })

for (const [name, last] of Object.entries({ groq, moonshot }))
  test(`OpenAI's client gets the usage of streams like those of ${name}`, async (t) => {
    const models = await provider(t)
    const first = event({ delta: { role: 'assistant', content: 'Hi.' }, finish_reason: null }, { x_groq: { id: 'r' } })
    models.instead = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`${[first, last].map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`)
      return true
    }
    const params = { host: '127.0.0.1', port: models.port, apiKey: 'k' }
    const file = { llm: { port: 0, models: [{ name: '*', provider: 'openai', params }] } }
    const { base } = await gatewayOf(t, file)
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
    const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] }
    const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } })
    const whole = await stream.finalChatCompletion()
    equal(whole.choices[0]!.message.content, 'Hi.')
    deepEqual([whole.usage?.prompt_tokens, whole.usage?.completion_tokens], [17, 30])
  })

test('usage that is where clients look, or that is a word of the model, passes as it is', () => {
  const mend = mending.begin()
  for (const one of [event({}, { usage }), event({}, { usage, x_groq: { usage } }), event({}), event({ usage: null })])
    equal(mend(JSON.stringify(one)), null)
  for (const text of [
    JSON.stringify(event({}, { usage })),
    JSON.stringify(event({}, { x_groq: { id: 'r' }, usage })),
    JSON.stringify(event({ delta: { content: JSON.stringify(groq) } }))
  ])
    equal(mending.marksOfRead.test(text), false, text)
})
