/** docs/examples/prompt-guard.yaml, driven with OpenAI's SDK. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import OpenAI from 'openai'
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'

test('masks prompts and answers, streamed or not, and refuses keys', async (t) => {
  const models = await startModels()
  t.after(() => models.close())
  const text = readFileSync(new URL('../../../docs/examples/prompt-guard.yaml', import.meta.url), 'utf8')
  const provider = `openai: {}, host: 127.0.0.1, port: ${models.port}`
  const gateway = await startGateway(text.replace('port: 8080', 'port: 0').replace('openai: {}', provider))
  t.after(() => gateway.close())
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${gateway.port}/v1`, apiKey: 'x', maxRetries: 0 })
  const ask = (content: string) => ({ model: 'm', messages: [{ role: 'user' as const, content }] })
  await client.chat.completions.create(ask('My card is 4111 1111 1111 1111, call +1 212 555 1234'))
  equal(models.requests[0]!.body.messages[0].content, 'My card is <CREDIT_CARD>, call <PHONE_NUMBER>')
  const refused = client.chat.completions.create(ask('Is sk-abcdefghijklmnopqr valid?'))
  await rejects(refused, (error) => {
    deepEqual([(error as { status: number }).status, error instanceof OpenAI.APIError], [422, true])
    return /Take the key out of your question/.test(String(error))
  })
  models.instead = (_, response) => {
    const chunk = (content: string) =>
      `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"${content}"},"finish_reason":null}]}\n\n`
    const end = chunk('').replace('"finish_reason":null', '"finish_reason":"stop"')
    const pieces = ['It is pro', 'ject  night', 'ingale, 123-', '45-6789'].map(chunk).join('')
    response.setHeader('content-type', 'text/event-stream').end(`${pieces}${end}data: [DONE]\n\n`)
    return true
  }
  const answer = await client.chat.completions.stream(ask('What is it?')).finalChatCompletion()
  equal(answer.choices[0]?.message.content, 'It is <masked>, <SSN>')
})
