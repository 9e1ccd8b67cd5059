/** The built-in demonstration, as a gateway would run it: what its page and the README tell people to try. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { startGateway } from '#engine/testing/gateway.ts'
import { demoConfig } from './config.ts'
import { startDemoServer } from './server.ts'

test('the demonstration has a model for every SDK, streamed or not, and it fails on demand', async (t) => {
  const demo = await startDemoServer()
  const gateway = await startGateway(
    demoConfig('0', demo.port, new URL('../../engine/process/start.ts', import.meta.url)).replace(
      'level: info',
      'level: warn'
    )
  )
  t.after(async () => {
    await gateway.close()
    demo.close()
  })
  const at = `http://127.0.0.1:${gateway.port}`
  match(await (await fetch(`${at}/`)).text(), /v1\/chat\/completions/)
  const openai = new OpenAI({ baseURL: `${at}/v1`, apiKey: 'none', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const whole = await openai.chat.completions.create({ model: 'demo', messages })
  equal(whole.choices[0]?.message.content, 'Hello, world')
  const pieces: string[] = []
  for await (const chunk of await openai.chat.completions.create({ model: 'demo', messages, stream: true }))
    if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content)
  deepEqual(pieces, ['Hello, ', 'world'])
  equal((await openai.responses.create({ model: 'demo', input: 'Hi' })).output_text, 'Hello, world')
  const anthropic = new Anthropic({ baseURL: at, apiKey: 'none', maxRetries: 0 })
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
  const called = await anthropic.messages.stream({ model: 'demo', max_tokens: 64, messages, tools }).finalMessage()
  equal(called.content[0]?.type === 'tool_use' && called.content[0].name, 'weather')
  const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: at } })
  equal((await google.models.generateContent({ model: 'demo', contents: 'Hi' })).text, 'Hello, world')
  deepEqual(
    (await openai.models.list()).data.map(({ id }) => id),
    ['demo']
  )
  equal((await openai.models.retrieve('demo')).id, 'demo')
  equal((await anthropic.models.list()).data[0]?.id, 'demo')
  equal((await anthropic.models.retrieve('demo')).type, 'model')
  const listed: (string | undefined)[] = []
  for await (const { name } of await google.models.list()) listed.push(name)
  deepEqual(listed, ['models/demo'])
  equal((await google.models.get({ model: 'demo' })).name, 'models/demo')
  const embedded = await openai.embeddings.create({ model: 'demo', input: ['Hi', 'there'] })
  deepEqual(
    embedded.data.map(({ embedding }) => embedding),
    [
      [0.5, -0.25, 0.125],
      [0.5, -0.25, 0.125]
    ]
  )
  equal((await anthropic.messages.countTokens({ model: 'demo', messages })).input_tokens, 12)
  equal((await google.models.countTokens({ model: 'demo', contents: 'Hi' })).totalTokens, 12)
  const { embeddings } = await google.models.embedContent({ model: 'demo', contents: ['Hi', 'there'] })
  deepEqual(
    embeddings?.map(({ values }) => values?.length),
    [3, 3]
  )
  const failed = await fetch(`${at}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify({ model: 'error-529', max_tokens: 1, messages })
  })
  equal(failed.status, 529)
  const long = await fetch(`${at}/demo/echo`, { method: 'POST', body: 'x'.repeat(70_000) })
  equal(long.status, 413)
})
