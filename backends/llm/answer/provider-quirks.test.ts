/** What servers say in ways of their own: errors behind 200, reasons to stop, whole messages at the end of streams. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientFormat, FormatName, Json, JsonObject } from '#backends/llm/conversation.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { translateAnswer } from '#backends/llm/offload/job.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import { nativeTap } from '#backends/llm/stream/native-tap.ts'
import { TranslatingTap } from '#backends/llm/stream/translating-tap.ts'
import { at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { SseReader } from '#engine/http/sse.ts'
import { maskedError } from './masked-errors.ts'

const CONTEXT = { model: 'm', wantsUsage: false, at: 0, id: 'id' }
const EX = {} as Exchange

function translated(from: FormatName, body: Json, to: ClientFormat) {
  const bytes = Buffer.from(JSON.stringify(body))
  const made = translateAnswer({ bytes, status: 200, from, to, context: CONTEXT, clientTools: NO_CLIENT_TOOLS })
  return { ...made, body: made.bytes === null ? null : JSON.parse(Buffer.from(made.bytes).toString()) }
}

const isNative = true
const tapFor = (count: number) =>
  nativeTap({
    format: 'completions',
    reader: FORMATS.completions.streamReader(count),
    writer: () => FORMATS.completions.streamWriter(CONTEXT, new Losses()),
    hidesUsage: true,
    offload: null
  })!

function translating(from: FormatName, to: ClientFormat, more: { count?: number; isNative?: boolean } = {}): CostTap {
  const losses = new Losses()
  const writer = FORMATS[to].streamWriter(CONTEXT, losses)
  const parts = { from: FORMATS[from], framing: new SseReader(), writer, losses, isNative: false }
  return new TranslatingTap({ ...parts, ...more })
}

function streamed(tap: CostTap, events: readonly (JsonObject | string)[]): string {
  let text = ''
  for (const event of events) {
    const bytes = Buffer.from(typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`)
    text += tap.body(EX, bytes, 0, bytes.length)?.toString() ?? ''
  }
  return text + (tap.end(EX)?.toString() ?? '')
}

const chunk = (delta: JsonObject, finish: string | null = null, index = 0): JsonObject => ({
  id: 'c',
  model: 'g',
  choices: [{ index, delta, finish_reason: finish }]
})

// --- errors ---

const FAILED = { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'error' }
const ERRORS: readonly (readonly [from: FormatName, body: Json, status: number, message: string])[] = [
  ['completions', { error: { message: 'busy', code: 503 } }, 503, 'busy'],
  ['completions', { choices: [], error: { message: 'busy', code: 503 } }, 503, 'busy'],
  ['completions', { choices: [FAILED], error: { message: 'busy', code: 502 } }, 502, 'busy'],
  ['completions', { choices: [{ ...FAILED, error: { message: 'busy', code: 502 } }] }, 502, 'busy'],
  ['completions', { object: 'error', message: 'busy', type: 'InternalServerError', code: 503 }, 503, 'busy'],
  ['completions', { detail: 'busy' }, 500, 'busy'],
  ['completions', { detail: [{ msg: 'busy' }] }, 500, '[{"msg":"busy"}]'],
  ['completions', { message: 'busy', code: 429 }, 429, 'busy'],
  ['completions', { choices: null, base_resp: { status_code: 1002, status_msg: 'busy' } }, 429, 'busy'],
  ['completions', { choices: null, base_resp: { status_code: 1000, status_msg: 'busy' } }, 500, 'busy'],
  ['completions', [{ error: { message: 'busy', code: 503 } }], 503, 'busy'],
  ['messages', { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, 503, 'busy'],
  ['messages', { message: 'busy', status: 429 }, 429, 'busy'],
  ['gemini', [{ error: { code: 503, message: 'busy', status: 'UNAVAILABLE' } }], 503, 'busy'],
  ['responses', { detail: 'busy' }, 500, 'busy'],
  ['converse', { __type: 'ThrottlingException', message: 'busy' }, 429, 'busy']
]

test('an error behind a status of 200 is one, in whatever words', () => {
  for (const [from, body, status, message] of ERRORS) {
    for (const to of ['completions', 'messages'] as const) {
      if (to === from) continue
      const answer = translated(from, body, to)
      deepEqual([answer.status, answer.body?.error.message], [status, message], JSON.stringify(body))
    }
  }
})

test('what a generation has used that has failed is owed', () => {
  const usage = { billed_units: { input_tokens: 46, output_tokens: 14 } }
  const body = { message: { content: [{ type: 'text', text: 'Half' }] }, finish_reason: 'ERROR', usage }
  const { status, cost } = translated('cohereV2', body, 'completions')
  deepEqual([status, cost?.usage?.input, cost?.usage?.output], [500, 46, 14])
  equal(translated('completions', { error: { message: 'busy', code: 503 } }, 'messages').cost, null)
})

test('an answer with a word about an error is an answer', () => {
  const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }
  for (const body of [
    { choices: [choice], error: { message: 'a warning' } },
    { choices: [choice, { ...FAILED, index: 1, error: { message: 'x' } }] },
    { choices: [choice], message: 'ok', detail: 'fine' },
    { object: 'response', status: 'failed', output: [], error: { code: 'server_error', message: 'x' } }
  ]) {
    equal(maskedError('completions', body as Json), null, JSON.stringify(body))
  }
})

test('another provider is asked after each of them, and a stream ends with them', async (t) => {
  const [a, b] = [await provider(t), await provider(t)]
  for (const [from, body, status, message] of ERRORS) {
    if (from !== 'completions') continue
    a.instead = (request, response) => {
      const text = request.body.stream === true ? `data: ${JSON.stringify(body)}\n\n` : JSON.stringify(body)
      const type = request.body.stream === true ? 'text/event-stream' : 'application/json'
      response.writeHead(200, { 'content-type': type }).end(text)
      return true
    }
    const groups = [a, b].map((one, i) => ({ providers: [{ name: `p${i}`, ...at('custom', one) }] }))
    const { ask } = await gateway(t, { groups, routes: { '*': 'Completions' } })
    const before = b.requests.length
    const answer = await ask('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
    equal((await jsonOf(answer)).choices.length, 1, JSON.stringify(body))
    equal(b.requests.length, before + 1)
    if (Array.isArray(body)) continue
    const text = streamed(translating('completions', 'messages'), [chunk({ content: 'x' }), body as JsonObject])
    match(text, /event: error/, JSON.stringify(body))
    equal(text.includes(JSON.stringify(message)), true, `${status} ${text}`)
  }
})

// --- reasons to stop ---

test('an answer with tool calls ends as tool use, whatever finish reason the provider sends', () => {
  const use = { type: 'tool_use', id: 't', name: 'f', input: {} }
  for (const stop of ['end_turn', null, undefined]) {
    const whole = translated('messages', { id: 'i', content: [use], stop_reason: stop } as Json, 'completions')
    equal(whole.body.choices[0].finish_reason, 'tool_calls')
    const text = streamed(translating('messages', 'completions'), [
      {
        type: 'message_start',
        message: { id: 'm', model: 'c', content: [], usage: { input_tokens: 1, output_tokens: 1 } }
      },
      { type: 'content_block_start', index: 0, content_block: use },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stop ?? null }, usage: { output_tokens: 4 } },
      { type: 'message_stop' }
    ])
    match(text, /"finish_reason":"tool_calls"/)
    const content = [{ toolUse: { toolUseId: 't', name: 'f', input: {} } }]
    const output = { message: { role: 'assistant', content } }
    const bedrock = translated('converse', { output, stopReason: stop } as Json, 'messages')
    equal(bedrock.body.stop_reason, 'tool_use')
  }
  const cut = translated('messages', { id: 'i', content: [use], stop_reason: 'max_tokens' }, 'completions')
  equal(cut.body.choices[0].finish_reason, 'length')
})

// --- members ---

test('an empty field does not hide the field beside it', () => {
  const message = { role: 'assistant', content: 'x', reasoning_content: '', reasoning: 'deep' }
  const thought = translated('completions', { choices: [{ index: 0, message, finish_reason: 'stop' }] }, 'messages')
  deepEqual([thought.body.content[0].thinking, thought.lost.count], ['deep', 0])
  for (const text of ['', 'first']) {
    const content = [{ text, toolUse: { toolUseId: 't', name: 'f', input: {} } }]
    const called = translated(
      'converse',
      { output: { message: { role: 'assistant', content } }, stopReason: 'tool_use' },
      'messages'
    )
    deepEqual(
      called.body.content.map(({ type }: { type: string }) => type),
      text === '' ? ['tool_use'] : ['text', 'tool_use']
    )
    equal(called.lost.count, 0)
  }
})

// --- streams ---

test('a whole message at the end of a stream is not repeated', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }
  const message = { role: 'assistant', content: 'Hello', reasoning_content: 'hm', tool_calls: [call] }
  const last = (more: JsonObject): JsonObject => ({
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'tool_calls', message: more }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  })
  const chunks = [chunk({ reasoning_content: 'hm' }), chunk({ content: 'Hel' }), chunk({ content: 'lo' })]
  for (const events of [
    [...chunks, chunk({ tool_calls: [{ index: 0, ...call }] }), last(message)],
    // Its last delta has said why it ends.
    [...chunks, chunk({ tool_calls: [{ index: 0, ...call }] }, 'tool_calls'), last(message)],
    // Only the whole has the call; or it has everything.
    [...chunks, last(message)],
    [last(message)]
  ]) {
    const tap = translating('completions', 'messages')
    const text = streamed(tap, [...events, 'data: [DONE]\n\n'])
    const pieces = (name: string) =>
      [...text.matchAll(new RegExp(`"${name}":"((?:[^"\\\\]|\\\\.)*)"`, 'g'))].map(([, one]) => one)
    deepEqual([pieces('text').join(''), pieces('thinking').join('')], ['Hello', 'hm'], text)
    deepEqual([pieces('partial_json').join(''), pieces('stop_reason')], ['{\\"x\\":1}', ['tool_use']])
    equal(tap.cost.usage?.output, 2)
  }
})

test('a stream of several answers is whole when all of them have ended', () => {
  const half = [chunk({ content: 'a' }), chunk({ content: 'half of' }, null, 1), chunk({}, 'stop')]
  // The second has not even begun.
  for (const events of [half, [chunk({ content: 'a' }), chunk({}, 'stop')]]) {
    for (const tap of [tapFor(2), translating('completions', 'completions', { isNative, count: 2 })]) {
      match(streamed(tap, events), /ended its answer before it was complete/)
      equal(tap.cost.hasBroken, true)
    }
    match(streamed(translating('completions', 'gemini', { count: 2 }), events), /before it was complete/)
    for (const tap of [tapFor(2), translating('completions', 'completions', { isNative, count: 2 })]) {
      match(streamed(tap, [...half, chunk({}, 'length', 1)]), /length"\}\]\}\n\ndata: \[DONE\]\n\n$/)
    }
  }
  match(streamed(tapFor(1), [chunk({ content: 'a' }, 'stop')]), /\[DONE\]/)
})

test('how many answers are asked for is known of large requests too', async (t) => {
  const models = await provider(t)
  models.instead = (_, response) => {
    const events = [chunk({ content: 'a' }), chunk({}, 'stop')].map((one) => `data: ${JSON.stringify(one)}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
    return true
  }
  const { ask } = await gateway(t, { provider: at('custom', models), routes: { '*': 'Completions' } })
  for (const content of ['Hi', 'x'.repeat(200_000)]) {
    for (const n of [1, 2]) {
      const body = { model: 'm', n, stream: true, messages: [{ role: 'user', content }] }
      const text = await (await ask('/v1/chat/completions', body)).text()
      equal(text.includes('before it was complete'), n === 2)
    }
  }
})

test('usage that the client did not ask for is hidden wherever lines end', () => {
  const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } })
  const first = JSON.stringify(chunk({ content: 'a' }))
  const stop = JSON.stringify(chunk({}, 'stop'))
  for (const [one, two] of [
    ['\r', '\r'],
    ['\n', '\r\n'],
    ['\r\n', '\n'],
    ['\n', '\r'],
    ['\r\n', '\r']
  ]) {
    const event = (data: string) => `data: ${data}${one}${two}`
    const text = streamed(tapFor(1), [[first, stop, usage, '[DONE]'].map(event).join('')])
    equal(text.trimEnd(), [first, stop, '[DONE]'].map(event).join('').trimEnd(), JSON.stringify([one, two]))
  }
})
