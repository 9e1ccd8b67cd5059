/** docs/examples/policy-targets.yaml, driven with OpenAI's SDK. */
import { equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import OpenAI from 'openai'
import { startGateway } from '#engine/testing/gateway.ts'
import { provider } from './llm-gateway.ts'

test('policies act where they point: a listener, a route, a backend, one of its providers', async (t) => {
  const models = await provider(t)
  const text = readFileSync(new URL('../../../docs/examples/policy-targets.yaml', import.meta.url), 'utf8')
    .replace('port: 8080', 'port: 0')
    .replace('openai: {}', `openai: {}, host: 127.0.0.1, port: ${models.port}`)
    .replace(/\$\{OPENAI_API_KEY:-none\}/, 'of-the-gateway')
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  const base = `http://127.0.0.1:${gateway.port}`
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'of-the-client', maxRetries: 0 })
  const { response } = await client.chat.completions
    .create({ model: 'fast', messages: [{ role: 'user', content: 'hi' }] })
    .withResponse()
  equal(response.headers.get('x-served-by'), 'weir')
  equal(models.requests[0]!.body.model, 'gpt-5-mini')
  equal(models.requests[0]!.headers.authorization, 'Bearer of-the-gateway')
  const forged = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'sec-fetch-site': 'cross-site' }
  })
  equal(forged.status, 403)
  equal(models.requests.length, 1)
})
