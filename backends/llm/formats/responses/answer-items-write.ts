/** Items of answers: as those of requests, with an id and a status; the same for whole answers and for streams. */

import type { Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import type { AnswerContext } from '#backends/llm/formats/format.ts'
import { callItem, reasoningItem, sealItem } from './content-write.ts'
import type { Wording } from './wording.ts'

export type TextualPart = Extract<Part, { readonly kind: 'text' | 'refusal' }>

export function isText(part: Part): part is TextualPart {
  return part.kind === 'text' || part.kind === 'refusal'
}

const PREFIXES = { message: 'msg', function_call: 'fc', reasoning: 'rs', image_generation_call: 'ig' } as const

export function itemId(context: AnswerContext, type: keyof typeof PREFIXES, index: number): string {
  return `${PREFIXES[type]}_${context.id}_${index}`
}

/** `logprobs`: of the whole answer, when this is the first text. */
export function outputContent(part: Part, logprobs: Json | null): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  const text = part.kind === 'text' ? part.text : ''
  return { type: 'output_text', annotations: [], logprobs: logprobs ?? [], text }
}

export function outputMessage(id: string, content: readonly JsonObject[], status: string): JsonObject {
  return { id, type: 'message', status, role: 'assistant', content }
}

/** A part that is an item; null when the format has no place for it. */
export function answerItem(
  part: Part,
  status: string,
  context: AnswerContext,
  index: number,
  wording: Wording
): JsonObject | null {
  if (part.kind === 'toolCall') {
    return callItem(part, { id: itemId(context, 'function_call', index), status })
  }
  if (part.kind === 'thinking')
    return reasoningItem(`output[${index}]`, part, wording, { id: itemId(context, 'reasoning', index) })
  if (part.kind === 'opaque') return part.format === 'responses' ? { ...part.value } : null
  if (part.kind !== 'image' || part.source.kind !== 'base64') return null
  return {
    id: itemId(context, 'image_generation_call', index),
    type: 'image_generation_call',
    status: 'completed',
    output_format: part.mediaType?.slice(part.mediaType.indexOf('/') + 1) ?? 'png',
    result: part.source.data
  }
}

/** The item after a function call that bears its seal; null when it has none. */
export function sealAnswer(part: Part, context: AnswerContext, index: number): JsonObject | null {
  if (part.kind !== 'toolCall' || part.signature === null) return null
  return sealItem('call', part, { id: itemId(context, 'reasoning', index) })
}
