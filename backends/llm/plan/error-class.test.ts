/** Errors of providers as they word them -> what has gone wrong. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorClass } from '#backends/llm/config/snapshot.ts'
import type { FormatName } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { classOfError, classOfFault } from './error-class.ts'

const openai = (message: string, more: object = {}) => ({ error: { message, type: 'invalid_request_error', ...more } })
const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } })
const google = (code: number, status: string, message: string) => ({ error: { code, status, message } })
const quoted = (status: number, error: string) => ({
  ErrorCode: 'CLIENT_ERROR_FROM_MODEL',
  OriginalStatusCode: status,
  OriginalMessage: JSON.stringify({ error, error_type: 'x' })
})

const ROWS: readonly (readonly [string, FormatName, number, object, ErrorClass | null])[] = [
  [
    'OpenAI: too long',
    'completions',
    400,
    openai("This model's maximum context length is 128000 tokens. However, ...", { code: 'context_length_exceeded' }),
    'context_window'
  ],
  [
    'vLLM: too long',
    'completions',
    400,
    openai("This model's maximum context length is 4096 tokens."),
    'context_window'
  ],
  [
    'Anthropic: too long',
    'messages',
    400,
    anthropic('invalid_request_error', 'prompt is too long: 205000 tokens > 200000 maximum'),
    'context_window'
  ],
  [
    'Gemini: too long',
    'gemini',
    400,
    google(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
    ),
    'context_window'
  ],
  ['Bedrock: too long', 'converse', 400, { message: 'Input is too long for requested model.' }, 'context_window'],
  [
    'Groq: too long',
    'completions',
    400,
    openai('Please reduce the length of the messages or completion.'),
    'context_window'
  ],
  [
    'Azure: filtered',
    'completions',
    400,
    openai("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", {
      code: 'content_filter'
    }),
    'content_policy'
  ],
  [
    'Anthropic: filtered',
    'messages',
    400,
    anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
    'content_policy'
  ],
  ['Anthropic: overloaded', 'messages', 529, anthropic('overloaded_error', 'Overloaded'), 'overloaded'],
  ['OpenAI: rate limit', 'completions', 429, openai('Rate limit reached'), 'rate_limit'],
  ['Gemini: down', 'gemini', 503, google(503, 'UNAVAILABLE', 'The model is overloaded.'), 'overloaded'],
  ['OpenAI: key', 'completions', 401, openai('Incorrect API key provided', { code: 'invalid_api_key' }), 'auth'],
  ['anybody: broken', 'completions', 500, openai('The server had an error'), 'server_error'],
  ['a mistake of the client', 'completions', 400, openai('temperature must be a number'), null],
  [
    'watsonx.ai: quota',
    'completions',
    403,
    { errors: [{ code: 'token_quota_reached', message: 'the quota is used up' }], status_code: 403 },
    'rate_limit'
  ],
  ['watsonx.ai: key', 'completions', 401, { errors: [{ code: 'authentication_token_expired', message: 'x' }] }, 'auth'],
  [
    'watsonx.ai: too long',
    'completions',
    400,
    { errors: [{ code: 'invalid_input_argument', message: "This model's maximum context length is 8192 tokens." }] },
    'context_window'
  ],
  ['SageMaker: a container that is overloaded', 'completions', 424, quoted(503, 'busy'), 'overloaded'],
  ['SageMaker: a container that is broken', 'completions', 424, quoted(500, 'CUDA error'), 'server_error'],
  [
    'SageMaker: too long',
    'completions',
    424,
    quoted(422, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096'),
    'context_window'
  ],
  ['SageMaker: a mistake of the client', 'completions', 424, quoted(400, 'temperature must be a number'), null],
  ['SageMaker: too much', 'completions', 429, { message: 'Rate exceeded' }, 'rate_limit'],
  [
    'Cohere: too long',
    'cohereV2',
    400,
    { message: 'too many tokens: size limit exceeded by 9 tokens' },
    'context_window'
  ],
  ['Cohere: key', 'cohereV2', 401, { message: 'invalid api token' }, 'auth'],
  ['Cohere: rate limit', 'cohereV2', 429, { message: 'You are using a Trial key' }, 'rate_limit'],
  // Words of the user that an error repeats behind another status decide nothing.
  ['not about length', 'completions', 404, openai('no model called "maximum context length"'), null]
]

for (const [name, format, status, body, expected] of ROWS) {
  test(`${name}: ${expected ?? 'nobody would answer otherwise'}`, () => {
    equal(classOfError(FORMATS[format].readError(status, JSON.stringify(body))), expected)
  })
}

test('an attempt without an answer', () => {
  equal(classOfFault('UPSTREAM_TIMEOUT'), 'timeout')
  equal(classOfFault('UPSTREAM_RESET'), 'server_error')
})
