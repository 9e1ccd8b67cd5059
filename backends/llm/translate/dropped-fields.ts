/** Naming for a client what could not be said in its format: in a response field, in a comment or in an event. */

import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { Part } from '#backends/llm/conversation.ts'
import { FormatError, type Loss } from '#backends/llm/formats/format.ts'

/** Fields that are named. */
const DROPPED_MAX = 32
const FIELD_CHARS_MAX = 128

export const DROPPED = 'x-weir-dropped'

/** Plain data, and short however many there are: it also comes from other threads. */
export interface DroppedFields {
  /** As many as are named. */
  readonly fields: readonly string[]
  readonly count: number
  /** The first that changes what a request asks for; null: none does. */
  readonly changed: string | null
}

export const NONE_DROPPED: DroppedFields = { fields: [], count: 0, changed: null }

/** `kinds`: of each field; absent, none changes anything. */
export function droppedOf(fields: readonly string[], kinds: readonly Loss[] = []): DroppedFields {
  if (fields.length === 0) return NONE_DROPPED
  const changed = fields[kinds.indexOf('meaning')] ?? null
  return { fields: fields.slice(0, DROPPED_MAX), count: fields.length, changed }
}

/** `more`: fields that change nothing. */
export function withMore({ fields, count, changed }: DroppedFields, more: readonly string[]): DroppedFields {
  return { fields: [...fields, ...more].slice(0, DROPPED_MAX), count: count + more.length, changed }
}

/** Why `provider` is not asked without the fields; null: it is. */
export function refusalOfDropped(
  { fields, changed }: DroppedFields,
  provider: string,
  unsupported: AiBackend['unsupported']
): FormatError | null {
  const refused = unsupported === 'drop' ? null : unsupported === 'refuse' ? (fields[0] ?? null) : changed
  if (refused === null) return null
  const enough = unsupported === 'refuse' && changed === null ? 'tolerant' : 'drop'
  return new FormatError(refused, `cannot be carried to ${provider}: leave it out, or set unsupported: ${enough}`)
}

/** Names of JSON fields may hold anything; a header field, or a line, may not. */
export function droppedList({ fields, count }: Pick<DroppedFields, 'fields' | 'count'>): string {
  const names = fields.map((field) => field.slice(0, FIELD_CHARS_MAX))
  const text = names.join(', ').replace(/[^\t -~]/g, '?')
  return count > fields.length ? `${text}, and ${count - fields.length} more` : text
}

/** A comment of server-sent events; "" for nothing. */
export function droppedComment(fields: readonly string[]): string {
  return fields.length === 0 ? '' : `: ${DROPPED}: ${droppedList(droppedOf(fields))}\n\n`
}

/**
 * The same as an event of generateContent, for its clients: google-genai (PyPI) takes each line of a stream that is
 * neither empty nor begins with `data:` for a broken answer, comments too.
 */
export function droppedElement(fields: readonly string[]): string {
  return fields.length === 0 ? '' : `data: ${JSON.stringify({ [DROPPED]: droppedList(droppedOf(fields)) })}\n\n`
}

/** What a part of a streamed answer is called when it cannot be said: by its own format's word for it. */
export function lostPart(choice: number, part: Part): string {
  if (part.kind !== 'opaque') return `choices[${choice}].${part.kind}`
  const { type } = part.value
  return `choices[${choice}].${typeof type === 'string' ? type : (Object.keys(part.value)[0] ?? part.kind)}`
}
