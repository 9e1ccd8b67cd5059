/** A provider whose streams break, and one that goes on with them, for tests. */
import { ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { ChatEvent, ClientFormat, JsonObject } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { SseReader } from '#engine/http/sse.ts'

const BEGUN = 'The sky is '
const REST = 'blue today.'
export const WHOLE = BEGUN + REST
export const TURNS = [{ role: 'user', content: 'Why?' }]

export const data = (value: object, name = ''): string =>
  `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`
export const named = (value: JsonObject): string => data(value, String(value.type))

/** Path and request of each client. */
export const CLIENTS = {
  completions: ['/v1/chat/completions', { messages: TURNS, max_tokens: 100 }],
  messages: ['/v1/messages', { max_tokens: 100, messages: TURNS }],
  responses: ['/v1/responses', { input: 'Why?', max_output_tokens: 100 }],
  gemini: [
    '/v1beta/models/m:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'Why?' }] }], generationConfig: { maxOutputTokens: 100 } }
  ]
} as const satisfies Record<ClientFormat, readonly [string, JsonObject]>

export const chunk = (delta: object, finish: string | null = null) =>
  data({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm1',
    choices: [{ index: 0, delta, finish_reason: finish }]
  })
const usage = { input_tokens: 3, output_tokens: 1 }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm1', content: [], usage }
export const piece = (text: string) =>
  named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm1', output: [], status: 'in_progress' }
const item = { id: 'msg_abc', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
const place = { item_id: 'msg_abc', output_index: 0, content_index: 0 }
const part = { type: 'output_text', text: '', annotations: [] }
const gemini = (text: string) =>
  data({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }],
    modelVersion: 'm1',
    responseId: 'g1'
  })

/** What each provider says until it breaks, event by event; behind the one before the last all of BEGUN is out. */
export const PROVIDERS = {
  openaiChat: [chunk({ role: 'assistant', content: '' }), chunk({ content: 'The sky' }), chunk({ content: ' is ' })],
  anthropic: [
    named({ type: 'message_start', message }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    piece('The sky'),
    piece(' is ')
  ],
  openai: [
    named({ type: 'response.created', sequence_number: 0, response }),
    named({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item }),
    named({ type: 'response.content_part.added', sequence_number: 2, ...place, part }),
    named({ type: 'response.output_text.delta', sequence_number: 3, ...place, delta: 'The sky' }),
    named({ type: 'response.output_text.delta', sequence_number: 4, ...place, delta: ' is ' })
  ],
  gemini: [gemini('The sky'), gemini(' is ')]
} as const
export type Provider = keyof typeof PROVIDERS

export const ERROR_EVENTS: { readonly [name in Provider]: string } = {
  openaiChat: data({ error: { message: 'Overloaded', type: 'server_error', code: null } }),
  anthropic: named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  openai: named({ type: 'error', code: 'server_error', message: 'Overloaded', sequence_number: 9 }),
  gemini: data({ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } })
}

export const BREAKS: Readonly<Record<string, (response: ServerResponse, error: string) => void>> = {
  'a connection that is lost': (response) => response.socket!.destroySoon(),
  'an end ahead of its time': (response) => response.end(),
  'an error event': (response, error) => response.end(error)
}

/** A gateway whose first provider breaks off behind `events`; the second, a vLLM, is asked for the rest. */
export async function pair(
  t: TestContext,
  from: Provider,
  events: readonly string[],
  breakOff: (r: ServerResponse) => void,
  more: object = {},
  file: object = {}
) {
  const [first, second] = [await provider(t), await provider(t)]
  first.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(events.join(''), () => breakOff(response))
    return true
  }
  second.instead = (request, response) => {
    const body = request.body as { messages: { role: string }[] }
    const text = body.messages.at(-1)!.role === 'assistant' ? rest(body as never) : WHOLE
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const done = data({
      id: 'x',
      model: 'm2',
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
    })
    const say = (delta: object, finish: string | null = null) =>
      data({ id: 'x', created: 9, model: 'm2', choices: [{ index: 0, delta, finish_reason: finish }] })
    response.end(
      `${say({ role: 'assistant', content: '' })}${[...text].map((content) => say({ content })).join('')}${say({}, 'stop')}${done}data: [DONE]\n\n`
    )
    return true
  }
  const at = (port: number) => ({ host: '127.0.0.1', port, apiKey: 'k' })
  const kind =
    from === 'openaiChat' ? { custom: {} } : from === 'openai' ? { custom: { formats: ['responses'] } } : from
  const models = [
    { name: 'one', provider: kind, params: at(first.port) },
    { name: 'two', provider: 'vllm', params: at(second.port) }
  ]
  const targets = [
    { model: 'one', priority: 0 },
    { model: 'two', priority: 1 }
  ]
  const virtualModels = [{ name: 'm', routing: { failover: { targets } } }]
  const llm = { port: 4000, models, virtualModels, streams: { continue: 1 }, ...more }
  const gateway = await gatewayOf(t, { llm, ...file })
  return { ...gateway, first, second }
}

/** What is left of WHOLE behind the beginning that the model is shown; it says the space before it again. */
const rest = ({ messages }: { messages: { content: string | { text: string }[] }[] }): string => {
  const { content } = messages.at(-1)!
  const begun = typeof content === 'string' ? content : content.map(({ text }) => text).join('')
  ok(WHOLE.startsWith(begun), begun)
  return WHOLE.slice(begun.length)
}

export function eventsOf(client: ClientFormat, text: string): ChatEvent[] {
  const events: { name: string; data: string }[] = []
  const bytes = Buffer.from(text)
  new SseReader().push(bytes, 0, bytes.length, events)
  const reader = FORMATS[client].streamReader()
  const all = events.flatMap((event) => [...reader.read(event)])
  return all.some(({ kind }) => kind === 'done') ? all : [...all, ...(reader.finish?.()?.events ?? [])]
}

export const textOf = (client: ClientFormat, stream: string): string => {
  const { choices } = assemble(eventsOf(client, stream), client)
  return choices[0]!.parts.map((one) => (one.kind === 'text' ? one.text : `<${one.kind}>`)).join('')
}
