import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, Usage } from '#backends/llm/conversation.ts'
import { assemble } from './assemble.ts'

const usage = (input: number, output: number): Usage => ({
  input,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  output,
  reasoning: 0,
  outputAudio: 0,
  outputImage: 0
})
const START: ChatEvent = { kind: 'start', id: 'a', model: 'm', created: 1, usage: usage(3, 0) }
const TEXT: ChatEvent = { kind: 'begin', choice: 0, part: { kind: 'text', text: '', cache: null } }
const delta = (text: string): ChatEvent => ({ kind: 'delta', choice: 0, text, logprobs: [{ token: text }] })

test('events become the answer that they tell', () => {
  const call = { kind: 'toolCall', id: 'c', name: 'f', arguments: '', signature: null, cache: null } as const
  const answer = assemble(
    [
      START,
      TEXT,
      delta('a'),
      delta('b'),
      { kind: 'end', choice: 0 },
      { kind: 'begin', choice: 0, part: call },
      { kind: 'delta', choice: 0, text: '{"x":1}', logprobs: null },
      { kind: 'signature', choice: 0, signature: { format: 'gemini', data: 's' } },
      { kind: 'end', choice: 0 },
      { kind: 'stop', choice: 0, stop: 'tools', stopSequence: null },
      { kind: 'usage', usage: usage(3, 5), serviceTier: 'default' },
      { kind: 'done' }
    ],
    'completions'
  )
  assert.deepEqual(answer.choices, [
    {
      parts: [
        { kind: 'text', text: 'ab', cache: null },
        { ...call, arguments: '{"x":1}', signature: { format: 'gemini', data: 's' } }
      ],
      logprobs: [{ token: 'a' }, { token: 'b' }],
      stop: 'tools',
      stopSequence: null
    }
  ])
  assert.deepEqual([answer.usage?.output, answer.serviceTier, answer.model], [5, 'default', 'm'])
})

test('errors, and events that belong to no part, make no answer', () => {
  const error = { status: 529, type: 'overloaded', message: 'busy', code: null, param: null } as const
  assert.throws(() => assemble([START, { kind: 'error', error }], 'messages'), /busy/)
  assert.throws(() => assemble([START, delta('a')], 'messages'), /a delta outside of any part/)
})
