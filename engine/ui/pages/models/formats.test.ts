import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { SentLine } from '#engine/admin/api/send.ts'
import { type Answer, grown, NONE, reasonIn } from './answer.ts'
import { type Chat, FORMATS, formatOf } from './formats.ts'

const chat: Chat = { model: 'gpt', system: 'Be short.', prompt: 'Hi', maxTokens: 9, isStream: true, more: { seed: 1 } }

/** Lines as they come for these pieces, in milliseconds from 10 on. */
function answerOf(id: string, type: string, pieces: readonly string[], status = 200): Answer {
  const headers: [string, string][] = [
    ['Content-Type', type],
    ['x-weir-cost', '0.01 USD']
  ]
  const lines: SentLine[] = [
    { kind: 'head', status, headers, ms: 5 },
    ...pieces.map((text, i): SentLine => ({ kind: 'piece', text, ms: 10 * (i + 1) })),
    { kind: 'waiting', ms: 90 },
    { kind: 'end', isCut: false, ms: 99 }
  ]
  return lines.reduce((answer, line) => grown(answer, line, formatOf(id)), NONE)
}

const events = (...values: object[]) => values.map((value) => `data: ${JSON.stringify(value)}\n\n`)
const facts = ({ text, calls, input, output, firstMs }: Answer) => [text, calls, input, output, firstMs]

test('each format has a path, the key where its clients have it, and a body with the system prompt', () => {
  deepEqual(
    FORMATS.map((format) => format.path(chat)),
    ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1beta/models/gpt:streamGenerateContent?alt=sse']
  )
  for (const format of FORMATS) {
    const body = JSON.stringify(format.body(chat))
    for (const part of ['Be short.', 'Hi', '9', '"seed":1']) equal(body.includes(part), true, `${format.id}: ${part}`)
    equal(JSON.stringify(format.headers('sk-1')).includes('sk-1'), true)
    equal(JSON.stringify(format.headers('')).includes('Bearer'), false)
    equal(JSON.stringify(format.body({ ...chat, system: '' })).includes('system'), false)
  }
})

test('streams grow, in pieces that end anywhere', () => {
  const pieces = events({ choices: [{ delta: { content: 'He' } }] }, { choices: [{ delta: { content: 'llo' } }] })
  const usage = events({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } })
  const whole = [...pieces, ...usage, 'data: [DONE]\n\n'].join('')
  const answer = answerOf('completions', 'text/event-stream', [
    whole.slice(0, 20),
    whole.slice(20, 60),
    whole.slice(60)
  ])
  deepEqual(facts(answer), ['Hello', '', 3, 2, 20])
  deepEqual([answer.wholeMs, answer.cost, answer.notes], [99, '0.01 USD', ['x-weir-cost: 0.01 USD']])
})

test('the other formats are read as they are streamed', () => {
  const responses = events(
    { type: 'response.output_text.delta', delta: 'Hello' },
    {
      type: 'response.completed',
      response: { usage: { input_tokens: 3, output_tokens: 2 }, output: [{ content: [{ text: 'Hello' }] }] }
    }
  )
  deepEqual(facts(answerOf('responses', 'text/event-stream', responses)), ['Hello', '', 3, 2, 10])
  const messages = events(
    { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_delta', delta: { text: 'Hello' } },
    { type: 'content_block_start', content_block: { type: 'tool_use', name: 'find' } },
    { type: 'content_block_delta', delta: { partial_json: '{}' } },
    { type: 'message_delta', delta: {}, usage: { output_tokens: 2 } }
  )
  deepEqual(facts(answerOf('messages', 'text/event-stream', messages)), ['Hello', 'find {}', 3, 2, 20])
  const gemini = events({
    candidates: [{ content: { parts: [{ text: 'Hello' }] } }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 }
  })
  deepEqual(facts(answerOf('gemini', 'text/event-stream', gemini)), ['Hello', '', 3, 2, 10])
})

test('whole answers are read at their end', () => {
  const wholes = {
    completions: {
      choices: [{ message: { content: 'Hello', tool_calls: [{ id: 'a' }] } }],
      usage: { prompt_tokens: 3, completion_tokens: 2 }
    },
    responses: {
      output: [{ content: [{ text: 'Hello' }] }, { type: 'function_call', name: 'f' }],
      usage: { input_tokens: 3, output_tokens: 2 }
    },
    messages: {
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', name: 'f' }
      ],
      usage: { input_tokens: 3, output_tokens: 2 }
    },
    gemini: {
      candidates: [{ content: { parts: [{ text: 'Hello' }, { functionCall: { name: 'f' } }] } }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 }
    }
  }
  for (const [id, whole] of Object.entries(wholes)) {
    const body = JSON.stringify(whole)
    const [text, calls, input, output, firstMs] = facts(
      answerOf(id, 'application/json', [body.slice(0, 9), body.slice(9)])
    )
    deepEqual([text, input, output, firstMs], ['Hello', 3, 2, 99], id)
    equal(String(calls).length > 2, true, id)
  }
})

test('a refusal says why, also in the middle of a stream', () => {
  const refused = answerOf('completions', 'application/json', ['{"error": {"message": "the budget is used up"}}'], 429)
  deepEqual([refused.status, refused.failure, refused.text], [429, 'the budget is used up', ''])
  const broken = answerOf('messages', 'text/event-stream', events({ type: 'error', error: { message: 'overloaded' } }))
  equal(broken.failure, 'overloaded')
  equal(grown(NONE, { kind: 'failed', message: 'ECONNREFUSED', ms: 1 }, formatOf(null)).failure, 'ECONNREFUSED')
  equal(reasonIn('<html>'), '<html>')
  equal(reasonIn('{"message": "no"}'), 'no')
})
