/** What providers and services may try so that something gets past a guard. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { test } from 'node:test'
import { frame } from '#backends/llm/stream/translating-tap.ts'
import { encodeEvent } from '#backends/llm/testing/aws-event-stream.ts'
import { type SseEvent, SseReader } from '#engine/http/sse.ts'
import { CHAT, chat, DIALECTS, regex, SSN, sse, stand } from './guards.fixture.ts'
import { hook, says, service } from './service.fixture.ts'

const LINE_ENDS = ['\n', '\r', '\r\n']

test('an event that is framed is read as one event, whatever line ends it has', () => {
  for (const end of LINE_ENDS) {
    const bytes = Buffer.from(frame({ name: `a${end}data: b${end}${end}data: c`, data: `{"a":${end}1}${end}` }))
    const events: SseEvent[] = []
    new SseReader().push(bytes, 0, bytes.length, events)
    equal(events.length, 1)
    equal(events[0]!.data, '{"a":\n1}\n')
  }
})

test("no name of Bedrock's events says what no guard has seen", async (t) => {
  const webhook = await service(t)
  for (const guard of [regex(), hook(webhook.port)]) {
    const { models, ask } = await stand(t, { response: [guard] }, { bedrock: {}, policies: { auth: { key: 'k' } } })
    for (const end of LINE_ENDS) {
      const event = JSON.stringify({ contentBlockIndex: 0, delta: { text: SSN } })
      const name = `contentBlockDelta${end}data: ${event}${end}${end}event: contentBlockStop`
      models.instead = (_, response) => {
        response.setHeader('content-type', 'application/vnd.amazon.eventstream')
        response.write(encodeEvent('event', 'messageStart', '{"role":"assistant"}'))
        response.write(encodeEvent('event', name, '{"contentBlockIndex":0}'))
        response.write(encodeEvent('event', 'messageStop', '{"stopReason":"end_turn"}'))
        response.end(encodeEvent('event', 'metadata', '{"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}'))
        return true
      }
      const text = await (await ask(CHAT, chat('hi', { stream: true, max_tokens: 5 }))).text()
      ok(!text.includes(SSN), text)
    }
    equal(models.requests.length, LINE_ENDS.length)
  }
})

test('a rejection with a status that has no body leaves nothing of the answer, nor its length', async (t) => {
  const webhook = await service(t)
  const { models, gateway } = await stand(t, { response: [hook(webhook.port)] })
  const whole = { choices: [{ index: 0, message: { role: 'assistant', content: SSN }, finish_reason: 'stop' }] }
  const events = sse([
    [null, { choices: [{ index: 0, delta: { content: SSN } }] }],
    [null, '[DONE]']
  ])
  for (const [type, answer] of [
    ['application/json', JSON.stringify(whole)],
    ['text/event-stream', events]
  ] as const) {
    models.instead = (_, response) => {
      response.setHeader('content-type', type).end(answer)
      return true
    }
    for (const status of [204, 304]) {
      webhook.answer = says({ action: { body: 'no', status_code: status } })
      const socket = connect(gateway.port, '127.0.0.1')
      const body = JSON.stringify(chat('hi'))
      socket.write(
        `POST ${CHAT} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`
      )
      const [head = '', rest] = (await textOf(socket)).split('\r\n\r\n')
      deepEqual(
        [head.includes(` ${status} `), /content-length|content-type/i.test(head), rest],
        [true, false, ''],
        head
      )
    }
  }
})

const MESSAGES = '/v1/messages'
const RESPONSES = '/v1/responses'
const GEMINI = '/v1beta/models/m:streamGenerateContent?alt=sse'
const OF_PART = { output_index: 0, content_index: 0, item_id: 'i' }
const delta = (delta: unknown, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
const candidate = (content: unknown, more: object = {}) => ({ candidates: [{ index: 0, content, ...more }] })

/** Events of native streams with a text where the formats of today have none, or another kind of value. */
const ODD: readonly (readonly [path: string, event: object])[] = [
  [CHAT, { ...delta({ content: 'a' }), content: SSN }],
  [CHAT, { choices: [], citations: [SSN], search_results: [{ title: 'a', snippet: SSN }] }],
  [CHAT, delta({}, { refusal: SSN, message: { content: SSN } })],
  [CHAT, delta([{ content: SSN }])],
  [CHAT, delta(SSN)],
  [CHAT, { choices: { 0: { index: 0, delta: { content: SSN } } } }],
  [CHAT, { choices: [[{ index: 0, delta: { content: SSN } }], SSN] }],
  [CHAT, { Choices: [{ index: 0, delta: { content: SSN } }] }],
  [CHAT, { error: { message: SSN } }],
  [MESSAGES, { type: 'content_block_new', index: 0, text: SSN }],
  [MESSAGES, { index: 0, delta: { text: SSN } }],
  [MESSAGES, { type: 'message_start', message: { content: [{ type: 'text', text: SSN }], stop_details: SSN } }],
  [MESSAGES, { type: 'message_start', message: SSN }],
  [MESSAGES, { type: 'message_delta', delta: { stop_details: { explanation: SSN } } }],
  [
    MESSAGES,
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' }, delta: { text: SSN } }
  ],
  [MESSAGES, { type: 'content_block_stop', index: 0, content_block: { text: SSN } }],
  [MESSAGES, { type: 'error', error: { type: 'api_error', message: SSN } }],
  [MESSAGES, { type: 'message_stop', text: SSN }],
  [RESPONSES, { type: 'response.new.done', ...OF_PART, summary: SSN }],
  [RESPONSES, { ...OF_PART, delta: SSN }],
  [RESPONSES, { type: 'response.output_text.delta', ...OF_PART, delta: 'a', text: SSN }],
  [RESPONSES, { type: 'response.output_text.delta', ...OF_PART, delta: 'a', response: { output: [{ text: SSN }] } }],
  [RESPONSES, { type: 'error', message: SSN }],
  [RESPONSES, { type: 'response.failed', response: { output: [], error: { code: 'x', message: SSN } } }],
  [RESPONSES, { type: 'response.completed', response: { output: [], output_text: SSN } }],
  [RESPONSES, { type: 'response.completed', response: SSN }],
  [GEMINI, { text: SSN, promptFeedback: { blockReasonMessage: SSN } }],
  [GEMINI, { error: { message: SSN } }],
  [GEMINI, candidate({ text: SSN, parts: [] })],
  [GEMINI, candidate(SSN)],
  [GEMINI, candidate({ parts: [SSN] })],
  [GEMINI, candidate({ parts: { text: SSN } })],
  [GEMINI, { candidates: { content: { parts: [{ text: SSN }] } } }],
  [GEMINI, { candidates: [[{ content: { parts: [{ text: SSN }] } }]] }]
]
const BODY = { ...chat('hi', { stream: true }), max_tokens: 5, input: 'hi', contents: [{ parts: [{ text: 'hi' }] }] }
const providerOf = (url: string) => DIALECTS.find(({ path }) => url.startsWith(path))!.provider

test('a text in an unknown place of an event is searched, and sent to services', async (t) => {
  const webhook = await service(t)
  for (const { path } of DIALECTS) {
    const provider = providerOf(path)
    const masked = await stand(t, { response: [regex()] }, provider)
    const judged = await stand(t, { response: [hook(webhook.port)] }, provider)
    for (const [of, event] of ODD) {
      if (of !== path) continue
      const name = 'type' in event ? (event.type as string) : null
      for (const { models, ask } of [masked, judged]) {
        webhook.seen.length = 0
        models.instead = (_, response) => {
          response.setHeader('content-type', 'text/event-stream').end(sse([[name, event]]))
          return true
        }
        const text = await (await ask(path, BODY)).text()
        if (models === masked.models) deepEqual([text.includes(SSN), text.includes('<SSN>')], [false, true], text)
        else ok(JSON.stringify(webhook.seen).includes(SSN), `${path} ${JSON.stringify(event)}`)
      }
    }
  }
})

const WHOLE: readonly (readonly [path: string, answer: object])[] = [
  [CHAT, { choices: [], citations: [SSN], search_results: [{ snippet: SSN }], error: { message: SSN } }],
  [MESSAGES, { type: 'message', content: [], stop_details: { explanation: SSN } }],
  [RESPONSES, { output: [], output_text: SSN, error: { message: SSN } }],
  [GEMINI, { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: SSN } }]
]

test('and of a whole answer; what it has cost and who has made it is no text', async (t) => {
  const webhook = await service(t)
  const made = { id: 'x', model: 'm', system_fingerprint: SSN, usage: { note: SSN } }
  for (const [path, answer] of WHOLE) {
    const { models, ask } = await stand(t, { response: [hook(webhook.port), regex()] }, providerOf(path))
    webhook.seen.length = 0
    models.instead = (_, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...answer, ...made }))
      return true
    }
    const got = await (await ask(path, { ...BODY, stream: false })).json()
    const texts = webhook.seen[0]!.body.body.choices.map(
      ({ message }: { message: { content: string } }) => message.content
    )
    ok(
      texts.every((text: string) => text === SSN),
      `${texts}`
    )
    deepEqual(got, { ...JSON.parse(JSON.stringify(answer).replaceAll(SSN, '<SSN>')), ...made })
  }
})
