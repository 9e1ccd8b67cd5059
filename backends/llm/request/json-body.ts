/** The JSON body of a client's request, parsed once, and the model that it names. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { repeatedName } from '#engine/kit/json-names.ts'

export const NO_BODY = 'there is no body: send JSON with POST'

/** Bodies that were parsed early, to find the backend for their model (models-backend.ts). */
const parsed = new WeakMap<Buffer, JsonObject>()

/** As parseBody; the result is kept as long as `bytes` are. */
export function parseAhead(bytes: Buffer): JsonObject {
  const body = parseBody(bytes)
  parsed.set(bytes, body)
  return body
}

/** Throws FormatError. */
export function parseBody(bytes: Buffer): JsonObject {
  const known = parsed.get(bytes)
  if (known !== undefined) return known
  let value: Json
  const text = bytes.toString()
  try {
    value = JSON.parse(text) as Json
  } catch {
    throw new FormatError('', bytes.length === 0 ? NO_BODY : 'the body is not valid JSON')
  }
  if (!isObject(value)) throw new FormatError('', 'the body must be a JSON object')
  const name = repeatedName(text)
  if (name !== null) throw new FormatError('', `the body has ${shown(name)} twice in one object: not all read the same`)
  return value
}

const NAME_CHARS_MAX = 64

const shown = (name: string): string => JSON.stringify(name.slice(0, NAME_CHARS_MAX))

/** "" when the body names no model: the provider may have a model of its own. Throws FormatError. */
export function modelOf({ model = null }: JsonObject): string {
  if (model === null) return ''
  if (typeof model !== 'string' || model === '') throw new FormatError('model', 'is required, and must be a string')
  return model
}
