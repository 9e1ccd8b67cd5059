/**
 * Errors of OpenAI's APIs, chat completions and responses alike: {error: {message, type, code, param}} (guide "Error
 * codes"; the `error` event and failed responses of "Responses"), and what compatible servers make of it.
 */

import type { ChatError, ErrorType, Json, JsonObject } from '#backends/llm/conversation.ts'
import { knownType, typeOfStatus } from '#backends/llm/formats/error-types.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { parseJson } from '#engine/kit/json.ts'

/** Characters of a message that is no JSON. */
const MESSAGE_MAX = 2000

/** Words of `code` and `type` that say more than the status. */
const BY_WORD: ReadonlyMap<string, ErrorType> = new Map([
  ['insufficient_quota', 'quota'],
  // watsonx.ai, with status 403.
  ['token_quota_reached', 'quota'],
  ['billing_hard_limit_reached', 'quota'],
  ['billing_not_active', 'quota'],
  ['content_filter', 'filter'],
  ['content_policy_violation', 'filter'],
  ['content_filter_error', 'filter'],
  ['image_content_policy_violation', 'filter'],
  ['bio_policy', 'filter'],
  ['moderation_blocked', 'filter'],
  ['invalid_api_key', 'authentication'],
  ['authentication_error', 'authentication'],
  ['permission_error', 'permission'],
  ['model_not_found', 'notFound'],
  ['not_found_error', 'notFound'],
  ['NotFoundError', 'notFound'],
  ['request_too_large', 'tooLarge'],
  ['rate_limit_exceeded', 'rateLimit'],
  ['rate_limit_error', 'rateLimit'],
  ['tokens', 'rateLimit'],
  ['requests', 'rateLimit'],
  ['overloaded_error', 'overloaded'],
  ['server_is_overloaded', 'overloaded'],
  ['service_unavailable_error', 'overloaded'],
  ['slow_down', 'overloaded'],
  ['timeout_error', 'timeout'],
  ['timeout', 'timeout'],
  ['vector_store_timeout', 'timeout'],
  ['server_error', 'internal'],
  ['invalid_prompt', 'invalidRequest'],
  ['context_length_exceeded', 'invalidRequest'],
  ['invalid_request_error', 'invalidRequest'],
  ['BadRequestError', 'invalidRequest']
])

const WORDS: { readonly [type in ErrorType]: { readonly type: string; readonly code: string | null; status: number } } =
  {
    invalidRequest: { type: 'invalid_request_error', code: null, status: 400 },
    authentication: { type: 'authentication_error', code: null, status: 401 },
    permission: { type: 'permission_error', code: null, status: 403 },
    notFound: { type: 'not_found_error', code: null, status: 404 },
    tooLarge: { type: 'request_too_large', code: null, status: 413 },
    rateLimit: { type: 'rate_limit_error', code: 'rate_limit_exceeded', status: 429 },
    quota: { type: 'insufficient_quota', code: 'insufficient_quota', status: 429 },
    overloaded: { type: 'overloaded_error', code: null, status: 503 },
    timeout: { type: 'timeout_error', code: null, status: 504 },
    filter: { type: 'invalid_request_error', code: 'content_filter', status: 400 },
    internal: { type: 'server_error', code: null, status: 500 }
  }

export function readError(status: number, body: string): ChatError {
  // Not JSON: a page of some proxy, whose text is the message.
  const value = parseJson(body) ?? null
  // Google's compatible endpoint wraps it in a list.
  const whole = (Array.isArray(value) ? value[0] : value) as Json | undefined
  const error = isObject(whole) ? (ofContainer(whole) ?? errorOf(whole, status)) : null
  if (error !== null) return error
  const message = isString(whole) && whole !== '' ? whole : body.trim()
  return errorFrom(
    { message: message === '' ? `The provider answered with status ${status}.` : message.slice(0, MESSAGE_MAX) },
    status
  )
}

/** The error that `whole` tells; null when it tells none. FastAPI servers have `detail`, older vLLM no `error`. */
function errorOf(whole: JsonObject, status: number): ChatError | null {
  const error = whole.error ?? null
  if (isObject(error)) return errorFrom(error, status)
  if (isString(error)) return errorFrom({ message: error }, status)
  const listed = firstOf(whole.errors)
  if (listed !== null) return errorFrom(listed, status)
  if (isString(whole.message)) return errorFrom(whole, status)
  if (isString(whole.Message)) return errorFrom({ message: whole.Message }, status)
  const detail = whole.detail ?? null
  if (isString(detail)) return errorFrom({ message: detail }, status)
  return detail === null ? null : errorFrom({ message: JSON.stringify(detail).slice(0, MESSAGE_MAX) }, status)
}

/** Who runs the endpoint, and where its log is, is no client's to know. */
const LOG = /\.? See https:\/\/\S+ in account \d+ for more information\.?$/

/** SageMaker quotes the error of a container, with its status, behind one of its own ("InvokeEndpoint", ModelError). */
function ofContainer({ OriginalMessage: quoted, OriginalStatusCode: code, Message: text }: JsonObject) {
  const status = statusOf(code ?? null)
  if (status === null) return null
  if (isString(quoted) && quoted.trim() !== '') return readError(status, quoted)
  return errorFrom({ message: isString(text) ? text.replace(LOG, '') : '' }, status)
}

/**
 * The error in an answer or event with a status of success; null: there is none. In the forms of all servers,
 * whatever format they speak.
 */
export function errorIn(whole: JsonObject): JsonObject | null {
  const error =
    named(whole.error) ??
    firstOf(whole.errors) ??
    ofChoices(whole.choices) ??
    ofBaseResponse(whole.base_resp) ??
    ofReason(whole.finish_reason)
  if (error !== null) return error
  if (whole.object === 'error' || whole.type === 'error') return whole
  if (whole.choices !== undefined || whole.usage !== undefined || whole.object !== undefined) return null
  // FastAPI servers have `detail`, gateways and AWS `message`.
  const detail = whole.detail ?? null
  if (detail !== null) return { message: isString(detail) ? detail : JSON.stringify(detail).slice(0, MESSAGE_MAX) }
  return isString(whole.message) || isString(whole.__type) ? whole : null
}

/** watsonx.ai has a list of them ("Error handling" of its API reference). */
function firstOf(errors: Json | undefined): JsonObject | null {
  const [first] = Array.isArray(errors) ? (errors as readonly Json[]) : []
  return isObject(first) && isString(first.message) ? first : null
}

function named(error: Json | undefined): JsonObject | null {
  if (isObject(error)) return error
  return isString(error) && error !== '' ? { message: error } : null
}

/** OpenRouter has it in each choice, when the provider behind it has failed. */
function ofChoices(choices: Json | undefined): JsonObject | null {
  if (!Array.isArray(choices)) return null
  const [first] = choices as readonly Json[]
  if (first === undefined || !hasFailed(first)) return null
  return choices.every(hasFailed) ? named((first as JsonObject).error) : null
}

/** MiniMax's codes ("Error Codes"), in words that BY_WORD knows; its status is 200. */
const BASE_CODES: ReadonlyMap<Json, string> = new Map<Json, string>([
  [1001, 'timeout_error'],
  [1002, 'rate_limit_exceeded'],
  [1004, 'invalid_api_key'],
  [1008, 'insufficient_quota'],
  [1026, 'content_filter'],
  [1027, 'content_filter'],
  [1039, 'context_length_exceeded'],
  [2013, 'invalid_request_error'],
  [2049, 'invalid_api_key']
])

function ofBaseResponse(value: Json | undefined): JsonObject | null {
  if (!isObject(value)) return null
  const { status_code: code = 0, status_msg: message = '' } = value
  return code === 0 ? null : { message, code: BASE_CODES.get(code) ?? 'server_error' }
}

/** Of a whole answer: Cohere's, whose status was good when it failed ("Chat", finish_reason). */
function ofReason(word: Json | undefined): JsonObject | null {
  if (word !== 'ERROR' && word !== 'TIMEOUT') return null
  return { message: 'the model could not go on', code: word === 'TIMEOUT' ? 504 : 500 }
}

/** A choice that is no answer, but an error. */
export function hasFailed(choice: Json): boolean {
  if (!isObject(choice) || named(choice.error) === null) return false
  return choice.finish_reason === 'error' || (choice.finish_reason ?? null) === null
}

/** `status`: null in a stream, where only the error itself can tell. */
export function errorFrom(error: JsonObject, status: number | null): ChatError {
  const code = error.code ?? null
  const word = isString(error.type) ? error.type : ''
  const named = specific(isString(code) ? code : '') ?? specific(word)
  const known = status ?? statusOf(code)
  // The general word of a status says less than a vague word of the error.
  const type =
    named ?? (known === null ? undefined : knownType(known)) ?? vague(code, word) ?? typeOfStatus(known ?? 500)
  return {
    status: known ?? WORDS[type].status,
    type,
    message: isString(error.message) && error.message !== '' ? error.message : 'The provider gave no reason.',
    code: isString(code) && code !== '' ? code : null,
    param: isString(error.param) ? error.param : null
  }
}

/** OpenAI says invalid_request_error of nearly everything, and servers server_error: the status knows better. */
function specific(word: string): ErrorType | undefined {
  const type = BY_WORD.get(word)
  return type === 'invalidRequest' || type === 'internal' ? undefined : type
}

function vague(code: Json, word: string): ErrorType | undefined {
  return (isString(code) ? BY_WORD.get(code) : undefined) ?? BY_WORD.get(word)
}

/** Of the numbers that vLLM and OpenRouter have for codes. */
function statusOf(code: Json): number | null {
  return typeof code === 'number' && Number.isInteger(code) && code >= 400 && code <= 599 ? code : null
}

export function writeError(error: ChatError): JsonObject {
  const { type, code } = WORDS[error.type]
  return { error: { message: error.message, type, param: error.param, code: error.code ?? code } }
}

/** The fields of an `error` event of responses. */
export function streamError(error: ChatError): JsonObject {
  const { type, code } = WORDS[error.type]
  return { code: error.code ?? code ?? type, message: error.message, param: error.param }
}

/** The `error` of a failed response, whose codes are a closed list (ResponseError). */
export function failure(error: ChatError): JsonObject {
  const { type, message } = error
  if (type === 'rateLimit' || type === 'quota') return { code: 'rate_limit_exceeded', message }
  return { code: type === 'invalidRequest' || type === 'filter' ? 'invalid_prompt' : 'server_error', message }
}
