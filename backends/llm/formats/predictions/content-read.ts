/** What a model has put out, which is of any JSON type: a chat is a text, or its pieces in order. */
import type { Json, Part } from '#backends/llm/conversation.ts'
import { isString } from '#backends/llm/formats/fields.ts'

/** Null: it is no text. Nothing at all is an empty one. */
export function textOfOutput(output: Json): string | null {
  if (output === null) return ''
  if (typeof output === 'string') return output
  if (!Array.isArray(output) || !(output as readonly Json[]).every(isString)) return null
  return (output as string[]).join('')
}

export const partsOf = (text: string): readonly Part[] => (text === '' ? [] : [{ kind: 'text', text, cache: null }])
