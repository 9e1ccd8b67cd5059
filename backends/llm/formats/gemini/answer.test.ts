import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatError, ChatEvent, ErrorType, Json, JsonObject, StopReason } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { gemini } from '#backends/llm/formats/gemini/index.ts'

const CONTEXT = { model: 'gemini-2.5-flash', wantsUsage: true, at: 0, id: 'fresh' }

const WHOLE: JsonObject = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [
          { text: 'Hm.', thought: true },
          { text: 'Sunny.', thoughtSignature: 'U2ln' },
          { functionCall: { name: 'look', args: { at: 'sky', n: 1.5 } }, thoughtSignature: 'Q2Fs' },
          { functionCall: { id: 'own', name: 'look', args: {} } }
        ]
      },
      finishReason: 'STOP',
      index: 0,
      avgLogprobs: -0.1,
      safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' }],
      groundingMetadata: { webSearchQueries: ['x'] },
      logprobsResult: {
        topCandidates: [{ candidates: [{ token: 'S', tokenId: 7, logProbability: -0.1 }] }],
        chosenCandidates: [{ token: 'S', tokenId: 7, logProbability: -0.1 }],
        logProbabilitySum: -0.1
      }
    }
  ],
  usageMetadata: {
    promptTokenCount: 100,
    cachedContentTokenCount: 40,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 30,
    toolUsePromptTokenCount: 5,
    totalTokenCount: 155,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 62 },
      { modality: 'IMAGE', tokenCount: 8 },
      { modality: 'AUDIO', tokenCount: 30 }
    ],
    cacheTokensDetails: [
      { modality: 'AUDIO', tokenCount: 10 },
      { modality: 'IMAGE', tokenCount: 2 }
    ],
    candidatesTokensDetails: [
      { modality: 'IMAGE', tokenCount: 5 },
      { modality: 'AUDIO', tokenCount: 15 }
    ],
    trafficType: 'ON_DEMAND'
  },
  modelVersion: 'gemini-2.5-flash',
  createTime: '2025-01-02T03:04:05.000Z',
  responseId: 'r-1/x'
}

test('an answer of every field is read, and written as it was', () => {
  const answer = gemini.readAnswer(WHOLE)
  const cache = null
  assert.deepEqual(answer.choices[0]?.parts, [
    { kind: 'thinking', text: 'Hm.', signature: null, isRedacted: false },
    { kind: 'text', text: 'Sunny.', cache },
    { kind: 'thinking', text: '', signature: { format: 'gemini', data: 'U2ln' }, isRedacted: true },
    {
      kind: 'toolCall',
      id: 'call_weir_r-1x_0',
      name: 'look',
      arguments: '{"at":"sky","n":1.5}',
      signature: { format: 'gemini', data: 'Q2Fs' },
      cache
    },
    { kind: 'toolCall', id: 'own', name: 'look', arguments: '{}', signature: null, cache }
  ])
  assert.equal(answer.choices[0]?.stop, 'tools')
  const token = { token: 'S', logprob: -0.1, bytes: null, token_id: 7 }
  assert.deepEqual(answer.choices[0]?.logprobs, [{ ...token, top_logprobs: [token] }])
  assert.deepEqual(answer.usage, {
    input: 105,
    cacheRead: 40,
    cacheReadAudio: 10,
    cacheReadImage: 2,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    inputAudio: 20,
    inputImage: 6,
    output: 50,
    reasoning: 30,
    outputAudio: 15,
    outputImage: 5,
    searches: 1
  })
  assert.deepEqual([answer.id, answer.model, answer.created], ['r-1/x', 'gemini-2.5-flash', 1_735_787_045])
  const losses = new Losses()
  assert.deepEqual(gemini.writeAnswer(answer, CONTEXT, losses), WHOLE)
  assert.deepEqual(losses.fields, [])
})

const REASONS: { readonly [reason: string]: StopReason } = {
  FINISH_REASON_UNSPECIFIED: 'error',
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'filter',
  RECITATION: 'filter',
  LANGUAGE: 'error',
  OTHER: 'error',
  BLOCKLIST: 'filter',
  PROHIBITED_CONTENT: 'filter',
  SPII: 'filter',
  MALFORMED_FUNCTION_CALL: 'error',
  IMAGE_SAFETY: 'filter',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  IMAGE_PROHIBITED_CONTENT: 'filter',
  NO_IMAGE: 'error',
  IMAGE_RECITATION: 'filter',
  IMAGE_OTHER: 'error',
  CONTINUATION: 'pause',
  OF_TOMORROW: 'error'
}

test('every reason to finish is read, and written as it was', () => {
  for (const [finishReason, stop] of Object.entries(REASONS)) {
    const content = { role: 'model', parts: [{ text: 'x' }] }
    const body = { candidates: [{ content, finishReason, index: 0 }], modelVersion: 'm', responseId: 'r' }
    const answer = gemini.readAnswer(body)
    assert.equal(answer.choices[0]?.stop, stop, finishReason)
    assert.deepEqual(gemini.writeAnswer(answer, { ...CONTEXT, model: 'm' }, new Losses()), body)
  }
})

test('a prompt that was refused has no candidates, and is a choice that was filtered', () => {
  const body = {
    promptFeedback: { blockReason: 'SAFETY', safetyRatings: [] },
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 0, totalTokenCount: 3 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r'
  }
  const answer = gemini.readAnswer(body)
  assert.deepEqual(answer.choices, [{ parts: [], stop: 'filter', stopSequence: null, logprobs: null }])
  assert.deepEqual(gemini.writeAnswer(answer, CONTEXT, new Losses()), body)
  const kinds = gemini.streamReader().read({ name: '', data: JSON.stringify(body) })
  assert.deepEqual(
    kinds.map((event) => (event.kind === 'stop' ? event.stop : event.kind)),
    ['start', 'filter', 'usage', 'done']
  )
})

test("what an answer of another format has and Gemini's cannot say is a loss", () => {
  const usage = {
    input: 9,
    cacheRead: 0,
    cacheWrite5m: 2,
    cacheWrite1h: 3,
    inputAudio: 0,
    inputImage: 0,
    output: 1,
    reasoning: 0,
    outputAudio: 0,
    outputImage: 0
  }
  const call = { kind: 'toolCall', id: 'a', name: 'f', arguments: '{"x', signature: null, cache: null } as const
  const losses = new Losses()
  const body = gemini.writeAnswer(
    {
      id: '',
      model: 'm',
      created: 0,
      choices: [
        {
          parts: [call, { kind: 'opaque', format: 'messages', value: {} }],
          stop: 'tools',
          stopSequence: 'END',
          logprobs: { content: [] }
        }
      ],
      usage,
      serviceTier: null,
      origin: { format: 'messages', unknownFields: new Map<string, Json>([['container', {}]]) }
    },
    CONTEXT,
    losses
  )
  assert.deepEqual(losses.fields, [
    'usage.cacheWrite5m',
    'usage.cacheWrite1h',
    'choices[0].parts[0].arguments',
    'choices[0].parts[1]',
    'choices[0].stopSequence',
    'choices[0].logprobs',
    'container'
  ])
  assert.deepEqual(body, {
    candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1, totalTokenCount: 10 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'fresh'
  })
})

// --- streams ---

const readAll = (...chunks: Json[]) => {
  const reader = gemini.streamReader()
  return chunks.flatMap((chunk) => [...reader.read({ name: '', data: JSON.stringify(chunk) })])
}
const chunk = (part: JsonObject, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: 'model', parts: [part] }, ...more }],
  responseId: 'r'
})
const brief = (events: readonly ChatEvent[]) =>
  events.map((event) => {
    if (event.kind === 'begin')
      return `${event.part.kind}${event.part.kind === 'thinking' && event.part.isRedacted ? '!' : ''}`
    if (event.kind === 'delta') return `+${event.text}`
    if (event.kind === 'signature') return `#${event.signature.data}`
    if (event.kind === 'stop') return event.stop
    return event.kind
  })

test('events go on with the part that is open, and seals close it', () => {
  const events = readAll(
    chunk({ text: 'a', thought: true }),
    chunk({ text: 'b', thought: true }),
    chunk({ text: 'c' }),
    chunk({ text: '', thoughtSignature: 'S' }),
    chunk({ text: 'd' }),
    chunk({ functionCall: { name: 'f', args: { x: 1 } }, thoughtSignature: 'T' }),
    { ...chunk({ text: '' }, { finishReason: 'STOP' }), usageMetadata: { promptTokenCount: 1 } }
  )
  const thought = ['thinking', '+a', '+b', 'end']
  const expected = ['text', '+c', 'end', 'thinking!', '#S', 'end', 'text', '+d', 'end']
  const called = ['toolCall', '+{"x":1}', '#T', 'end']
  assert.deepEqual(brief(events), ['start', ...thought, ...expected, ...called, 'tools', 'usage', 'done'])
})

test('arguments that come bit by bit are one call', () => {
  const bit = (jsonPath: string, value: JsonObject, name?: string) =>
    chunk({ functionCall: { ...(name && { name }), partialArgs: [{ jsonPath, ...value }], willContinue: true } })
  const events = readAll(
    { ...chunk({ functionCall: { name: 'f', willContinue: true }, thoughtSignature: 'S' }) },
    bit('$.where', { stringValue: 'New ', willContinue: true }),
    bit('$.where', { stringValue: 'Delhi' }),
    bit("$.list[0]['it\\'s']", { numberValue: 1 }),
    bit('$.list[1]', { nullValue: 'NULL_VALUE' }),
    bit('$.__proto__.polluted', { boolValue: true }),
    chunk({ functionCall: {} }),
    chunk({ functionCall: { name: 'g', args: {} } })
  )
  const args = `{"where":"New Delhi","list":[{"it's":1},null],"__proto__":{"polluted":true}}`
  assert.deepEqual(brief(events), ['start', 'toolCall', `+${args}`, '#S', 'end', 'toolCall', '+{}', 'end'])
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  for (const path of ['', '$', 'x', '$..a', '$.a[*]', '$[0]', '$.a[999999999]', `$${'.a'.repeat(1000)}`]) {
    assert.throws(() => readAll(bit(path, { boolValue: true }, 'f')), FormatError, path)
  }
})

test('each candidate ends by itself, and late usage is still reported', () => {
  const two = (reason: string | null, text: string) =>
    [0, 1].map((index) => ({
      index,
      content: { parts: [{ text }] },
      ...(reason && index === 1 && { finishReason: reason })
    }))
  const events = readAll(
    { candidates: two(null, 'a') },
    { candidates: two('STOP', '') },
    { candidates: [{ index: 0, finishReason: 'MAX_TOKENS' }] },
    { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 } }
  )
  const begun = ['start', 'text', '+a', 'text', '+a']
  const second = ['end', 'end']
  const first = ['end', 'length']
  assert.deepEqual(brief(events), [...begun, ...second, ...first, 'done', 'usage'])
})

test('streams that are no stream of answers', () => {
  for (const data of ['{', '1', '[]', '{"candidates":[{"index":1000000}]}', '{"candidates":[{"index":-1}]}']) {
    assert.throws(() => gemini.streamReader().read({ name: '', data }), FormatError, data)
  }
  const error = { error: { code: 503, message: 'busy', status: 'UNAVAILABLE' } }
  const expected = { status: 503, type: 'overloaded', message: 'busy', code: 'UNAVAILABLE', param: null } as const
  assert.deepEqual(readAll([error]), [{ kind: 'error', error: expected }])
  const written = gemini.streamWriter(CONTEXT).write({ kind: 'error', error: expected })
  assert.equal(written, `data: ${JSON.stringify(error)}\n\n`)
})

// --- errors ---

const TYPES: ErrorType[] = [
  'invalidRequest',
  'authentication',
  'permission',
  'notFound',
  'tooLarge',
  'rateLimit',
  'quota'
]
const STATUSES = [400, 401, 403, 404, 413, 429, 402]

test('errors are read as they were written', () => {
  for (const [i, type] of [...TYPES, 'overloaded', 'timeout', 'internal'].entries()) {
    const status = [...STATUSES, 503, 504, 500][i]!
    const error = {
      status,
      type: type as ErrorType,
      message: 'm',
      code: 'MY_CODE',
      param: 'contents'
    } satisfies ChatError
    assert.deepEqual(gemini.readError(status, JSON.stringify(gemini.writeError(error))), error)
  }
})

test("errors of the documentation, and errors that are not Google's", () => {
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'x' }
  const key = { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details: [info] } }
  const read = (status: number, body: string) => {
    const { type, code, message } = gemini.readError(status, body)
    return [type, code, message]
  }
  assert.deepEqual(read(400, JSON.stringify(key)), ['authentication', 'API_KEY_INVALID', 'API key not valid.'])
  assert.deepEqual(read(400, JSON.stringify([key])), ['authentication', 'API_KEY_INVALID', 'API key not valid.'])
  assert.deepEqual(read(502, '<html>'), ['internal', null, '<html>'])
  assert.deepEqual(read(504, ''), ['timeout', null, 'status 504'])
  for (const odd of ['[]', 'null', '{"error":1}', '{"error":{"details":[null,{"@type":1}],"code":"x"}}']) {
    assert.equal(gemini.readError(429, odd).type, 'rateLimit', odd)
  }
})
