import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { responses } from '#backends/llm/formats/responses/index.ts'

const CONTEXT = { model: 'asked', wantsUsage: false, at: 1_700_000_000_999, id: 'i' }
const usage = { input_tokens: 36, output_tokens: 87, total_tokens: 123 }

/** The example of the API reference, "Create a model response". */
const EXAMPLE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_741_476_542,
  status: 'completed',
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  model: 'asked',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'In a peaceful grove', annotations: [], logprobs: [] }]
    }
  ],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [{ type: 'web_search' }],
  top_p: 1,
  truncation: 'disabled',
  background: false,
  service_tier: 'default',
  usage: {
    ...usage,
    input_tokens_details: { cached_tokens: 30, cache_write_tokens: 2, image_tokens: 1 },
    output_tokens_details: { reasoning_tokens: 7 }
  },
  user: null,
  metadata: {}
}

test('an answer is read, its echoes of the request are no loss, and it is written as it was', () => {
  const answer = responses.readAnswer(EXAMPLE)
  assert.deepEqual(answer.choices, [
    {
      parts: [{ kind: 'text', text: 'In a peaceful grove', cache: null }],
      stop: 'end',
      stopSequence: null,
      logprobs: null
    }
  ])
  assert.deepEqual(answer.usage, {
    input: 36,
    cacheRead: 30,
    cacheWrite5m: 2,
    cacheWrite1h: 0,
    inputAudio: 0,
    inputImage: 1,
    output: 87,
    reasoning: 7,
    outputAudio: 0,
    outputImage: 0
  })
  assert.deepEqual([answer.id, answer.created, answer.serviceTier], ['resp_1', 1_741_476_542, 'default'])
  assert.equal(answer.origin.unknownFields.size, 0)
  assert.deepEqual(responses.writeAnswer(answer, CONTEXT, new Losses()), EXAMPLE)
})

test('items of all kinds are written as they were read', () => {
  const logprobs = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }]
  const message = { type: 'message', id: 'm', status: 'completed', role: 'assistant' }
  const output = [
    {
      type: 'reasoning',
      id: 'rs',
      summary: [
        { type: 'summary_text', text: 'a' },
        { type: 'summary_text', text: 'b' }
      ],
      encrypted_content: 'g'
    },
    { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'q' } },
    { ...message, phase: 'commentary', content: [] },
    {
      ...message,
      content: [
        { type: 'output_text', text: 'a', annotations: [{ type: 'file_path' }], logprobs },
        { type: 'output_text', text: 'b', annotations: [], logprobs: [] },
        { type: 'refusal', refusal: 'no' }
      ]
    },
    { ...message, content: [{ type: 'output_text', text: 'c', annotations: [], logprobs: [] }] },
    { type: 'function_call', id: 'fc', call_id: 'c', name: 'f', arguments: '', status: 'completed' },
    { type: 'function_call_output', id: 'fo', call_id: 'c', output: 'x', status: 'completed' },
    { type: 'image_generation_call', id: 'ig', status: 'completed', result: 'AA' }
  ]
  const answer = responses.readAnswer({ ...EXAMPLE, output })
  const [choice] = answer.choices
  assert.equal(choice!.stop, 'tools')
  assert.deepEqual(choice!.logprobs, logprobs)
  assert.deepEqual(
    choice!.parts.map((part) => part.kind),
    ['thinking', 'opaque', 'text', 'text', 'refusal', 'text', 'toolCall', 'opaque', 'opaque']
  )
  assert.equal((choice!.parts[0] as { text: string }).text, 'a\n\nb')
  assert.deepEqual([...answer.origin.unknownFields.keys()], ['output[2].phase', 'output[3].content[0].annotations'])
  const losses = new Losses()
  assert.deepEqual(responses.writeAnswer(answer, CONTEXT, losses).output, output)
  assert.deepEqual(losses.fields, [])
})

test('why an answer ended', () => {
  const cases: [JsonObject, string][] = [
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
    [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'filter'],
    [{ status: 'failed', error: { code: 'server_error', message: 'm' } }, 'error'],
    [{ status: 'in_progress', output: [] }, 'pause'],
    [{ output: [{ ...EXAMPLE.output[0], content: [{ type: 'refusal', refusal: 'no' }] }] }, 'refusal']
  ]
  for (const [fields, stop] of cases) {
    const body: JsonObject = { ...EXAMPLE, ...fields }
    const answer = responses.readAnswer(body)
    assert.equal(answer.choices[0]!.stop, stop)
    const written = responses.writeAnswer(answer, CONTEXT, new Losses())
    assert.deepEqual(
      [written.status, written.incomplete_details, written.error],
      [body.status, body.incomplete_details, body.error]
    )
  }
})

const answerOf = (parts: readonly Part[], more: Partial<Answer['choices'][0]> = {}): Answer => ({
  id: '',
  model: 'real',
  created: 0,
  choices: [{ parts, stop: 'end', stopSequence: null, logprobs: null, ...more }],
  usage: null,
  serviceTier: null,
  origin: { format: 'messages', unknownFields: new Map<string, Json>([['container', 'x']]) }
})

test('an answer of another format: ids are made, thoughts and calls bear their seals', () => {
  const signature = { format: 'messages', data: 's' } as const
  const gemini = { format: 'gemini', data: 't' } as const
  const parts: Part[] = [
    { kind: 'thinking', text: 'hm', signature, isRedacted: false },
    { kind: 'thinking', text: '', signature, isRedacted: true },
    { kind: 'text', text: 'a', cache: null },
    { kind: 'toolCall', id: 'c', name: 'f', arguments: '{}', signature: gemini, cache: null },
    {
      kind: 'image',
      source: { kind: 'base64', data: 'AA' },
      mediaType: 'image/webp',
      name: null,
      detail: null,
      cache: null
    },
    { kind: 'opaque', format: 'messages', value: {} }
  ]
  const losses = new Losses()
  const body = responses.writeAnswer(answerOf(parts, { logprobs: [{ token: 'a' }] }), CONTEXT, losses)
  assert.deepEqual(losses.fields, ['container', 'parts[5]'])
  assert.deepEqual([body.id, body.created_at, body.model], ['resp_i', 1_700_000_000, 'asked'])
  const output = body.output as JsonObject[]
  assert.deepEqual(
    output.map((item) => [item.type, item.id]),
    [
      ['reasoning', 'rs_i_0'],
      ['reasoning', 'rs_i_1'],
      ['message', 'msg_i_2'],
      ['function_call', 'fc_i_3'],
      ['reasoning', 'rs_i_4'],
      ['image_generation_call', 'ig_i_5']
    ]
  )
  assert.deepEqual([output[5]!.result, output[5]!.output_format], ['AA', 'webp'])
  const again = responses.readAnswer(body).choices[0]!
  assert.deepEqual(again.parts.slice(0, 4), parts.slice(0, 4))
  assert.deepEqual(again.logprobs, [{ token: 'a' }])
  // ... and the same from the history of the next request.
  const { turns } = responses.readRequest({ model: 'm', input: output }, { model: null, isStreamed: null })
  assert.deepEqual(turns[0]!.parts.slice(0, 4), parts.slice(0, 4))
})

test('usage keeps its sums, and both times of caching are one', () => {
  const [input, output] = [20, 20]
  const media = { inputAudio: 4, inputImage: 7, outputAudio: 6, outputImage: 8 }
  const parts = { cacheRead: 1, cacheWrite5m: 2, cacheWrite1h: 3, reasoning: 5, ...media }
  const body = responses.writeAnswer({ ...answerOf([]), usage: { input, output, ...parts } }, CONTEXT, new Losses())
  assert.deepEqual(body.usage, {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 1, cache_write_tokens: 5, audio_tokens: 4, image_tokens: 7 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 5, audio_tokens: 6, image_tokens: 8 },
    total_tokens: 40
  })
  const again = responses.readAnswer(body).usage
  assert.deepEqual(again, { input, output, ...parts, cacheWrite5m: 5, cacheWrite1h: 0 })
})

test('a refusal without words is the work of a filter; several answers are one', () => {
  const one = answerOf([], { stop: 'refusal' })
  const losses = new Losses()
  const body = responses.writeAnswer({ ...one, choices: [one.choices[0]!, one.choices[0]!] }, CONTEXT, losses)
  assert.deepEqual([body.status, body.incomplete_details], ['incomplete', { reason: 'content_filter' }])
  assert.deepEqual(losses.fields, ['choices[1]', 'container'])
})

test('an answer of another shape is an error with its path', () => {
  const cases: [JsonObject, string][] = [
    [{ output: 1 }, 'output'],
    [{ output: [{ type: 'function_call', call_id: 'c' }] }, 'output[0].name'],
    [{ usage: { input_tokens: 'x' } }, 'usage.input_tokens'],
    [{ status: 3 }, 'status']
  ]
  for (const [body, field] of cases) {
    assert.throws(
      () => responses.readAnswer(body),
      (error) => error instanceof FormatError && error.field === field,
      field
    )
  }
})

test('errors are read by their code, and by their status where that says more', () => {
  const error = (fields: JsonObject) => JSON.stringify({ error: { message: 'm', ...fields } })
  const cases: [number, string, string][] = [
    [400, error({ type: 'invalid_request_error', code: 'context_length_exceeded', param: 'input' }), 'invalidRequest'],
    [401, error({ type: 'invalid_request_error', code: 'invalid_api_key' }), 'authentication'],
    [403, error({ type: 'invalid_request_error' }), 'permission'],
    [404, error({ type: 'invalid_request_error', code: 'model_not_found' }), 'notFound'],
    [413, '', 'tooLarge'],
    [429, error({ type: 'insufficient_quota', code: 'insufficient_quota' }), 'quota'],
    [429, error({ type: 'tokens', code: 'rate_limit_exceeded' }), 'rateLimit'],
    [400, error({ code: 'content_filter' }), 'filter'],
    [500, error({ type: 'server_error' }), 'internal'],
    [503, '<html>', 'overloaded'],
    [504, 'null', 'timeout'],
    [400, '{"error":"plain"}', 'invalidRequest'],
    [400, '[]', 'invalidRequest']
  ]
  for (const [status, body, type] of cases) {
    const read = responses.readError(status, body)
    assert.deepEqual([read.status, read.type], [status, type], body)
    assert.notEqual(read.message, '')
  }
  assert.equal(responses.readError(503, '<html>').message, '<html>')
  const written = responses.writeError({ status: 400, type: 'invalidRequest', message: 'm', code: 'c', param: 'input' })
  assert.deepEqual(written, { error: { message: 'm', type: 'invalid_request_error', param: 'input', code: 'c' } })
})
