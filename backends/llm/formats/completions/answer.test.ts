import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatError, Choice, JsonObject, Part } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'

const CONTEXT = { model: 'gpt-5', wantsUsage: true, at: 1_700_000_000_500, id: 'x' }
const USAGE = {
  prompt_tokens: 19,
  completion_tokens: 10,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 4, audio_tokens: 1 },
  completion_tokens_details: { reasoning_tokens: 3, audio_tokens: 2 }
}
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const ENTRY = { token: 'a', logprob: -0.1, bytes: [97], top_logprobs: [] }

const answerWith = (message: object, choice: object = {}): JsonObject =>
  ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-5',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...choice }]
  }) as unknown as JsonObject

function again(body: JsonObject): JsonObject {
  const losses = new Losses()
  const result = completions.writeAnswer(completions.readAnswer(body), CONTEXT, losses)
  assert.deepEqual(losses.fields, [])
  return result
}

/** Null and absent are the same. */
const bare = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, entry) =>
    entry !== null && typeof entry === 'object' && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).filter(([, field]) => field !== null))
      : entry
  )

const SAME: readonly (readonly [name: string, body: JsonObject])[] = [
  [
    'text',
    {
      ...answerWith({
        content: 'Hello!',
        refusal: null,
        annotations: [{ type: 'url_citation', url_citation: { url: 'u' } }]
      }),
      usage: USAGE,
      service_tier: 'default',
      system_fingerprint: 'fp'
    }
  ],
  [
    'predictions and more usage',
    {
      ...answerWith({ content: 'a' }),
      usage: {
        ...USAGE,
        cost: 0.1,
        completion_tokens_details: { ...USAGE.completion_tokens_details, accepted_prediction_tokens: 2 }
      }
    }
  ],
  [
    'cache writes',
    {
      ...answerWith({ content: 'a' }),
      usage: {
        ...USAGE,
        prompt_tokens_details: {
          cached_tokens: 0,
          audio_tokens: 0,
          cache_write_tokens: 9,
          cache_creation_token_details: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 4 }
        }
      }
    }
  ],
  ['refusal', answerWith({ refusal: 'No.' })],
  [
    'refusal by the filter',
    answerWith({}, { finish_reason: 'content_filter', content_filter_results: { hate: { filtered: true } } })
  ],
  [
    'calls',
    answerWith(
      {
        tool_calls: [
          CALL,
          { ...CALL, id: 'call_2', extra_content: { google: { thought_signature: 's' } } },
          { id: 'call_3', type: 'custom', custom: { name: 'c', input: 'i' } }
        ]
      },
      { finish_reason: 'tool_calls' }
    )
  ],
  [
    'a function call',
    answerWith({ function_call: { name: 'f', arguments: '{}' } }, { finish_reason: 'function_call' })
  ],
  ['thoughts', answerWith({ content: 'a', reasoning_content: 'Hm.' })],
  ['thoughts as Ollama has them', answerWith({ content: 'a', reasoning: 'Hm.' })],
  [
    'thinking blocks',
    answerWith({
      content: 'a',
      reasoning_content: 'Hm.',
      thinking_blocks: [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'redacted_thinking', data: 'd' }
      ]
    })
  ],
  ['audio', answerWith({ audio: { id: 'a', data: 'AA==', expires_at: 1, transcript: 't' } })],
  [
    'an image',
    answerWith({ content: 'a', images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] })
  ],
  ['logprobs', answerWith({ content: 'a' }, { logprobs: { content: [ENTRY], refusal: null } })],
  ['logprobs of a refusal', answerWith({ refusal: 'a' }, { logprobs: { content: null, refusal: [ENTRY] } })],
  ['a stop sequence', answerWith({ content: 'a' }, { stop_reason: 'END' })],
  ['a stop token', answerWith({ content: 'a' }, { stop_reason: 2 })],
  ['length', answerWith({ content: 'a' }, { finish_reason: 'length' })],
  ['an error', answerWith({ content: 'a' }, { finish_reason: 'error' })]
]

for (const [name, body] of SAME) {
  test(`an answer is written as it was read: ${name}`, () => assert.deepEqual(bare(again(body)), bare(body)))
}

test('an answer says what it says', () => {
  const { id, created, choices, usage } = completions.readAnswer({
    ...answerWith({ content: '', refusal: 'No.' }),
    usage: USAGE
  })
  assert.deepEqual([id, created], ['chatcmpl-1', 1_700_000_000])
  assert.deepEqual(choices, [
    { parts: [{ kind: 'refusal', text: 'No.' }], stop: 'refusal', stopSequence: null, logprobs: null }
  ])
  assert.deepEqual(usage, {
    input: 19,
    cacheRead: 4,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    inputAudio: 1,
    inputImage: 0,
    output: 10,
    reasoning: 3,
    outputAudio: 2,
    outputImage: 0
  })
})

test('usage of servers that count otherwise adds up to their total', () => {
  const read = (usage: JsonObject) => completions.readAnswer({ ...answerWith({ content: 'a' }), usage }).usage
  const hidden = read({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 35 })
  assert.deepEqual([hidden?.output, hidden?.reasoning], [25, 20])
  assert.equal(read({ prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 8 })?.cacheRead, 8)
})

const choice = (parts: readonly Part[], stop: Choice['stop']): Choice => ({
  parts,
  stop,
  stopSequence: null,
  logprobs: null
})

test('reasons to stop of other formats have a word here', () => {
  const refusal: Part = { kind: 'refusal', text: 'No.' }
  const words = [
    ['end', [], 'stop'],
    ['length', [], 'length'],
    ['stopSequence', [], 'stop'],
    ['tools', [], 'tool_calls'],
    ['filter', [], 'content_filter'],
    ['refusal', [], 'content_filter'],
    ['refusal', [refusal], 'stop'],
    ['contextWindow', [], 'length'],
    ['error', [], 'error'],
    ['pause', [], 'stop']
  ] as const
  const answer = completions.readAnswer(answerWith({ content: 'a' }))
  for (const [stop, parts, word] of words) {
    const losses = new Losses()
    const body = completions.writeAnswer(
      { ...answer, id: '', created: 0, choices: [choice(parts, stop)] },
      CONTEXT,
      losses
    )
    const [first] = body.choices as readonly JsonObject[]
    assert.equal(first?.finish_reason, word, stop)
    assert.deepEqual(losses.fields, stop === 'pause' ? ['choices[0].finish_reason'] : [])
    assert.deepEqual([body.id, body.created], ['chatcmpl-x', 1_700_000_000])
  }
})

test('parts and fields of other formats are losses', () => {
  const opaque: Part = { kind: 'opaque', format: 'messages', value: { type: 'web_search_tool_result' } }
  const answer = completions.readAnswer(answerWith({ content: 'a' }))
  const losses = new Losses()
  const origin = { format: 'messages', unknownFields: new Map([['container', 'c']]) } as const
  completions.writeAnswer({ ...answer, choices: [choice([opaque], 'end')], origin }, CONTEXT, losses)
  assert.deepEqual(losses.fields, ['choices[0].message.content[0]', 'container'])
})

test('an answer of which a filter has left nothing has no message', () => {
  const { choices } = completions.readAnswer({ choices: [{ index: 0, finish_reason: 'content_filter' }] })
  assert.deepEqual(choices, [choice([], 'filter')])
})

test('an answer that does not follow the format is an error with the path', () => {
  const wrong = [
    ['choices', {}],
    ['choices[0].message', { choices: [{}] }],
    ['choices[0].message.content', answerWith({ content: 3 })]
  ] as const
  for (const [field, body] of wrong) {
    const isOfField = (error: unknown) => error instanceof FormatError && error.field === field
    assert.throws(() => completions.readAnswer(body as JsonObject), isOfField, field)
  }
})

const ERRORS: readonly (readonly [
  status: number,
  body: string,
  type: ChatError['type'],
  message: string,
  code: string | null
])[] = [
  [
    401,
    '{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}',
    'authentication',
    'Incorrect API key provided',
    'invalid_api_key'
  ],
  [
    429,
    '{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}',
    'rateLimit',
    'Rate limit reached',
    'rate_limit_exceeded'
  ],
  [
    429,
    '{"error":{"message":"No quota left","type":"insufficient_quota","code":"insufficient_quota"}}',
    'quota',
    'No quota left',
    'insufficient_quota'
  ],
  [
    404,
    '{"error":{"message":"No such model","type":"invalid_request_error","param":null,"code":"model_not_found"}}',
    'notFound',
    'No such model',
    'model_not_found'
  ],
  [
    400,
    '{"error":{"message":"Too long","type":"invalid_request_error","code":"context_length_exceeded"}}',
    'invalidRequest',
    'Too long',
    'context_length_exceeded'
  ],
  [
    400,
    '{"error":{"message":"Filtered","type":null,"param":"prompt","code":"content_filter","status":400}}',
    'filter',
    'Filtered',
    'content_filter'
  ],
  [500, '{"error":{"message":"Oops","type":"server_error","param":null,"code":null}}', 'internal', 'Oops', null],
  [503, '{"error":{"message":"Busy"}}', 'overloaded', 'Busy', null],
  [
    404,
    '{"object":"error","message":"The model does not exist.","type":"NotFoundError","param":null,"code":404}',
    'notFound',
    'The model does not exist.',
    null
  ],
  [404, '{"error":"model not found"}', 'notFound', 'model not found', null],
  [422, '{"detail":[{"loc":["body"],"msg":"x"}]}', 'invalidRequest', '[{"loc":["body"],"msg":"x"}]', null],
  [429, '[{"error":{"code":429,"message":"Exhausted","status":"RESOURCE_EXHAUSTED"}}]', 'rateLimit', 'Exhausted', null],
  [502, '<html>Bad Gateway</html>', 'internal', '<html>Bad Gateway</html>', null],
  [504, '', 'timeout', 'The provider answered with status 504.', null],
  [413, 'null', 'tooLarge', 'null', null]
]

for (const [status, body, type, message, code] of ERRORS) {
  test(`an error is understood: ${status} ${body.slice(0, 60)}`, () => {
    const error = completions.readError(status, body)
    assert.deepEqual([error.status, error.type, error.message, error.code], [status, type, message, code])
  })
}

test('every error is written so that it is understood as what it was', () => {
  const types = {
    invalidRequest: 400,
    authentication: 401,
    permission: 403,
    notFound: 404,
    tooLarge: 413,
    rateLimit: 429,
    quota: 429,
    overloaded: 503,
    timeout: 504,
    filter: 400,
    internal: 500
  } as const
  for (const [type, status] of Object.entries(types) as [ChatError['type'], number][]) {
    const body = completions.writeError({ status, type, message: 'm', code: null, param: 'p' })
    const read = completions.readError(status, JSON.stringify(body))
    assert.deepEqual([read.type, read.message, read.param], [type, 'm', 'p'])
  }
})
