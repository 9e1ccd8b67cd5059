/** Errors of Cohere: {"id", "message"} beside the status (API reference, "Errors"). */
import type { ChatError, ErrorType, Json, JsonObject } from '#backends/llm/conversation.ts'
import { typeOfStatus } from '#backends/llm/formats/error-types.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { parseJson } from '#engine/kit/json.ts'

/** Beside those that mean the same everywhere. */
const TYPES: ReadonlyMap<number, ErrorType> = new Map([
  [422, 'invalidRequest'],
  // "Invalid token": of a key that has no such name.
  [498, 'authentication'],
  // The client has gone.
  [499, 'timeout']
])
const MESSAGE_CHARS_MAX = 1000

export function readError(status: number, body: string): ChatError {
  const value = (parseJson(body) ?? null) as Json
  const own = isObject(value) && typeof value.message === 'string' ? value.message : null
  const message = own ?? body.trim().slice(0, MESSAGE_CHARS_MAX)
  const type = TYPES.get(status) ?? typeOfStatus(status)
  return { status, type, message: message === '' ? `status ${status}` : message, code: null, param: null }
}

/** A generation that has failed, by its finish_reason: the status was sent long ago. */
export function failed(word: string, message: string | null): ChatError {
  const common = { message: message ?? 'the model could not go on', code: null, param: null }
  return word === 'TIMEOUT' ? { status: 504, type: 'timeout', ...common } : { status: 500, type: 'internal', ...common }
}

export function writeError({ message }: ChatError): JsonObject {
  return { message }
}
