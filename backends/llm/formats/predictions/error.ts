/** Errors of Replicate: {"title", "detail", "status"}, and "invalid_fields" of a body that is refused. */
import type { ChatError, Json, JsonObject } from '#backends/llm/conversation.ts'
import { typeOfStatus } from '#backends/llm/formats/error-types.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { parseJson } from '#engine/kit/json.ts'

const MESSAGE_CHARS_MAX = 1000

export function readError(status: number, body: string): ChatError {
  const value = (parseJson(body) ?? null) as Json
  const { detail, title, invalid_fields: invalid } = isObject(value) ? value : ({} as JsonObject)
  const message = [detail, title].find((text) => isString(text) && text.trim() !== '') as string | undefined
  const text = message ?? (isObject(value) ? '' : body.trim())
  const shown = text.trim().slice(0, MESSAGE_CHARS_MAX)
  return {
    status,
    type: typeOfStatus(status),
    message: shown === '' ? `status ${status}` : shown,
    code: null,
    param: fieldIn(invalid)
  }
}

function fieldIn(invalid: Json | undefined): string | null {
  const first = Array.isArray(invalid) ? (invalid as readonly Json[])[0] : undefined
  const field = isObject(first) ? first.field : undefined
  return isString(field) && field !== '' ? field : null
}

export function writeError({ message, status }: ChatError): JsonObject {
  return { title: 'Error', detail: message, status }
}
