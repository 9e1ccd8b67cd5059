/**
 * Where in the client's own request something stands: messages of the configuration's prompt go around the client's,
 * which keep their identity and their order, but not their numbers.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { CLIENT_FORMATS } from '#backends/llm/formats/index.ts'

/** Lists that messages of the configuration may go into, in the formats that clients speak. */
const LISTS = CLIENT_FORMATS.flatMap(({ paths, instructions: { fields } }) => [
  paths.fields.turns,
  ...fields.flatMap((field) => [field, `${field}\\.parts`])
])
const ITEM = new RegExp(`^(${[...new Set(LISTS)].join('|')})\\[(\\d+)\\]`)
/** What stands in a message of the configuration. */
const CONFIGURED = 'prompt'

/** `path` in `prompted` as a path in `sent`. */
export function sentPath(path: string, prompted: JsonObject, sent: JsonObject): string {
  const [place, field, index] = ITEM.exec(path) ?? []
  if (place === undefined || field === undefined) return path
  const item = listAt(prompted, field)?.[Number(index)]
  const own = valueAt(sent, field)
  if (typeof own === 'string') return isMadeOf(own, item) ? field : CONFIGURED
  const at = Array.isArray(own) && item !== undefined ? own.indexOf(item) : -1
  return at < 0 ? CONFIGURED : `${field}[${at}]${path.slice(place.length)}`
}

/** A text for a list has become an item: a turn, or a block of instructions. */
function isMadeOf(text: string, item: Json | undefined): boolean {
  return isObject(item) && (item.content === text || item.text === text)
}

function valueAt(body: JsonObject, field: string): Json | undefined {
  let value: Json | undefined = body
  for (const name of field.split('.')) value = isObject(value) ? value[name] : undefined
  return value
}

function listAt(body: JsonObject, field: string): readonly Json[] | null {
  const value = valueAt(body, field)
  return Array.isArray(value) ? value : null
}
