/** Long events of streams that pass as they are: another thread reads what they have cost, and the end waits for it. */
import { equal, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { LONG, total, watchJson } from './large-bodies.fixture.ts'

const RESPONSES = '/v1/responses'
const ROUTES = { '/responses': 'Responses' }
const ASK = { model: 'm', stream: true, input: 'hi' }
const USAGE = { input_tokens: 3, output_tokens: 4, total_tokens: 7 }

function streamOf(text: string, isComplete = true): string {
  const response = (status: string, output: object[]) => ({ id: 'r', object: 'response', model: 'm', status, output })
  const part = { type: 'output_text', text, annotations: [] }
  const item = { id: 'i', type: 'message', role: 'assistant', status: 'completed', content: [part] }
  const events = [
    { type: 'response.created', response: response('in_progress', []) },
    { type: 'response.output_item.done', output_index: 0, item },
    ...(isComplete
      ? [{ type: 'response.completed', response: { ...response('completed', [item]), usage: USAGE } }]
      : [])
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

for (const [name, cut] of [
  ['all of it', (stream: string) => stream],
  ['without its last line', (stream: string) => stream.slice(0, -2)]
] as const) {
  test(`what a long event has cost is counted, and none of it is parsed here: ${name}`, async (t) => {
    const models = await provider(t)
    const { ask, metrics } = await gateway(t, { provider: at('openai', models), routes: ROUTES })
    const stream = cut(streamOf(LONG))
    models.instead = (_, response: ServerResponse) => {
      response.setHeader('content-type', 'text/event-stream').end(stream)
      return true
    }
    const seen = watchJson(t)
    const text = await (await ask(RESPONSES, ASK)).text()
    ok(text.trimEnd() === stream.trimEnd())
    equal(total(metrics()), 7)
    equal(seen.longest, 0)
  })
}

test('a stream that ends with a long event before it was complete says so', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, { provider: at('openai', models), routes: ROUTES })
  models.instead = (_, response: ServerResponse) => {
    response.setHeader('content-type', 'text/event-stream').end(streamOf(`"usage":{"error": {${LONG}`, false))
    return true
  }
  const text = await (await ask(RESPONSES, ASK)).text()
  ok(text.includes('before it was complete'), text.slice(-300))
})

test('when the pool takes no more, a long event is read here: it is owed', async (t) => {
  const models = await provider(t)
  const { ask, metrics } = await gateway(t, { provider: at('openai', models), routes: ROUTES })
  t.mock.method(OffloadPool.prototype, 'run', () => Promise.reject(new Error('too much waits')))
  models.instead = (_, response: ServerResponse) => {
    response.setHeader('content-type', 'text/event-stream').end(streamOf(LONG))
    return true
  }
  ok((await (await ask(RESPONSES, ASK)).text()) === streamOf(LONG))
  equal(total(metrics()), 7)
})
