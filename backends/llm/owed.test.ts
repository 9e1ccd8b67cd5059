/** What an answer has cost is owed, whatever becomes of the rest of it. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { LONG, total } from './large/large.fixture.ts'
import { at, gateway, provider } from './testing/gateway.ts'

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
