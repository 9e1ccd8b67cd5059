/** OpenAI's errors (guide "Error codes"; the `error` object of the API, the `error` event and failed responses). */
import type { ChatError, ErrorType, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/fields.ts'

/** By meaning: OpenAI's word for the type, and the status of an error that comes without one. */
const WORDS: { readonly [type in ErrorType]: readonly [word: string, status: number] } = {
  invalidRequest: ['invalid_request_error', 400],
  authentication: ['authentication_error', 401],
  permission: ['permission_error', 403],
  notFound: ['not_found_error', 404],
  tooLarge: ['request_too_large', 413],
  rateLimit: ['rate_limit_exceeded', 429],
  quota: ['insufficient_quota', 429],
  overloaded: ['overloaded_error', 503],
  timeout: ['timeout', 504],
  filter: ['content_filter', 400],
  internal: ['server_error', 500]
}

/** Codes and types that say more than the status. */
const CODES = new Map<string, ErrorType>([
  ...Object.entries(WORDS).map(([type, [word]]) => [word, type as ErrorType] as const),
  ['rate_limit_error', 'rateLimit'],
  ['content_policy_violation', 'filter'],
  ['content_filter_error', 'filter'],
  ['bio_policy', 'filter'],
  ['image_content_policy_violation', 'filter'],
  ['invalid_prompt', 'invalidRequest'],
  ['context_length_exceeded', 'invalidRequest'],
  ['invalid_api_key', 'authentication'],
  ['model_not_found', 'notFound'],
  ['billing_hard_limit_reached', 'quota'],
  ['server_is_overloaded', 'overloaded'],
  ['slow_down', 'overloaded'],
  ['service_unavailable_error', 'overloaded']
])

const STATUSES = new Map<number, ErrorType>([
  [401, 'authentication'],
  [403, 'permission'],
  [404, 'notFound'],
  [408, 'timeout'],
  [413, 'tooLarge'],
  [429, 'rateLimit'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded']
])

function byStatus(status: number): ErrorType {
  return STATUSES.get(status) ?? (status >= 500 ? 'internal' : 'invalidRequest')
}

/** Of OpenAI's error object; a word for the meaning of a request's fault goes before its status. */
export function errorOf(error: JsonObject, status: number | null): ChatError {
  const code = text(error.code)
  const word = text(error.type)
  const known = CODES.get(code ?? '') ?? CODES.get(word ?? '') ?? null
  // "invalid_request_error" is the type of nearly all that is 4xx.
  const isVague = known === null || (known === 'invalidRequest' && status !== null)
  const type = isVague ? (status === null ? 'internal' : byStatus(status)) : known
  return {
    status: status ?? WORDS[type][1],
    type,
    message: text(error.message) ?? 'The provider gave no reason.',
    code,
    param: text(error.param)
  }
}

function text(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

export function readError(status: number, body: string): ChatError {
  let parsed: Json = null
  try {
    parsed = JSON.parse(body) as Json
  } catch {
    parsed = null // Not of the API: of something before it.
  }
  const object = isObject(parsed) ? (isObject(parsed.error) ? parsed.error : parsed) : {}
  if (isObject(parsed) && typeof parsed.error === 'string') return errorOf({ message: parsed.error }, status)
  const fallback = text(body.slice(0, MESSAGE_LENGTH_MAX).trim()) ?? `The provider answered with status ${status}.`
  return errorOf(text(object.message) === null ? { ...object, message: fallback } : object, status)
}

/** Of text that is no error object; a page of HTML does not get longer by being an error. */
const MESSAGE_LENGTH_MAX = 1000

export function writeError(error: ChatError): JsonObject {
  return { error: { message: error.message, type: WORDS[error.type][0], param: error.param, code: error.code } }
}

/** The fields of an `error` event. */
export function streamError(error: ChatError): JsonObject {
  return { code: error.code ?? WORDS[error.type][0], message: error.message, param: error.param }
}

/** The `error` of a failed response, whose codes are a closed list. */
export function failure(error: ChatError): JsonObject {
  const { type, message } = error
  if (type === 'rateLimit' || type === 'quota') return { code: 'rate_limit_exceeded', message }
  return { code: type === 'invalidRequest' || type === 'filter' ? 'invalid_prompt' : 'server_error', message }
}
