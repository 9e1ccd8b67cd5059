/** The official SDKs read a stream that another provider has gone on with. */
import { deepEqual, equal } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { PROVIDERS, type Provider, pair, WHOLE } from './continued.fixture.ts'

const gone = (response: ServerResponse) => void response.socket!.destroySoon()
const KEY = { apiKey: 'k', maxRetries: 0 }

for (const from of Object.keys(PROVIDERS) as Provider[]) {
  const start = (t: TestContext) => pair(t, from, PROVIDERS[from], gone)

  test(`openai, chat completions, begun by ${from}`, async (t) => {
    const { base } = await start(t)
    const client = new OpenAI({ ...KEY, baseURL: `${base}/v1` })
    const messages = [{ role: 'user', content: 'Why?' }] as const
    const stream = client.chat.completions.stream({ model: 'm', messages: [...messages] })
    const { choices } = await stream.finalChatCompletion()
    deepEqual([choices[0]!.message.content, choices[0]!.finish_reason], [WHOLE, 'stop'])
  })

  test(`openai, responses, begun by ${from}`, async (t) => {
    const { base } = await start(t)
    const stream = new OpenAI({ ...KEY, baseURL: `${base}/v1` }).responses.stream({ model: 'm', input: 'Why?' })
    const numbers: number[] = []
    const ids = new Set<string>()
    stream.on('event', (event) => {
      numbers.push(event.sequence_number)
      if ('item_id' in event) ids.add(event.item_id)
    })
    const { output_text: text, status } = await stream.finalResponse()
    deepEqual([text, status, ids.size], [WHOLE, 'completed', 1])
    deepEqual(
      numbers,
      numbers.map((_, i) => i)
    )
  })

  test(`anthropic, begun by ${from}`, async (t) => {
    const { base } = await start(t)
    const messages = [{ role: 'user', content: 'Why?' }] as const
    const client = new Anthropic({ ...KEY, baseURL: base })
    const stream = client.messages.stream({ model: 'm', max_tokens: 100, messages: [...messages] })
    const { content, stop_reason: stop } = await stream.finalMessage()
    deepEqual([content.map((one) => (one.type === 'text' ? one.text : one.type)), stop], [[WHOLE], 'end_turn'])
  })

  test(`google, begun by ${from}`, async (t) => {
    const { base } = await start(t)
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base } })
    const stream = await client.models.generateContentStream({ model: 'm', contents: 'Why?' })
    let text = ''
    for await (const one of stream) text += one.text ?? ''
    equal(text, WHOLE)
  })
}
