/** Telling a client what could not be said in its format: names of fields, in a response field or in a comment. */

import type { Part } from './conversation.ts'

/** Fields that are named. */
const DROPPED_MAX = 32
const FIELD_CHARS_MAX = 128

export const DROPPED = 'x-weir-dropped'

/** Names of JSON fields may hold anything; a header field, or a line, may not. */
export function listOf(fields: readonly string[]): string {
  const names = fields.slice(0, DROPPED_MAX).map((field) => field.slice(0, FIELD_CHARS_MAX))
  const text = names.join(', ').replace(/[^\t -~]/g, '?')
  return fields.length > DROPPED_MAX ? `${text}, and ${fields.length - DROPPED_MAX} more` : text
}

/** A comment of server-sent events; "" for nothing. */
export function droppedComment(fields: readonly string[]): string {
  return fields.length === 0 ? '' : `: ${DROPPED}: ${listOf(fields)}\n\n`
}

/** What a part of a streamed answer is called when it cannot be said: by its own format's word for it. */
export function lostPart(choice: number, part: Part): string {
  if (part.kind !== 'opaque') return `choices[${choice}].${part.kind}`
  const { type } = part.value
  return `choices[${choice}].${typeof type === 'string' ? type : (Object.keys(part.value)[0] ?? part.kind)}`
}
