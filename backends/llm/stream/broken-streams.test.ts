/** Streams that break behind some of their content: each client is shown so in its own format, and its stream ends. */
import { equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'

const TURNS = [{ role: 'user', content: 'Hi' }]
/** Path and request of each client, and how its format says that something has gone wrong. */
const CLIENTS = {
  completions: ['/v1/chat/completions', { messages: TURNS }, /"error":\{[^\n]*"message":/],
  messages: [
    '/v1/messages',
    { max_tokens: 9, messages: TURNS },
    /^event: error\ndata: \{"type":"error","error":\{"type":/
  ],
  responses: ['/v1/responses', { input: 'Hi' }, /"type":"(?:error|response\.failed)"/],
  gemini: [
    '/v1beta/models/m:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    /"error":\{"code":5\d\d,/
  ]
} as const
type Client = keyof typeof CLIENTS

const data = (value: object, name = ''): string =>
  `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`
const text = { type: 'text', text: '' }
const usage = { input_tokens: 3, output_tokens: 1 }
const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage }
const OVERLOADED = { type: 'overloaded_error', message: 'Overloaded' }

/** What each provider begins to answer, and the event with which it gives up. */
const PROVIDERS = {
  custom: [
    data({ id: 'c', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' } }] }),
    data({ error: { message: 'Overloaded', type: 'server_error', code: null } })
  ],
  anthropic: [
    data({ type: 'message_start', message }, 'message_start') +
      data({ type: 'content_block_start', index: 0, content_block: text }, 'content_block_start') +
      data(
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
        'content_block_delta'
      ),
    data({ type: 'error', error: OVERLOADED }, 'error')
  ],
  gemini: [
    data({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hello' }] } }], modelVersion: 'm' }),
    data({ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } })
  ]
} as const
type Provider = keyof typeof PROVIDERS

const BREAKS: Readonly<Record<string, (response: ServerResponse, error: string) => void>> = {
  'a connection that is lost': (response) => response.socket!.destroySoon(),
  'an end ahead of its time': (response) => response.end(),
  'an error event': (response, error) => response.end(error)
}

for (const from of Object.keys(PROVIDERS) as Provider[]) {
  for (const to of Object.keys(CLIENTS) as Client[]) {
    test(`from ${from} to a client of ${to}: an error in its words behind what has come`, async (t) => {
      const [path, request, error] = CLIENTS[to]
      const [begin, giveUp] = PROVIDERS[from]
      for (const [what, breakOff] of Object.entries(BREAKS)) {
        const models = await provider(t)
        models.instead = (_, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(begin, () => breakOff(response, giveUp))
          return true
        }
        const params = { host: '127.0.0.1', port: models.port, apiKey: 'k' }
        const { ask } = await gatewayOf(t, {
          llm: { port: 4000, models: [{ name: 'm', provider: from === 'custom' ? { custom: {} } : from, params }] }
        })
        const answer = await ask(path, to === 'gemini' ? request : { model: 'm', stream: true, ...request })
        equal(answer.status, 200, what)
        // Rejects where the connection is broken instead.
        const stream = await answer.text()
        match(stream, /Hello/, what)
        const events = stream.trimEnd().split('\n\n')
        const last = events.findLast((event) => error.test(event))
        ok(last !== undefined && events.indexOf(last) >= events.length - 2, `${what}: ${stream}`)
        for (const event of events) {
          const payload = event
            .split('\n')
            .find((line) => line.startsWith('data: '))
            ?.slice(6)
          if (payload !== undefined && payload !== '[DONE]') JSON.parse(payload)
        }
      }
    })
  }
}
