/**
 * Errors of Google's APIs: {error: {code, message, status, details}}.
 * Sources: ai.google.dev, "API errors"; cloud.google.com, "AIP-193 Errors"; google.rpc.Code.
 */

import type { ChatError, ErrorType, Json, JsonObject } from '#backends/llm/conversation.ts'
import { typeOfStatus } from '#backends/llm/formats/error-types.ts'
import { compact, isObject } from '#backends/llm/formats/fields.ts'
import { parseJson } from '#engine/kit/json.ts'

const TYPES: ReadonlyMap<string, ErrorType> = new Map([
  ['INVALID_ARGUMENT', 'invalidRequest'],
  ['FAILED_PRECONDITION', 'invalidRequest'],
  ['OUT_OF_RANGE', 'invalidRequest'],
  ['ALREADY_EXISTS', 'invalidRequest'],
  ['UNIMPLEMENTED', 'invalidRequest'],
  ['UNAUTHENTICATED', 'authentication'],
  ['PERMISSION_DENIED', 'permission'],
  ['NOT_FOUND', 'notFound'],
  ['RESOURCE_EXHAUSTED', 'rateLimit'],
  ['UNAVAILABLE', 'overloaded'],
  ['ABORTED', 'overloaded'],
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['CANCELLED', 'timeout'],
  ['INTERNAL', 'internal'],
  ['UNKNOWN', 'internal'],
  ['DATA_LOSS', 'internal']
])

const WORDS: { readonly [type in ErrorType]: string } = {
  invalidRequest: 'INVALID_ARGUMENT',
  authentication: 'UNAUTHENTICATED',
  permission: 'PERMISSION_DENIED',
  notFound: 'NOT_FOUND',
  tooLarge: 'INVALID_ARGUMENT',
  rateLimit: 'RESOURCE_EXHAUSTED',
  quota: 'RESOURCE_EXHAUSTED',
  overloaded: 'UNAVAILABLE',
  timeout: 'DEADLINE_EXCEEDED',
  filter: 'INVALID_ARGUMENT',
  internal: 'INTERNAL'
}

const DOMAIN = 'googleapis.com'
const INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest'

/** `status`: HTTP's, for bodies that do not tell. Never throws. */
export function readError(status: number, body: string): ChatError {
  // Not Google's own words: a proxy's page, or nothing.
  const value = (parseJson(body) ?? null) as Json
  return errorOf(status, Array.isArray(value) ? (value[0] as Json) : value, body)
}

/** The error in `value`; Vertex AI without alt=sse gives a list of one. */
export function errorOf(status: number, value: Json, body: string): ChatError {
  const error = isObject(value) && isObject(value.error) ? value.error : null
  if (error === null) {
    const message = body.trim().slice(0, 1000)
    return { status, type: typeOf(status, ''), message: message || `status ${status}`, code: null, param: null }
  }
  const word = text(error.status)
  const code = typeof error.code === 'number' && error.code >= 400 && error.code < 600 ? error.code : status
  const details = Array.isArray(error.details) ? (error.details as readonly Json[]).filter(isObject) : []
  const reason = text(details.find((detail) => detail['@type'] === INFO)?.reason)
  const violations = details.find((detail) => detail['@type'] === BAD_REQUEST)?.fieldViolations
  const violation = Array.isArray(violations) ? (violations[0] as Json | undefined) : undefined
  return {
    status: code,
    // Google reports a wrong key as a wrong argument.
    type: reason === 'API_KEY_INVALID' ? 'authentication' : typeOf(code, word ?? ''),
    message: text(error.message) ?? `status ${code}`,
    code: reason ?? word,
    param: isObject(violation) ? text(violation.field) : null
  }
}

const text = (value: Json | undefined) => (typeof value === 'string' ? value : null)

function typeOf(status: number, word: string): ErrorType {
  if (status === 402 || status === 413) return typeOfStatus(status)
  return TYPES.get(word) ?? (status === 499 ? 'timeout' : typeOfStatus(status))
}

export function writeError(error: ChatError): JsonObject {
  const status = WORDS[error.type]
  const details: JsonObject[] = []
  if (error.code !== null && error.code !== status) {
    details.push({ '@type': INFO, reason: error.code, domain: DOMAIN })
  }
  if (error.param !== null) {
    details.push({ '@type': BAD_REQUEST, fieldViolations: [{ field: error.param, description: error.message }] })
  }
  const { message } = error
  return { error: compact({ code: error.status, message, status, details: details.length > 0 ? details : null }) }
}
