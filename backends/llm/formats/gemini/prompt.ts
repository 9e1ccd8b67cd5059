/** Instructions in a request of generateContent, which the configuration adds to. */
import type { JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { isSystem, isTurn, listOf, type Prompt, type PromptMessage } from '#backends/llm/formats/prompt.ts'

/** The service takes names of fields in both spellings. */
export function withPrompt(body: JsonObject, { prepend, append }: Prompt): JsonObject {
  const part = ({ content }: PromptMessage): JsonObject => ({ text: content })
  const turn = (message: PromptMessage): JsonObject => ({
    role: message.role === 'assistant' ? 'model' : message.role,
    parts: [part(message)]
  })
  const [before, after] = [prepend.filter(isSystem), append.filter(isSystem)]
  const contents = [
    ...prepend.filter(isTurn).map(turn),
    ...listOf(body, 'contents'),
    ...append.filter(isTurn).map(turn)
  ]
  if (before.length + after.length === 0) return { ...body, contents }
  const field = body.system_instruction === undefined ? 'systemInstruction' : 'system_instruction'
  const own = body[field] ?? {}
  if (!isObject(own)) throw new FormatError(field, 'must be an object')
  const parts = own.parts ?? []
  if (!Array.isArray(parts)) throw new FormatError(`${field}.parts`, 'must be a list')
  return { ...body, [field]: { ...own, parts: [...before.map(part), ...parts, ...after.map(part)] }, contents }
}
