import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { ChatEvent, Part, Signature } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { FormatError } from '#backends/llm/formats/format.ts'

const HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'gpt-5' }

/** What the reader says of chunks and of texts as they stand. */
function events(...chunks: readonly (object | string)[]): ChatEvent[] {
  const reader = completions.streamReader()
  return chunks.flatMap((chunk) => [
    ...reader.read({ name: '', data: typeof chunk === 'string' ? chunk : JSON.stringify({ ...HEAD, ...chunk }) })
  ])
}

const delta = (value: object, choice: object = {}): object => ({
  choices: [{ index: 0, delta: value, finish_reason: null, ...choice }]
})
const end = (word: string, index = 0): object => ({ choices: [{ index, delta: {}, finish_reason: word }] })
const call = (index: number | null, fields: object, more: object = {}): object =>
  delta({ tool_calls: [{ ...(index === null ? {} : { index }), function: fields, ...more }] })

const parts = (...chunks: readonly (object | string)[]): readonly Part[] =>
  assemble(events(...chunks, '[DONE]'), 'completions').choices[0]?.parts ?? []

const toolCall = (id: string, name: string, text: string, signature: Signature | null = null): Part => ({
  kind: 'toolCall',
  id,
  name,
  arguments: text,
  signature,
  cache: null
})
const thinking = (text: string, signature: Signature | null = null): Part => ({
  kind: 'thinking',
  text,
  signature,
  isRedacted: false
})

test('text streams as it comes', () => {
  const read = events(
    delta({ role: 'assistant', content: '', refusal: null }),
    delta({ content: 'Hel' }),
    delta({ content: 'lo' }),
    end('stop'),
    { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }, service_tier: 'default' },
    '[DONE]'
  )
  assert.deepEqual(
    read.map((event) => event.kind),
    ['start', 'begin', 'delta', 'delta', 'end', 'stop', 'usage', 'done']
  )
  assert.deepEqual(read[0], { kind: 'start', id: 'chatcmpl-1', model: 'gpt-5', created: 1_700_000_000, usage: null })
  const answer = assemble(read, 'completions')
  assert.deepEqual([answer.usage?.output, answer.serviceTier], [2, 'default'])
})

const CALLS: readonly (readonly [name: string, chunks: readonly object[], expected: readonly Part[]])[] = [
  [
    'in pieces, ids once',
    [
      call(0, { name: 'f', arguments: '' }, { id: 'a', type: 'function' }),
      call(0, { arguments: '{"x"' }),
      call(0, { arguments: ':1}' }),
      call(1, { name: 'g', arguments: '' }, { id: 'b' }),
      call(1, { arguments: '{}' })
    ],
    [toolCall('a', 'f', '{"x":1}'), toolCall('b', 'g', '{}')]
  ],
  [
    'mixed',
    [
      call(0, { name: 'f', arguments: '{' }, { id: 'a' }),
      call(1, { name: 'g', arguments: '{' }, { id: 'b' }),
      call(0, { arguments: '}' }),
      call(1, { arguments: '}' })
    ],
    [toolCall('a', 'f', '{}'), toolCall('b', 'g', '{}')]
  ],
  [
    'one index for all',
    [call(0, { name: 'f', arguments: '{}' }, { id: 'a' }), call(0, { name: 'g', arguments: '{}' }, { id: 'b' })],
    [toolCall('a', 'f', '{}'), toolCall('b', 'g', '{}')]
  ],
  [
    'without index',
    [call(null, { name: 'f', arguments: '{"x":' }, { id: 'a' }), call(null, { arguments: '1}' })],
    [toolCall('a', 'f', '{"x":1}')]
  ],
  [
    'the id again',
    [call(0, { name: 'f', arguments: '{' }, { id: 'a' }), call(0, { name: 'f', arguments: '}' }, { id: 'a' })],
    [toolCall('a', 'f', '{}')]
  ],
  [
    'without id or arguments',
    [call(0, { name: 'f' }), call(1, { name: 'g' })],
    [toolCall('call_0_0', 'f', '{}'), toolCall('call_0_1', 'g', '{}')]
  ],
  [
    'the name late',
    [call(0, { arguments: '{' }, { id: 'a' }), call(0, { name: 'f', arguments: '}' })],
    [toolCall('a', 'f', '{}')]
  ],
  [
    'signed',
    [call(0, { name: 'f', arguments: '{}' }, { id: 'a', extra_content: { google: { thought_signature: 's' } } })],
    [toolCall('a', 'f', '{}', { format: 'gemini', data: 's' })]
  ],
  [
    'of a custom tool',
    [
      delta({ tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'c', input: 'pri' } }] }),
      delta({ tool_calls: [{ index: 0, custom: { input: 'nt' } }] })
    ],
    [
      {
        kind: 'opaque',
        format: 'completions',
        value: { id: 'a', type: 'custom', custom: { name: 'c', input: 'print' } }
      }
    ]
  ],
  [
    'by function_call',
    [delta({ function_call: { name: 'f', arguments: '' } }), delta({ function_call: { arguments: '{}' } })],
    [toolCall('function_call_0', 'f', '{}')]
  ]
]

for (const [name, chunks, expected] of CALLS) {
  test(`tool calls of a stream: ${name}`, () => assert.deepEqual(parts(...chunks, end('tool_calls')), expected))
}

test('a call is handed on piece by piece, and the next one as soon as it is complete', () => {
  const read = events(
    call(0, { name: 'f', arguments: '{"a":' }, { id: 'a' }),
    call(0, { arguments: '{}}' }),
    call(1, { name: 'g', arguments: '{' }, { id: 'b' })
  )
  assert.deepEqual(
    read.map((event) => event.kind),
    ['start', 'begin', 'delta', 'delta', 'end', 'begin', 'delta']
  )
})

const SIGNED = { format: 'messages', data: 's' } as const
const block = (text: string, signature?: string): object => ({
  thinking_blocks: [{ type: 'thinking', thinking: text, signature }]
})

const THOUGHTS: readonly (readonly [name: string, deltas: readonly object[], expected: readonly Part[]])[] = [
  [
    'alone',
    [{ reasoning_content: 'H' }, { reasoning_content: 'm' }, { content: 'a' }],
    [thinking('Hm'), { kind: 'text', text: 'a', cache: null }]
  ],
  ['as vLLM and Ollama have them', [{ reasoning: 'H' }, { reasoning: 'm' }], [thinking('Hm')]],
  [
    'with the whole block at the end',
    [
      { reasoning_content: 'H' },
      { reasoning_content: 'm' },
      block('Hm', 's'),
      { reasoning_content: 'So' },
      block('So', 's')
    ],
    [thinking('Hm', SIGNED), thinking('So', SIGNED)]
  ],
  [
    'with blocks beside',
    [{ reasoning_content: 'H', ...block('H', '') }, { reasoning_content: 'm', ...block('m', '') }, block('', 's')],
    [thinking('Hm', SIGNED)]
  ],
  ['in blocks only', [block('a'), block('a'), block('b', 's')], [thinking('aab', SIGNED)]],
  [
    'redacted',
    [{ thinking_blocks: [{ type: 'redacted_thinking', data: 's' }] }],
    [{ kind: 'thinking', text: '', signature: SIGNED, isRedacted: true }]
  ]
]

for (const [name, deltas, expected] of THOUGHTS) {
  test(`thoughts of a stream: ${name}`, () =>
    assert.deepEqual(parts(...deltas.map((value) => delta(value)), end('stop')), expected))
}

test('choices come between each other', () => {
  const chunk = (index: number, content: string) => ({ choices: [{ index, delta: { content } }] })
  const { choices } = assemble(
    events(chunk(0, 'a'), chunk(1, 'x'), chunk(0, 'b'), chunk(1, 'y'), end('stop', 1), end('length', 0), '[DONE]'),
    'completions'
  )
  assert.deepEqual(
    choices.map(({ parts: [part], stop }) => [part?.kind === 'text' && part.text, stop]),
    [
      ['ab', 'length'],
      ['xy', 'end']
    ]
  )
})

test('refusals, audio, annotations, images and logprobs', () => {
  const entry = (token: string) => ({ token, logprob: -1, bytes: null, top_logprobs: [] })
  const read = events(
    delta({ refusal: 'N' }, { logprobs: { content: null, refusal: [entry('N')] } }),
    delta({ refusal: 'o' }),
    delta({ audio: { id: 'a', data: 'AA' } }),
    delta({ audio: { data: '==', transcript: 't', expires_at: 1 } }),
    delta({ annotations: [{ type: 'x' }] }),
    end('stop'),
    '[DONE]'
  )
  const [choice] = assemble(read, 'completions').choices
  assert.deepEqual(choice, {
    parts: [
      { kind: 'refusal', text: 'No' },
      {
        kind: 'opaque',
        format: 'completions',
        value: { audio: { id: 'a', data: 'AA==', transcript: 't', expires_at: 1 } }
      },
      { kind: 'opaque', format: 'completions', value: { annotations: [{ type: 'x' }] } }
    ],
    stop: 'refusal',
    stopSequence: null,
    logprobs: [entry('N')]
  })
})

test("Azure's first chunk begins nothing, and what comes after the end is not read", () => {
  assert.deepEqual(events({ id: '', model: '', choices: [], prompt_filter_results: [] }), [])
  assert.deepEqual(events('[DONE]', delta({ content: 'x' })), [{ kind: 'done' }])
})

test('a stream that was cut short by its provider ends', () => {
  assert.deepEqual(
    events(delta({ content: 'x' }), '[DONE]').map((event) => event.kind),
    ['start', 'begin', 'delta', 'end', 'stop', 'done']
  )
})

const ERRORS: readonly (readonly [chunk: object, status: number, type: string])[] = [
  [{ error: { message: 'm', type: 'server_error', param: null, code: null } }, 500, 'internal'],
  [{ error: { message: 'm', type: 'BadRequestError', code: 400 } }, 400, 'invalidRequest'],
  [{ error: { code: 429, message: 'm' }, choices: [{ delta: {}, finish_reason: 'error' }] }, 429, 'rateLimit'],
  [{ object: 'error', message: 'm', code: 503 }, 503, 'overloaded'],
  [{ error: 'm' }, 500, 'internal']
]

test('an error in a stream ends it', () => {
  for (const [chunk, status, type] of ERRORS) {
    const read = events(delta({ content: 'x' }), JSON.stringify(chunk), '[DONE]')
    const last = read.at(-1)
    assert.ok(last?.kind === 'error')
    assert.deepEqual([last.error.status, last.error.type, last.error.message], [status, type, 'm'])
  }
})

test('chunks that do not follow the format are errors with the path', () => {
  const wrong: readonly (readonly [field: string, ...chunks: (object | string)[]])[] = [
    ['', 'nonsense'],
    ['', '[]'],
    ['choices', { choices: 3 }],
    ['choices[0]', { choices: [3] }],
    ['choices[0].index', { choices: [{ index: 1e9 }] }],
    ['choices[0].delta', { choices: [{ delta: 3 }] }],
    ['choices[0].delta.content', delta({ content: 3 })],
    ['choices[0].delta.tool_calls', delta({ tool_calls: {} })],
    ['choices[0].delta.tool_calls', delta({ tool_calls: [3] })],
    ['choices[0].delta.tool_calls.id', delta({ tool_calls: [{ id: [] }] })],
    ['choices[0].delta.tool_calls.function.name', call(0, { arguments: '{}' }), end('stop')],
    [
      'choices[0].delta.tool_calls',
      call(0, { name: 'f', arguments: '{}' }),
      call(1, { name: 'g' }),
      call(0, { arguments: 'x' })
    ],
    ['choices[0].delta.thinking_blocks[0]', delta({ thinking_blocks: [3] })],
    ['choices[0].delta', end('stop'), delta({ content: 'x' })]
  ]
  for (const [field, ...chunks] of wrong) {
    assert.throws(
      () => events(...chunks),
      (error) => error instanceof FormatError && error.field === field,
      JSON.stringify(chunks)
    )
  }
})
