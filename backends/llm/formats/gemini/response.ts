/** Results of tools as Gemini's response objects. Source: ai.google.dev, "Caching" reference, FunctionResponse. */
import type { JsonObject, ToolResultPart } from '#backends/llm/conversation.ts'
import { parseObject } from './wire.ts'

/** By the content that was made of it: {output: "x"} and {output: {...}} go back as they came. */
const responses = new WeakMap<ToolResultPart['content'], JsonObject>()

export function rememberResponse(content: ToolResultPart['content'], response: JsonObject): void {
  responses.set(content, response)
}

export function writeResponse(part: ToolResultPart): JsonObject {
  const known = responses.get(part.content)
  if (known !== undefined) return known
  const texts = part.content.flatMap((item) => (item.kind === 'text' ? [item.text] : []))
  const text = texts.join('\n')
  if (part.isError) return { error: text }
  if (texts.length === 0) return {}
  const value = text.trimStart().startsWith('{') ? parseObject(text) : null
  // An object is the whole response, unless its names would say something else there.
  if (value === null) return { output: text }
  return Object.hasOwn(value, 'output') || Object.hasOwn(value, 'error') ? { output: value } : value
}
