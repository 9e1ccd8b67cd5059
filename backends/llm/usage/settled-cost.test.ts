/** What an answer has cost is owed, whatever becomes of the rest of it. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { LONG, total } from '#backends/llm/offload/large-bodies.fixture.ts'
import { at, gateway, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { boundedUsage, TOKENS_MAX } from './token-counts.ts'

const usage = { input_tokens: 7, output_tokens: 5 }
const message = { id: 'x', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', usage }

test('an answer that cannot be read, or not be written for the client, has been paid for', async (t) => {
  const models = await provider(t)
  const { ask, metrics } = await gateway(t, { provider: at('anthropic', models) })
  let answer = ''
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    return true
  }
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const input = `{"type":"tool_use","id":"t","name":"f","input":{"a":${deep}}}`
  for (const [what, content] of [
    ['unread', '[{"type":"text","text":7}]'],
    ['unwritten', `[${input}]`]
  ] as const) {
    for (const pad of ['', LONG]) {
      const before = total(metrics())
      answer = JSON.stringify({ ...message, content: [], pad }).replace('"content":[]', () => `"content":${content}`)
      const response = await ask('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
      await response.text()
      deepEqual([response.status, total(metrics()) - before], [502, 12], `${what}, ${answer.length} bytes`)
    }
  }
  answer = 'no JSON'
  const response = await ask('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  equal(response.status, 502)
})

test('an invalid count is charged as the nearest valid one', async (t) => {
  const models = await provider(t)
  const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  const wire = ['{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}', '', '[DONE]']
  for (const stream of [false, true]) {
    // Of 30 tokens; the metric counts both kinds.
    for (const [tokens, statuses, sum] of [
      ['2147483648', [200, 429], 1_000_000_001],
      ['1e999', [200, 429], 1_000_000_001],
      ['40.5', [200, 429], 42]
    ] as const) {
      const usage = `{"prompt_tokens":${tokens},"completion_tokens":1}`
      models.instead = (_, response) => {
        const whole = `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":${usage}}`
        const events = wire.map((data) => `data: ${data === '' ? `{"choices":[],"usage":${usage}}` : data}\n\n`)
        response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
        response.end(stream ? events.join('') : whole)
        return true
      }
      const policies = { rateLimit: { local: [{ tokens: 30, unit: 'Hours' }] } }
      const backends = [{ ai: { provider: at('openai', models) } }]
      const limited = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ policies, backends }] }] }] })
      const got: number[] = []
      for (let i = 0; i < 2; i++) {
        const response = await limited.ask('/v1/chat/completions', { ...ask, stream })
        await response.text()
        got.push(response.status)
      }
      deepEqual([got, total(limited.metrics())], [statuses, sum], `${tokens} ${stream}`)
    }
  }
})

test('no kind of tokens is fewer than none, or no number', () => {
  const media = { inputAudio: 0, inputImage: 0, outputAudio: 0, outputImage: 0 }
  const none = { cacheWrite5m: 0, cacheWrite1h: 0, reasoning: 0, ...media }
  deepEqual(boundedUsage({ ...none, input: -5, cacheRead: Number.NaN, output: Number.NEGATIVE_INFINITY }), {
    ...none,
    input: 0,
    cacheRead: TOKENS_MAX,
    output: 0
  })
})
