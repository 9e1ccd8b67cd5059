/**
 * Many streams at the same time: none loses, swaps or shares anything. The bench does the same with 512
 * (chat-stream-512-*).
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { at, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { parseEvents } from '#engine/testing/sse.ts'

const EACH = 40
const PIECES = 25
const KINDS = ['native', 'converted', 'guarded'] as const
const STREAMS = EACH * KINDS.length

/** Of no two streams the same. */
const usageOf = (stream: number) => ({ input: 1000 + stream, output: 10 + stream })
const textOf = (stream: number, piece: number) => `[${stream}.${piece}]`

const chunk = (more: object) => ({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...more })
const choice = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }]
})

/** The events of one stream as its provider writes them. */
function completionsOf(stream: number): string[] {
  const { input, output } = usageOf(stream)
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  return [
    chunk(choice({ role: 'assistant', content: '' })),
    ...Array.from({ length: PIECES }, (_, i) => chunk(choice({ content: textOf(stream, i) }))),
    chunk(choice({}, 'stop')),
    chunk({ choices: [], usage })
  ].map((data) => `data: ${JSON.stringify(data)}\n\n`)
}

function messagesOf(stream: number): string[] {
  const { input, output } = usageOf(stream)
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] }
  const stops = { stop_reason: null, stop_sequence: null }
  const usage = { input_tokens: input, output_tokens: 1 }
  return [
    { type: 'message_start', message: { ...head, ...stops, usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...Array.from({ length: PIECES }, (_, i) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: textOf(stream, i) }
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { ...stops, stop_reason: 'end_turn' }, usage: { output_tokens: output } },
    { type: 'message_stop' }
  ].map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
}

interface Open {
  readonly response: ServerResponse
  readonly events: string[]
}

/** All are open before the first has said anything; then each says one event in its turn, often cut in two. */
async function sayAll(all: readonly Open[]): Promise<void> {
  const most = Math.max(...all.map(({ events }) => events.length))
  for (let i = 0; i < most; i++) {
    for (const [n, { response, events }] of all.entries()) {
      const text = events[i]
      if (text === undefined) continue
      const cut = (n * 7 + i * 13) % text.length
      response.write(text.slice(0, cut))
      if (n % 16 === 0) await turn()
      response.write(text.slice(cut))
    }
    await turn()
  }
  for (const { response } of all) response.end()
}

test(`${STREAMS} streams at once, native, translated and guarded: whole, in order, with their own usage`, async (t) => {
  const models = await provider(t)
  const open: Open[] = []
  models.instead = ({ path, body }, response) => {
    const stream = Number(JSON.stringify(body).match(/stream number (\d+)/)![1])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    const events = path.endsWith('/messages') ? messagesOf(stream) : [...completionsOf(stream), 'data: [DONE]\n\n']
    open.push({ response, events })
    if (open.length === STREAMS) void sayAll(open)
    return true
  }
  const guards = { response: [{ regex: { builtins: ['Ssn', 'CreditCard', 'PhoneNumber', 'Email'] } }] }
  const backends = {
    native: { provider: at('openai', models) },
    converted: { provider: at('anthropic', models) },
    guarded: { provider: at('openai', models), promptGuard: guards }
  }
  const routes = KINDS.map((name) => ({
    name,
    matches: [{ path: { pathPrefix: `/${name}` } }],
    backends: [{ ai: backends[name] }]
  }))
  const { ask, metrics } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes }] }] })
  const streams = Array.from({ length: STREAMS }, async (_, stream) => {
    const messages = [{ role: 'user', content: `stream number ${stream}` }]
    const body = { model: 'm', max_tokens: 99, stream: true, stream_options: { include_usage: true }, messages }
    const response = await ask(`/${KINDS[stream % KINDS.length]}/v1/chat/completions`, body)
    equal(response.status, 200)
    const events = parseEvents(await response.text()).map(({ data }) => data)
    equal(events.at(-1), '[DONE]', `stream ${stream}`)
    const chunks = events.slice(0, -1).map((data) => JSON.parse(data))
    ok(chunks.every(({ error }) => error === undefined))
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    equal(text, Array.from({ length: PIECES }, (_, i) => textOf(stream, i)).join(''))
    const { prompt_tokens, completion_tokens } = chunks.at(-1).usage
    deepEqual({ input: prompt_tokens, output: completion_tokens }, usageOf(stream))
  })
  await Promise.all(streams)
  const counted = (type: string) => [
    ...metrics().matchAll(new RegExp(`gen_ai_client_token_usage_sum\\{[^}]*"${type}"\\} (\\d+)`, 'g'))
  ]
  const total = (type: string) => counted(type).reduce((sum, [, tokens]) => sum + Number(tokens), 0)
  const numbers = Array.from({ length: STREAMS }, (_, stream) => usageOf(stream))
  const sum = (what: 'input' | 'output') => numbers.reduce((all, usage) => all + usage[what], 0)
  deepEqual([total('input'), total('output')], [sum('input'), sum('output')])
})
