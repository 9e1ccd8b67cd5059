/**
 * What servers of chat completions send that OpenAI's reference does not have: read as it is meant, whole and streamed.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'

const text = (words: string) => ({ kind: 'text', text: words, cache: null })
const thought = (words: string) => ({ kind: 'thinking', text: words, signature: null, isRedacted: false })
const call = (id: string, name: string, args: string) => ({
  ...{ kind: 'toolCall', id, name, arguments: args, signature: null, cache: null }
})
const called = (args: Json, more: JsonObject = {}) => ({ function: { name: 'f', arguments: args }, ...more })

interface Stray {
  readonly name: string
  readonly message: JsonObject
  readonly finish?: Json
  readonly parts: readonly object[]
  readonly stop?: string
}

const STRAYS: readonly Stray[] = [
  { name: 'function_call of nothing', message: { content: 'a', function_call: {} }, parts: [text('a')] },
  { name: 'function_call as text', message: { content: 'a', function_call: '' }, parts: [text('a')] },
  {
    name: 'function_call without a name',
    message: { content: 'a', function_call: { name: '', arguments: '' } },
    parts: [text('a')]
  },
  {
    name: 'arguments as an object (Ollama)',
    message: { content: '', tool_calls: [called({ a: 1 }, { id: 'c', type: 'function' })] },
    parts: [call('c', 'f', '{"a":1}')],
    stop: 'tools'
  },
  {
    name: 'a call without id, index and type, and a stop of its own',
    message: { tool_calls: [called('{"a":1}')] },
    finish: 'stop',
    parts: [call('call_0_0', 'f', '{"a":1}')],
    stop: 'tools'
  },
  {
    name: 'two calls without ids at one index (Google)',
    message: { tool_calls: [called('{"a":1}', { id: '', index: 0 }), called('{"a":2}', { id: '', index: 0 })] },
    finish: 'stop',
    parts: [call('call_0_0', 'f', '{"a":1}'), call('call_0_1', 'f', '{"a":2}')],
    stop: 'tools'
  },
  {
    name: 'numbers for ids',
    message: { tool_calls: [called('{}', { id: 7, index: 0, type: 'tool_call' })] },
    parts: [call('7', 'f', '{}')],
    stop: 'tools'
  },
  {
    name: 'no reason to stop',
    message: { content: 'a' },
    finish: '',
    parts: [text('a')]
  },
  {
    name: 'thoughts in a list of content (Magistral)',
    message: {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
        { type: 'text', text: 'a' }
      ]
    },
    parts: [thought('Hm'), text('a')]
  },
  { name: 'thoughts as reasoning', message: { reasoning: 'Hm', content: 'a' }, parts: [thought('Hm'), text('a')] },
  { name: 'thoughts as thinking', message: { thinking: 'Hm', content: 'a' }, parts: [thought('Hm'), text('a')] },
  {
    name: 'thoughts that are an object, beside those that are text',
    message: { reasoning: { effort: 'low' }, reasoning_content: 'Hm', content: 'a' },
    parts: [thought('Hm'), text('a')]
  },
  { name: 'another role', message: { role: 'model', content: 'a' }, parts: [text('a')] }
]

for (const { name, message, finish = null, parts, stop = 'end' } of STRAYS) {
  test(`${name}: whole`, () => {
    const body = { id: 5, created: '1', choices: [{ message, finish_reason: finish }], usage: { prompt_tokens: null } }
    const answer = completions.readAnswer(body)
    deepEqual(answer.choices[0]!.parts, parts)
    deepEqual([answer.id, answer.choices[0]!.stop], ['5', stop])
  })

  test(`${name}: streamed`, () => {
    const reader = completions.streamReader()
    const chunks = [
      { id: 5, choices: [{ delta: { role: 'assistant' } }] },
      { choices: [{ index: 0, delta: message }] },
      { choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: finish }] },
      ...(finish === null
        ? [{ choices: [{ delta: {}, finish_reason: stop === 'tools' ? 'tool_calls' : 'stop' }] }]
        : []),
      { choices: [], usage: [] },
      { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 4 } } }
    ]
    const events = chunks.flatMap((chunk) => reader.read({ name: '', data: JSON.stringify(chunk) }))
    events.push(...reader.read({ name: '', data: ' [DONE]' }))
    const messages: object[] = []
    for (const event of events) {
      if (event.kind === 'begin') messages.push({ ...event.part })
      if (event.kind !== 'delta') continue
      const part = messages.at(-1) as { text?: string; arguments?: string }
      if (part.arguments === undefined) part.text += event.text
      else part.arguments += event.text
    }
    deepEqual(messages, parts)
    deepEqual(
      events.filter(({ kind }) => kind === 'stop').map((event) => event.kind === 'stop' && event.stop),
      [stop]
    )
    const usage = events.findLast((event) => event.kind === 'usage')
    deepEqual([usage?.kind === 'usage' && usage.usage.output, events.at(-1)?.kind], [4, 'done'])
  })
}

test('a stream that says no [DONE] is whole when its choices are; one that stops before is not', () => {
  const read = (finish: string | null) => {
    const reader = completions.streamReader()
    reader.read({ name: '', data: JSON.stringify({ choices: [{ delta: { content: 'a' }, finish_reason: finish }] }) })
    return reader.finish!()
  }
  equal(read(null), null)
  equal(read('stop')?.events.at(-1)?.kind, 'done')
})
