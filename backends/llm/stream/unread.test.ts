/** Streams of models that are not read: they keep a connection to the provider as every answer does. */
import { equal } from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { test } from 'node:test'
import { at, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'

const CONNECTIONS = 4
const TEXT = 'x'.repeat(8192)
const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
const lineOf = (data: object) => `data: ${JSON.stringify(data)}\n\n`

/** How a stream begins, and what it says for ever: one that passes as it is, and one that is translated. */
const STREAMS = {
  openai: ['', lineOf({ ...chunk, choices: [{ index: 0, delta: { content: TEXT }, finish_reason: null }] })],
  anthropic: [
    lineOf({ type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } }) +
      lineOf({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    lineOf(delta)
  ]
} as const

for (const [kind, [start, line]] of Object.entries(STREAMS)) {
  test(`${kind}: who waits for the provider gets a connection whose stream is not read`, async (t) => {
    const models = await provider(t)
    models.instead = (request, response) => {
      if (request.body.stream !== true) return false
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (start !== '') response.write(start)
      const pour = () => {
        while (!response.destroyed && response.write(line));
      }
      response.on('drain', pour)
      pour()
      return true
    }
    const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', backend: { poolMaxSize: CONNECTIONS } }
    const ai = { provider: at(kind, models) }
    const binds = [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
    const { base, ask } = await gatewayOf(t, { config, binds })
    const client = connect(base, { settings: { initialWindowSize: 0 } })
    client.on('error', () => {})
    t.after(() => client.destroy())
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
    const streams = Array.from({ length: CONNECTIONS }, () => {
      const stream = client.request({ ':method': 'POST', ':path': '/v1/chat/completions' })
      stream.on('error', () => {})
      stream.end(JSON.stringify({ ...body, stream: true }))
      return stream
    })
    await Promise.all(streams.map((stream) => once(stream, 'response')))
    const answered = await ask('/v1/chat/completions', body)
    equal(answered.status, 200)
    await answered.text()
    equal(models.requests.length, CONNECTIONS + 1)
  })
}
