/** Errors of the API (Messages API, "Errors"): {type: "error", error: {type, message}, request_id}. */

import type { ChatError, ErrorType, Json, JsonObject } from '#backends/llm/conversation.ts'
import { typeOfStatus } from '#backends/llm/formats/error-types.ts'
import { compact, isObject } from '#backends/llm/formats/fields.ts'
import { parseJson } from '#engine/kit/json.ts'

/** Of a text that is no JSON, as much is shown. */
const MESSAGE_CHARS_MAX = 1000

const TYPES: readonly (readonly [word: string, type: ErrorType, status: number])[] = [
  ['invalid_request_error', 'invalidRequest', 400],
  ['authentication_error', 'authentication', 401],
  ['billing_error', 'quota', 402],
  ['permission_error', 'permission', 403],
  ['not_found_error', 'notFound', 404],
  ['request_too_large', 'tooLarge', 413],
  ['rate_limit_error', 'rateLimit', 429],
  ['api_error', 'internal', 500],
  ['timeout_error', 'timeout', 504],
  ['overloaded_error', 'overloaded', 529]
]

/** Also of bodies that are not the API's own: proxies in front of it, and Google's and Azure's error objects. */
export function readError(status: number, body: string): ChatError {
  const value = parseJson(body) as Json | undefined
  const answer = isObject(value) ? value : Array.isArray(value) && isObject(value[0] as Json) ? value[0] : null
  const error = answer === null ? null : (answer as JsonObject).error
  if (isObject(error)) return errorOf(error, status)
  // AWS has it at the top.
  const reason = typeof error === 'string' && error !== '' ? error : (answer as JsonObject | null)?.message
  const message = typeof reason === 'string' && reason !== '' ? reason : body.trim().slice(0, MESSAGE_CHARS_MAX)
  const fallback = message === '' ? `The provider answered with status ${status}.` : message
  return { status, type: typeOfStatus(status), message: fallback, code: null, param: null }
}

/** The `error` object; `status` null: of a stream, which has none, so the type tells it. */
export function errorOf(error: JsonObject, status: number | null): ChatError {
  const word = typeof error.type === 'string' ? error.type : null
  const known = TYPES.find(([name]) => name === word)
  const httpStatus = status ?? known?.[2] ?? 500
  const details = isObject(error.details) ? error.details.error_code : null
  const own = typeof details === 'string' ? details : null
  return {
    status: httpStatus,
    type: known?.[1] ?? typeOfStatus(httpStatus),
    message: typeof error.message === 'string' ? error.message : `The provider answered with status ${httpStatus}.`,
    // Types without a meaning of their own here (conflict_error) are not lost.
    code: own ?? (known === undefined ? word : null),
    param: null
  }
}

/** `filter` is a request that is refused for what it says. */
export function writeError({ type, message, code, param }: ChatError): JsonObject {
  const word = TYPES.find(([, meaning]) => meaning === type)?.[0] ?? 'invalid_request_error'
  const text = param === null || message.includes(param) ? message : `${param}: ${message}`
  const details = code === null ? null : { error_code: code }
  return { type: 'error', error: compact({ type: word, message: text, details }), request_id: null }
}
