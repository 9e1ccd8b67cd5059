/** What the message of an answer holds, as parts (API reference of Cohere, "Chat", version 2, response). */
import type { Json, Part } from '#backends/llm/conversation.ts'
import { argumentsOf, type Fields } from '#backends/llm/formats/fields.ts'
import { toolCallPart } from '#backends/llm/formats/parts.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'

/** In the order in which they come in a stream: content, the plan, calls; then what was cited, which no format has. */
export function readMessage(message: Fields, unknown: UnknownFields): Part[] {
  const parts: Part[] = []
  for (const block of message.objects('content')) parts.push(readBlock(block, unknown))
  const plan = message.optionalString('tool_plan') ?? ''
  if (plan !== '') parts.push({ kind: 'text', text: plan, cache: null })
  for (const call of message.objects('tool_calls')) parts.push(readCall(call, unknown))
  const citations = message.optionalList('citations') ?? []
  if (citations.length > 0) parts.push(citedPart(citations))
  return parts
}

function readBlock(block: Fields, unknown: UnknownFields): Part {
  const { type, text, thinking } = block.value
  const isThought = typeof thinking === 'string' && (type === 'thinking' || type === undefined)
  if (!isThought && (typeof text !== 'string' || (type !== 'text' && type !== undefined))) {
    return { kind: 'opaque', format: 'cohereV2', value: block.value }
  }
  block.any('type')
  block.any(isThought ? 'thinking' : 'text')
  block.leaveUnknown(unknown)
  return isThought
    ? { kind: 'thinking', text: thinking, signature: null, isRedacted: false }
    : { kind: 'text', text: text as string, cache: null }
}

function readCall(call: Fields, unknown: UnknownFields): Part {
  const id = call.string('id')
  call.any('type')
  const definition = call.object('function')
  const part = toolCallPart(id, definition.string('name'), readArguments(definition.any('arguments')))
  definition.leaveUnknown(unknown)
  call.leaveUnknown(unknown)
  return part
}

/** Of a tool without parameters it writes "null", or nothing. */
export function readArguments(value: Json): string {
  const text = argumentsOf(value) ?? ''
  return text === '' || text === 'null' ? '{}' : text
}

export function citedPart(citations: readonly Json[]): Part {
  return { kind: 'opaque', format: 'cohereV2', value: { citations } }
}
