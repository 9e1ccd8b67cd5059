/** Errors of Bedrock, by the pages "Common errors" and Converse of its API reference. */

import type { ChatError, ErrorType, Json, JsonObject } from '#backends/llm/conversation.ts'
import { typeOfStatus } from '#backends/llm/formats/error-types.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { parseJson } from '#engine/kit/json.ts'

interface Known {
  readonly status: number
  readonly type: ErrorType
}

/** In lower case: streams begin the names small. */
const EXCEPTIONS: ReadonlyMap<string, Known> = new Map<string, Known>([
  ['validationexception', { status: 400, type: 'invalidRequest' }],
  ['servicequotaexceededexception', { status: 400, type: 'quota' }],
  ['conflictexception', { status: 400, type: 'invalidRequest' }],
  ['accessdeniedexception', { status: 403, type: 'permission' }],
  ['unrecognizedclientexception', { status: 403, type: 'authentication' }],
  ['expiredtokenexception', { status: 403, type: 'authentication' }],
  ['invalidsignatureexception', { status: 403, type: 'authentication' }],
  ['resourcenotfoundexception', { status: 404, type: 'notFound' }],
  ['modeltimeoutexception', { status: 408, type: 'timeout' }],
  ['modelerrorexception', { status: 424, type: 'internal' }],
  ['modelstreamerrorexception', { status: 424, type: 'internal' }],
  ['throttlingexception', { status: 429, type: 'rateLimit' }],
  ['modelnotreadyexception', { status: 429, type: 'overloaded' }],
  ['internalserverexception', { status: 500, type: 'internal' }],
  ['serviceunavailableexception', { status: 503, type: 'overloaded' }]
])

const NAMES: { readonly [type in ErrorType]: string } = {
  invalidRequest: 'ValidationException',
  authentication: 'AccessDeniedException',
  permission: 'AccessDeniedException',
  notFound: 'ResourceNotFoundException',
  tooLarge: 'ValidationException',
  rateLimit: 'ThrottlingException',
  quota: 'ServiceQuotaExceededException',
  overloaded: 'ServiceUnavailableException',
  timeout: 'ModelTimeoutException',
  filter: 'ValidationException',
  internal: 'InternalServerException'
}

/** Bedrock names the error in a header (x-amzn-errortype); some bodies of AWS have it as `__type` or `code`. */
export function readError(status: number, body: string): ChatError {
  const value = objectIn(body)
  const name = exceptionOf(stringOf(value, '__type') ?? stringOf(value, 'code') ?? '')
  const known = EXCEPTIONS.get(name.toLowerCase())
  const message = stringOf(value, 'message') ?? stringOf(value, 'Message') ?? body
  const type = known?.type ?? (status === 424 ? 'internal' : typeOfStatus(status))
  return { status, type, message, code: name === '' ? null : name, param: null }
}

/** An exception or error of the event stream. */
export function readStreamError(name: string, data: string): ChatError {
  const value = objectIn(data)
  const code = name === 'error' ? (stringOf(value, 'code') ?? name) : name
  const known = EXCEPTIONS.get(code.toLowerCase()) ?? { status: 500, type: 'internal' }
  const message = stringOf(value, 'message') ?? stringOf(value, 'Message') ?? data
  return { ...known, message, code, param: null }
}

/** Any text: {} where it is no object. */
function objectIn(text: string): JsonObject {
  const value = parseJson(text) as Json | undefined
  return isObject(value) ? value : {}
}

function stringOf(value: JsonObject, name: string): string | null {
  const found = value[name]
  return typeof found === 'string' ? found : null
}

/** "com.amazon.coral.service#ThrottlingException:http://..." as its middle. */
function exceptionOf(name: string): string {
  const from = name.indexOf('#') + 1
  const to = name.indexOf(':', from)
  return to < 0 ? name.slice(from) : name.slice(from, to)
}

/** What goes into the header x-amzn-errortype of an error's answer. */
export function errorTypeOf(error: ChatError): string {
  const isBedrocks = error.code !== null && EXCEPTIONS.has(error.code.toLowerCase())
  return isBedrocks ? `${error.code![0]!.toUpperCase()}${error.code!.slice(1)}` : NAMES[error.type]
}

/** `__type` says it for clients that see only the body; AWS's own prefer the header. */
export function writeError(error: ChatError): JsonObject {
  return { message: error.message, __type: errorTypeOf(error) }
}
