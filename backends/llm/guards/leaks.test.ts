/** What providers and services may try so that something gets past a guard. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { test } from 'node:test'
import { encodeEvent } from '#backends/llm/event-stream.ts'
import { frame } from '#backends/llm/stream.ts'
import { type SseEvent, SseReader } from '#engine/http/sse.ts'
import { CHAT, chat, regex, SSN, sse, stand } from './guards.fixture.ts'
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
  const asked = await service(t)
  for (const guard of [regex(), hook(asked.port)]) {
    const { models, ask } = await stand(t, { response: [guard] }, { bedrock: {}, policies: { auth: { key: 'k' } } })
    for (const end of LINE_ENDS) {
      const said = JSON.stringify({ contentBlockIndex: 0, delta: { text: SSN } })
      const name = `contentBlockDelta${end}data: ${said}${end}${end}event: contentBlockStop`
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
    equal(models.asked.length, LINE_ENDS.length)
  }
})

test('a rejection with a status that has no body leaves nothing of the answer, nor its length', async (t) => {
  const asked = await service(t)
  const { models, gateway } = await stand(t, { response: [hook(asked.port)] })
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
      asked.answer = says({ action: { body: 'no', status_code: status } })
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
