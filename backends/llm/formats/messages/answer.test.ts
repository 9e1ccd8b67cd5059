import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer, ChatError, Choice, JsonObject, Part, StopReason, Usage } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { messages } from '#backends/llm/formats/messages/index.ts'

const CONTEXT = { model: 'alias', wantsUsage: false, at: 0, id: 'fresh' }

function written(answer: Answer): [body: JsonObject, losses: string[]] {
  const losses = new Losses()
  return [messages.writeAnswer(answer, CONTEXT, losses), losses.fields]
}

const NONE: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  output: 0,
  reasoning: 0,
  outputAudio: 0,
  outputImage: 0
}

const MESSAGE: JsonObject = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-4-6',
  content: [
    { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'ZGF0YQ' },
    { type: 'text', text: 'Yes', citations: [{ type: 'page_location', cited_text: 'y' }] },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 }, caller: { type: 'direct' } }
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  container: { id: 'c' },
  usage: {
    input_tokens: 10,
    cache_creation_input_tokens: 7,
    cache_read_input_tokens: 100,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
    output_tokens: 50,
    output_tokens_details: { thinking_tokens: 20 },
    server_tool_use: { web_search_requests: 1 },
    service_tier: 'standard'
  }
}

test('an answer is read field by field, and written as it came', () => {
  const answer = messages.readAnswer(MESSAGE)
  assert.deepEqual(answer.usage, {
    ...NONE,
    input: 117,
    cacheRead: 100,
    cacheWrite5m: 3,
    cacheWrite1h: 4,
    output: 50,
    reasoning: 20,
    searches: 1
  })
  assert.deepEqual([answer.id, answer.model, answer.serviceTier], ['msg_1', 'claude-opus-4-6', 'default'])
  assert.deepEqual(
    answer.choices[0]?.parts.map(({ kind }) => kind),
    ['thinking', 'thinking', 'text', 'opaque', 'opaque', 'toolCall']
  )
  assert.equal(answer.choices[0]?.stop, 'tools')
  assert.deepEqual([...answer.origin.unknownFields.keys()], ['content[4].caller', 'usage.server_tool_use', 'container'])
  assert.deepEqual(written(answer), [{ ...MESSAGE, model: 'alias' }, []])
})

test('no field replaces another by its name', () => {
  const [body, losses] = written(messages.readAnswer({ ...MESSAGE, 'usage.output_tokens': 0 }))
  assert.deepEqual([body, losses], [{ ...MESSAGE, model: 'alias', 'usage.output_tokens': 0 }, []])
})

test('tokens written to caches are divided where the API divides them', () => {
  const read = (usage: JsonObject) => messages.readAnswer({ ...MESSAGE, usage }).usage
  const plain = { input_tokens: 1, output_tokens: 2 }
  assert.deepEqual(read(plain), { ...NONE, input: 1, output: 2 })
  const whole = read({ ...plain, cache_creation_input_tokens: 5, cache_read_input_tokens: null })
  assert.deepEqual(whole, { ...NONE, input: 6, cacheWrite5m: 5, output: 2 })
  const parts = read({ ...plain, cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 } })
  assert.deepEqual(parts, { ...NONE, input: 6, cacheWrite5m: 2, cacheWrite1h: 3, output: 2 })
})

test('stop reasons', () => {
  const both: readonly (readonly [string, StopReason])[] = [
    ['end_turn', 'end'],
    ['max_tokens', 'length'],
    ['stop_sequence', 'stopSequence'],
    ['tool_use', 'tools'],
    ['pause_turn', 'pause'],
    ['refusal', 'refusal'],
    ['model_context_window_exceeded', 'contextWindow'],
    ['compaction', 'pause'],
    ['toString', 'end']
  ]
  for (const [word, stop] of both) {
    const answer = messages.readAnswer({ ...MESSAGE, stop_reason: word })
    assert.equal(answer.choices[0]?.stop, stop)
    assert.equal(written(answer)[0].stop_reason, word)
  }
  assert.equal(written(other({ stop: 'filter' }))[0].stop_reason, 'refusal')
  assert.equal(written(other({ parts: [{ kind: 'refusal', text: 'No' }] }))[0].stop_reason, 'refusal')
  const stopped = messages.readAnswer({ ...MESSAGE, stop_reason: 'stop_sequence', stop_sequence: 'x' })
  assert.equal(written(stopped)[0].stop_sequence, 'x')
})

function other(choice: Partial<Choice>, change: Partial<Answer> = {}): Answer {
  return {
    id: '',
    model: 'gpt',
    created: 1,
    choices: [{ parts: [], stop: 'end', stopSequence: null, logprobs: null, ...choice }],
    usage: null,
    serviceTier: null,
    origin: { format: 'completions', unknownFields: new Map() },
    ...change
  }
}

test('an answer of another format has all that the API requires, and reports its losses', () => {
  const parts: Part[] = [
    { kind: 'thinking', text: 'Hm', signature: null, isRedacted: false },
    { kind: 'text', text: 'a', cache: null },
    { kind: 'opaque', format: 'completions', value: {} },
    { kind: 'audio', source: { kind: 'base64', data: '' }, mediaType: null, name: null, detail: null, cache: null },
    { kind: 'toolCall', id: 'c', name: 'f', arguments: 'no', signature: null, cache: null }
  ]
  const choice = other({ parts, stop: 'error', logprobs: [] }).choices[0]!
  const [body, losses] = written(
    other(
      {},
      {
        choices: [choice, choice],
        usage: { ...NONE, input: 2, inputAudio: 1, inputImage: 1, output: 2, outputAudio: 1, outputImage: 1 },
        serviceTier: 'flex',
        origin: { format: 'completions', unknownFields: new Map([['system_fingerprint', 'x']]) }
      }
    )
  )
  assert.deepEqual(body, {
    id: 'msg_fresh',
    type: 'message',
    role: 'assistant',
    model: 'alias',
    content: [
      { type: 'thinking', thinking: 'Hm', signature: '' },
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: 'c', name: 'f', input: {} }
    ],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 2,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 2
    }
  })
  assert.deepEqual(losses, [
    'system_fingerprint',
    'choices[1]',
    'choices[0].logprobs',
    'choices[0].finish_reason',
    'service_tier',
    'usage.prompt_tokens_details.audio_tokens',
    'usage.prompt_tokens_details.image_tokens',
    'usage.completion_tokens_details.audio_tokens',
    'usage.completion_tokens_details.image_tokens',
    'choices[0].content[2]',
    'choices[0].content[3]',
    'choices[0].content[4].arguments'
  ])
})

test('an answer of the wrong type is an error with its path', () => {
  const wrong: readonly (readonly [JsonObject, string])[] = [
    [{}, 'content'],
    [{ content: 'x' }, 'content'],
    [{ content: [{ type: 'text' }] }, 'content[0].text'],
    [{ content: [], usage: 3 }, 'usage'],
    [{ content: [], usage: { input_tokens: '1' } }, 'usage.input_tokens'],
    [{ content: [], stop_reason: {} }, 'stop_reason']
  ]
  for (const [body, field] of wrong) {
    assert.throws(
      () => messages.readAnswer(body),
      (error) => error instanceof FormatError && error.field === field
    )
  }
})

const TYPES: readonly (readonly [status: number, word: string, type: ChatError['type']])[] = [
  [400, 'invalid_request_error', 'invalidRequest'],
  [401, 'authentication_error', 'authentication'],
  [402, 'billing_error', 'quota'],
  [403, 'permission_error', 'permission'],
  [404, 'not_found_error', 'notFound'],
  [413, 'request_too_large', 'tooLarge'],
  [429, 'rate_limit_error', 'rateLimit'],
  [500, 'api_error', 'internal'],
  [504, 'timeout_error', 'timeout'],
  [529, 'overloaded_error', 'overloaded']
]

test('errors of all types are read and written', () => {
  for (const [status, word, type] of TYPES) {
    const body = { type: 'error', error: { type: word, message: 'm' }, request_id: null }
    const error: ChatError = { status, type, message: 'm', code: null, param: null }
    assert.deepEqual(messages.readError(status, JSON.stringify(body)), error)
    assert.deepEqual(messages.writeError(error), body)
  }
})

test('errors of what stands in front of the API are read as well', () => {
  const read = (status: number, body: string) => {
    const { type, message, code } = messages.readError(status, body)
    return [type, message, code]
  }
  const coded = '{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"ramp"}}}'
  assert.deepEqual(read(429, coded), ['rateLimit', 'm', 'ramp'])
  const conflict = '{"type":"error","error":{"type":"conflict_error","message":"m"}}'
  assert.deepEqual(read(409, conflict), ['invalidRequest', 'm', 'conflict_error'])
  assert.deepEqual(read(403, '[{"error":{"code":403,"message":"m"}}]'), ['permission', 'm', null])
  assert.deepEqual(read(503, '<html>'), ['overloaded', '<html>', null])
  assert.deepEqual(read(502, ''), ['internal', 'The provider answered with status 502.', null])
  assert.deepEqual(read(408, '{"error":"slow"}'), ['timeout', 'slow', null])
  assert.deepEqual(read(418, 'null'), ['invalidRequest', 'null', null])
  assert.equal(messages.readError(500, 'x'.repeat(5000)).message.length, 1000)
})

test('an error has its code and the wrong field', () => {
  const error: ChatError = { status: 400, type: 'filter', message: 'is bad', code: 'c', param: 'messages[0]' }
  const { error: body } = messages.writeError(error)
  const details = { error_code: 'c' }
  assert.deepEqual(body, { type: 'invalid_request_error', message: 'messages[0]: is bad', details })
})
