/** Claude on Bedrock by InvokeModel: what clients of Anthropic's format send and get passes as it is. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { encodeMessage } from '#backends/llm/testing/aws-event-stream.ts'
import { aws, checkSignatures, gateway, KEYS, models, there } from '#engine/testing/llm.ts'
import type { Models } from '#engine/testing/models.ts'

const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const ANSWER = {
  id: 'msg_bdrk_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content: [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'text', text: 'Hello' }
  ],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 0 },
  new_of_tomorrow: { a: 1 }
}
const { content: _, ...HEAD } = ANSWER
const EVENTS = [
  { type: 'message_start', message: { ...HEAD, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'event_of_tomorrow', a: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 5, outputTokenCount: 2 } }
]

const EVENT_STREAM = 'application/vnd.amazon.eventstream'
const text = (value: string) => ({ type: 'string', value }) as const
const message = (kind: 'event' | 'exception', name: string, payload: object) =>
  encodeMessage(
    new Map([
      [`:${kind}-type`, text(name)],
      [':content-type', text('application/json')],
      [':message-type', text(kind)]
    ]),
    JSON.stringify(payload)
  )
const chunk = (event: object) =>
  message('event', 'chunk', { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' })

/** Bedrock's runtime with Claude. */
function claude(mock: Models, stream: readonly Buffer[] = EVENTS.map(chunk)): string[] {
  return checkSignatures(mock, KEYS, ({ path }, response) => {
    const isStreamed = path.endsWith('/invoke-with-response-stream')
    response.writeHead(200, {
      'content-type': isStreamed ? EVENT_STREAM : 'application/json',
      'x-amzn-requestid': 'r'
    })
    if (!isStreamed) response.end(JSON.stringify(ANSWER))
    else {
      for (const bytes of stream) response.write(bytes)
      response.end()
    }
  })
}

const invoke = (mock: Models, more: object = {}) => ({
  provider: { bedrock: { model: MODEL, region: 'eu-west-1', api: 'invoke' }, ...there(mock), policies: aws(KEYS) },
  routes: { '/messages': 'Messages', '/count_tokens': 'AnthropicTokenCount', '*': 'Completions' },
  ...more
})

const HI = [{ role: 'user' as const, content: 'Hi' }]
const BODY = { model: 'claude', max_tokens: 9, messages: HI, new_field: { b: 1 } }
const PATH = `/model/${encodeURIComponent(MODEL)}/invoke`

test('a request and its answer are those of the client, but for what Bedrock has elsewhere', async (t) => {
  const mock = await models(t)
  const problems = claude(mock)
  const { ask } = await gateway(t, invoke(mock))
  const betas = 'interleaved-thinking-2025-05-14, claude-code-20250219,advanced-tool-use-2025-11-20'
  const answer = await ask('/v1/messages', BODY, { 'anthropic-beta': betas, 'anthropic-version': '2023-06-01' })
  deepEqual([answer.status, await answer.json(), problems], [200, ANSWER, []])
  equal(answer.headers.get('x-weir-dropped'), 'anthropic-beta: claude-code-20250219')
  const [{ path, body, headers }] = mock.requests as [Models['requests'][number]]
  const { model: _, ...rest } = BODY
  const anthropic_beta = ['interleaved-thinking-2025-05-14', 'tool-search-tool-2025-10-19']
  deepEqual([path, body], [PATH, { anthropic_beta, anthropic_version: 'bedrock-2023-05-31', ...rest }])
  deepEqual([headers['anthropic-beta'], headers['anthropic-version']], [undefined, undefined])
})

test('a large request is the same, written elsewhere', async (t) => {
  const mock = await models(t)
  const problems = claude(mock)
  const { ask } = await gateway(t, invoke(mock))
  const long = { ...BODY, messages: [{ role: 'user', content: 'x'.repeat(300_000) }] }
  const answer = await ask('/v1/messages', long, { 'anthropic-beta': 'effort-2025-11-24,other' })
  deepEqual([answer.status, answer.headers.get('x-weir-dropped'), problems], [200, 'anthropic-beta: other', []])
  deepEqual(mock.requests[0]!.body.anthropic_beta, ['effort-2025-11-24'])
})

test("streams are the client's events, which its SDK reads", async (t) => {
  const mock = await models(t)
  const problems = claude(mock)
  const { port, ask } = await gateway(t, invoke(mock))
  const client = new Anthropic({ baseURL: `http://127.0.0.1:${port}`, apiKey: 'k', maxRetries: 0 })
  const final = await client.messages.stream({ model: 'claude', max_tokens: 9, messages: HI }).finalMessage()
  deepEqual([final.content, final.usage.cache_read_input_tokens, problems], [ANSWER.content, 3, []])
  equal(mock.requests[0]!.path, `${PATH}-with-response-stream`)
  equal(mock.requests[0]!.body.stream, undefined)
  const raw = await ask('/v1/messages', { ...BODY, stream: true })
  equal(raw.headers.get('content-type'), 'text/event-stream')
  const events = (await raw.text()).trim().split('\n\n')
  deepEqual(
    events.map((event) => JSON.parse(event.split('\ndata: ')[1]!)),
    EVENTS
  )
})

test('guards see the texts of such streams', async (t) => {
  const mock = await models(t)
  claude(mock)
  const promptGuard = { response: [{ regex: { action: 'Mask', matches: ['Hello'] } }] }
  const { ask } = await gateway(t, invoke(mock, { promptGuard }))
  const streamed = await (await ask('/v1/messages', { ...BODY, stream: true })).text()
  equal(streamed.includes('Hello'), false)
  match(streamed, /event: message_stop/)
})

test('exceptions are errors of the client, in a stream and alone', async (t) => {
  const mock = await models(t)
  const busy = message('exception', 'modelStreamErrorException', { message: 'busy' })
  claude(mock, [...EVENTS.slice(0, 3).map(chunk), busy])
  const { ask } = await gateway(t, invoke(mock))
  const streamed = await (await ask('/v1/messages', { ...BODY, stream: true })).text()
  match(streamed, /thinking_delta.*event: error\ndata: \{"type":"error".*"busy"/s)
  mock.instead = (_, response) => {
    response.writeHead(429, { 'content-type': 'application/json', 'x-amzn-requestid': 'r' })
    response.end('{"message":"Too many tokens"}')
    return true
  }
  const answer = await ask('/v1/messages', BODY)
  const { type, error } = (await answer.json()) as { type: string; error: { type: string; message: string } }
  deepEqual([answer.status, type, error.type, error.message], [429, 'error', 'rate_limit_error', 'Too many tokens'])
})

test('what is broken ends with an error of the client', async (t) => {
  const mock = await models(t)
  const wrong = message('event', 'chunk', { bytes: Buffer.from('no json').toString('base64') })
  for (const bytes of [wrong, message('event', 'chunk', { p: 'x' }), Buffer.alloc(64, 1)]) {
    claude(mock, [chunk(EVENTS[0]!), bytes])
    const { ask } = await gateway(t, invoke(mock))
    match(await (await ask('/v1/messages', { ...BODY, stream: true })).text(), /event: error/)
  }
})

test('other clients, other models and counts go by Converse', async (t) => {
  const mock = await models(t)
  const problems = checkSignatures(mock, KEYS, (request, response) => {
    if (!request.path.endsWith('/count-tokens')) mock.answer(request, response)
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"inputTokens":7}')
  })
  const { ask } = await gateway(t, invoke(mock))
  equal((await ask('/v1/chat/completions', { model: 'claude', messages: HI })).status, 200)
  const count = await ask('/v1/messages/count_tokens', { model: 'claude', messages: HI })
  deepEqual(await count.json(), { input_tokens: 7 })
  const nova = {
    bedrock: { model: 'amazon.nova-pro-v1:0', region: 'eu-west-1', api: 'invoke' },
    ...there(mock),
    policies: aws(KEYS)
  }
  const other = await gateway(t, { provider: nova, routes: { '*': 'Messages' } })
  equal((await other.ask('/v1/messages', BODY)).status, 400)
  equal((await other.ask('/v1/messages', { model: 'claude', max_tokens: 9, messages: HI })).status, 200)
  const ends = mock.requests.map(({ path }) => path.split('/').at(-1))
  deepEqual([ends, problems], [['converse', 'count-tokens', 'converse'], []])
})

test('a guardrail goes with Converse', async (t) => {
  const mock = await models(t)
  const bedrock = { api: 'invoke', guardrail: { identifier: 'g', version: '1' } }
  await rejects(gateway(t, { provider: { bedrock, ...there(mock) } }), /guardrail.*goes with api: converse/s)
})
