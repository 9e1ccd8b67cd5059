/**
 * Tool calls in messages: `tool_calls` of functions and custom tools, and `function_call`, which came before them.
 * A function_call has no id; its part has one that begins with LEGACY, by which it is written back as what it was.
 */

import type { OpaquePart, Part, Signature, ToolCallPart } from '#backends/llm/conversation.ts'
import { argumentsOf, compact, type Fields, isObject, isString, type Writable } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { toolCallPart } from '#backends/llm/formats/parts.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { openSignature, sealSignature } from '#backends/llm/translate/signature.ts'
import { readCache } from './parts.ts'
import { marked, type Wording } from './wording.ts'

const LEGACY = 'function_call_'

export function legacyId(index: number): string {
  return `${LEGACY}${index}`
}

export function isLegacy(id: string): boolean {
  return id.startsWith(LEGACY)
}

/** `ids`: what ids of calls that have none begin with; unique among the messages of a conversation. */
export function readCalls(message: Fields, ids: string, notes: ReadNotes): Part[] {
  const parts: Part[] = message.objects('tool_calls').map((call, i) => readCall(call, `call_${ids}_${i}`, notes))
  const functionCall = message.any('function_call')
  // Some servers have it in every answer: {}, "", or with a name of nothing.
  if (!isObject(functionCall) || (functionCall.name ?? '') === '') return parts
  const legacy = message.object('function_call')
  const text = readArguments(legacy)
  if (text === '') notes.wording.set(legacy.at('arguments'), '')
  parts.push(toolCallPart(`${LEGACY}${ids}`, legacy.string('name'), text === '' ? '{}' : text))
  legacy.leaveUnknown(notes.unknown)
  return parts
}

function readArguments(called: Fields): string {
  const text = argumentsOf(called.any('arguments'))
  if (text === null) throw new FormatError(called.at('arguments'), 'must be a string')
  return text
}

function readCall(call: Fields, id: string, notes: ReadNotes): Part {
  const type = call.text('type') ?? ''
  // Servers call functions by other names ("tool_call", ""): what has a function is a call of it.
  if (!isObject(call.value.function) && type !== 'function' && type !== '')
    return { kind: 'opaque', format: 'completions', value: call.value }
  const named = call.object('function')
  const text = readArguments(named)
  if (text === '') notes.wording.set(named.at('arguments'), '')
  const ownId = call.label('id')
  const part: ToolCallPart = {
    ...toolCallPart(ownId === null || ownId === '' ? id : ownId, named.string('name'), text === '' ? '{}' : text),
    signature: readSignature(call, notes),
    cache: readCache(call, notes)
  }
  named.leaveUnknown(notes.unknown)
  call.leaveUnknown(notes.unknown)
  return part
}

/** Where Google's OpenAI-compatible endpoint has it ("Thought signatures": OpenAI compatibility). */
function readSignature(call: Fields, notes: ReadNotes): Signature | null {
  const signature = signatureOf(call.value.extra_content)
  if (signature === null) return null
  const extra = call.object('extra_content')
  const google = extra.object('google')
  google.any('thought_signature')
  google.leaveUnknown(notes.unknown)
  extra.leaveUnknown(notes.unknown)
  return signature
}

/** Of `extra_content`; null when there is none. */
export function signatureOf(extra: unknown): Signature | null {
  const google = isObject(extra as Writable) ? (extra as Writable).google : null
  const text = isObject(google) ? google.thought_signature : null
  return isString(text) && text !== '' ? openSignature(text, 'gemini') : null
}

export function extraContent(signature: Signature): Writable {
  return { google: { thought_signature: sealSignature(signature, 'gemini') } }
}

/** A call of a custom tool, which only this format knows. */
export function isOpaqueCall(part: Part): part is OpaquePart {
  return part.kind === 'opaque' && part.format === 'completions' && isString(part.value.id)
}

/** Adds `calls` to `message`, which is at `path`. */
export function writeCalls(
  calls: readonly (ToolCallPart | OpaquePart)[],
  message: Writable,
  path: string,
  wording: Wording
): void {
  const list: Writable[] = []
  for (const part of calls) {
    const at = `${path}.tool_calls[${list.length}]`
    if (part.kind === 'opaque') {
      list.push({ ...part.value })
    } else if (isLegacy(part.id) && message.function_call === undefined) {
      message.function_call = { name: part.name, arguments: textOf(part, `${path}.function_call`, wording) }
    } else {
      const named = { name: part.name, arguments: textOf(part, `${at}.function`, wording) }
      const extra = part.signature === null ? null : extraContent(part.signature)
      const call = compact({ id: part.id, type: 'function', function: named, extra_content: extra })
      list.push(marked(call, part.cache, at, wording))
    }
  }
  if (list.length > 0) message.tool_calls = list
}

function textOf(part: ToolCallPart, path: string, wording: Wording): string {
  return part.arguments === '{}' && wording.get(`${path}.arguments`) === '' ? '' : part.arguments
}
