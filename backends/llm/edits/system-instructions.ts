/**
 * Instructions by the name that some format has for them (Anthropic's `system`, Gemini's `systemInstruction`,
 * `instructions` of Responses), in the format that a client speaks: `defaults` and `overrides` say them once for all
 * clients (docs/specification.md#policies-for-models).
 */
import type { ClientFormat, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { CLIENT_FORMATS, FORMATS } from '#backends/llm/formats/index.ts'

const FIELDS: ReadonlySet<string> = new Set(CLIENT_FORMATS.flatMap(({ instructions }) => instructions.fields))

/** Whether `field` says instructions, and not in the way of `client`. */
export const isForeignSystem = (client: ClientFormat, field: string): boolean =>
  FIELDS.has(field) && !FORMATS[client].instructions.fields.includes(field)

const ROLES = new Set<Json | undefined>(['system', 'developer'])
const isInstruction = (message: Json): boolean => isObject(message) && ROLES.has(message.role)

/**
 * `body` with the instructions that `value` says: instead of the client's, or only where it has none. The same `body`
 * where they stay; null: `value` says none.
 */
export function withSystem(
  client: ClientFormat,
  body: JsonObject,
  value: unknown,
  replaces: boolean
): JsonObject | null {
  const texts = textsOf(value)
  if (texts === null) return null
  // The reader of its format reports a wrong list.
  const { fields: names, list, write } = FORMATS[client].instructions
  const own: readonly Json[] = list !== null && Array.isArray(body[list]) ? body[list] : []
  const hasOwn = own.some(isInstruction) || names.some((name) => (body[name] ?? null) !== null)
  if (hasOwn && !replaces) return body
  const rest: Record<string, Json> = {}
  for (const [key, inner] of Object.entries(body)) if (!names.includes(key)) define(rest, key, inner)
  if (list !== null && own.some(isInstruction)) rest[list] = own.filter((message) => !isInstruction(message))
  return write(rest, texts.join('\n\n')) ?? body
}

/** Entries are defined: "__proto__" is data. */
function define(to: Record<string, Json>, key: string, value: Json): void {
  Object.defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true })
}

/** A text, a list of texts or text parts, or an object with `parts`; null: something else. */
function textsOf(value: unknown): readonly string[] | null {
  if (typeof value === 'string') return [value]
  const list: unknown = Array.isArray(value) ? value : isObject(value as Json) ? (value as JsonObject).parts : null
  if (!Array.isArray(list) || list.length === 0) return null
  const texts = list.map((part: unknown) =>
    typeof part === 'string' ? part : (part as { text?: unknown } | null)?.text
  )
  return texts.every((text) => typeof text === 'string') ? (texts as string[]) : null
}
