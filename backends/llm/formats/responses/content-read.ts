/**
 * Items: what input and output of the Responses API are made of (API reference, "Responses", input and output items).
 * A conversation has turns of parts; an item is a part, except messages, which hold texts, refusals and media.
 */

import type { FormatName, Json, JsonObject, MediaPart, Part, Signature, TextPart } from '#backends/llm/conversation.ts'
import { argumentsOf, type Fields } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { isPlain, toolCallPart } from '#backends/llm/formats/parts.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { openSignature, sealSignature } from '#backends/llm/translate/signature.ts'
import { isKnown, isKnownContent, readContent } from './parts.ts'
import { keepOwn } from './wording.ts'

export type ItemRole = 'user' | 'assistant' | 'system'

export type Item =
  | { readonly kind: 'message'; readonly role: ItemRole; readonly parts: readonly Part[] }
  | { readonly kind: 'part'; readonly role: 'user' | 'assistant'; readonly part: Part }
  /** The seal of the function call before it. */
  | { readonly kind: 'seal'; readonly signature: Signature; readonly part: Part }

export function readItem(item: Fields, notes: ReadNotes): Item {
  const type = item.text('type') ?? (item.value.role === undefined ? 'item_reference' : 'message')
  if (type === 'message') return readMessage(item, notes)
  if (type === 'function_call') return { kind: 'part', role: 'assistant', part: readCall(item, notes) }
  if (type === 'function_call_output') return { kind: 'part', role: 'user', part: readResult(item, notes) }
  if (type === 'reasoning') return readReasoning(item, notes)
  return { kind: 'part', role: isFromUser(type) ? 'user' : 'assistant', part: opaque(item.value) }
}

function isFromUser(type: string): boolean {
  return type.endsWith('_output') || type === 'mcp_approval_response' || type === 'additional_tools'
}

export function opaque(value: JsonObject): Part {
  return { kind: 'opaque', format: 'responses', value }
}

const ROLES = ['user', 'assistant', 'system', 'developer'] as const

function readMessage(item: Fields, notes: ReadNotes): Item {
  const role = item.optionalWord('role', ROLES)
  if (role === null) throw new FormatError(item.at('role'), 'is required')
  const turnRole = role === 'developer' ? 'system' : role
  const content = item.any('content')
  if (Array.isArray(content) && !isKnownContent(content as readonly Json[], item.at('content'))) {
    return { kind: 'part', role: role === 'assistant' ? 'assistant' : 'user', part: opaque(item.value) }
  }
  const parts = readContents(item, 'content', contentType(turnRole), notes)
  if (role === 'developer') notes.wording.set(item.at('role'), role)
  if (item.value.type === undefined || item.value.type === null) notes.wording.set(`${item.path}#easy`, true)
  keepOwn(notes, item, ['id', 'status'])
  item.leaveUnknown(notes.unknown)
  return { kind: 'message', role: turnRole, parts }
}

export function contentType(role: ItemRole): string {
  return role === 'assistant' ? 'output_text' : 'input_text'
}

/** Text, or a list of content parts. */
function readContents(item: Fields, name: string, textType: string, notes: ReadNotes): readonly Part[] {
  const content = item.any(name)
  if (typeof content === 'string') return [{ kind: 'text', text: content, cache: null }]
  if (content === null) throw new FormatError(item.at(name), 'is required')
  if (!Array.isArray(content)) throw new FormatError(item.at(name), 'must be a string or a list')
  const parts: Part[] = []
  for (const part of item.objects(name)) {
    // What is of an unheard-of type goes back to where it stood; its neighbours are read.
    if (isKnown(part)) parts.push(readContent(part, textType, notes))
    else notes.unknown.set(part.path, part.value)
  }
  if (isPlain(parts)) notes.wording.set(`${item.path}#list`, true)
  return parts
}

function readCall(item: Fields, notes: ReadNotes): Part {
  const args = argumentsOf(item.any('arguments'))
  if (args === null) throw new FormatError(item.at('arguments'), 'must be a string')
  if (args === '') notes.wording.set(item.at('arguments'), args)
  const part = toolCallPart(callIdOf(item), item.string('name'), args === '' ? '{}' : args)
  keepOwn(notes, item, ['id', 'status'])
  item.leaveUnknown(notes.unknown)
  return part
}

/** Servers that have only one id for a call leave the other out. */
export function callIdOf(item: Fields): string {
  return item.label('call_id') ?? item.label('id') ?? item.string('call_id')
}

function readResult(item: Fields, notes: ReadNotes): Part {
  const output = item.any('output')
  if (Array.isArray(output) && !isKnownContent(output as readonly Json[], item.at('output'))) return opaque(item.value)
  const parts = readContents(item, 'output', 'input_text', notes)
  if (parts.some((part) => part.kind === 'refusal')) throw new FormatError(item.at('output'), 'cannot have a refusal')
  const part: Part = {
    kind: 'toolResult',
    callId: item.string('call_id'),
    name: null,
    content: parts as readonly (TextPart | MediaPart)[],
    isError: false,
    cache: null
  }
  keepOwn(notes, item, ['id', 'status'])
  item.leaveUnknown(notes.unknown)
  return part
}

/** Between the parts of a summary. */
export const GAP = '\n\n'

function readReasoning(item: Fields, notes: ReadNotes): Item {
  const summary = texts(item, 'summary', 'summary_text', notes)
  const content = texts(item, 'content', 'reasoning_text', notes)
  if (summary === null || content === null) return { kind: 'part', role: 'assistant', part: opaque(item.value) }
  const signature = openReasoning(item.optionalString('encrypted_content'))
  // Models that give all their thoughts need no summary; where there are both, the thoughts are the thing.
  const shown = content.length > 0 ? content : summary
  if (content.length > 0) {
    notes.wording.set(`${item.path}#content`, true)
    if (summary.length > 0) notes.unknown.set(item.at('summary'), item.any('summary'))
  }
  if (shown.length > 1 || shown[0] === '')
    notes.wording.set(
      `${item.path}#texts`,
      shown.map((text) => text.length)
    )
  if (item.value.summary === undefined || item.value.summary === null) notes.wording.set(`${item.path}#bare`, true)
  keepOwn(notes, item, ['id', 'status'])
  item.leaveUnknown(notes.unknown)
  const part: Part = {
    kind: 'thinking',
    text: shown.join(GAP),
    signature: signature?.signature ?? null,
    isRedacted: signature?.kind === 'redacted'
  }
  if (signature?.kind === 'call' && shown.length === 0) return { kind: 'seal', signature: signature.signature, part }
  return { kind: 'part', role: 'assistant', part }
}

/** The texts of a list of `type`s; null when something else is in it. */
function texts(item: Fields, name: string, type: string, notes: ReadNotes): readonly string[] | null {
  const found: string[] = []
  for (const entry of item.objects(name)) {
    if (entry.string('type') !== type) return null
    found.push(entry.string('text'))
    entry.leaveUnknown(notes.unknown)
  }
  return found
}

/**
 * What stands in `encrypted_content`: OpenAI's own, or the seal of another provider, which says in front what it is
 * on: on thoughts that are nowhere else, or on the function call before.
 */
export type ReasoningKind = 'thinking' | 'redacted' | 'call'

export function openReasoning(text: string | null): { kind: ReasoningKind; signature: Signature } | null {
  if (text === null) return null
  for (const kind of ['redacted', 'call'] as const) {
    if (!text.startsWith(`${kind}.weir.`)) continue
    const signature = openSignature(text.slice(kind.length + 1), 'responses')
    if (signature.format !== 'responses') return { kind, signature }
  }
  return { kind: 'thinking', signature: openSignature(text, 'responses') }
}

export function sealReasoning(kind: ReasoningKind, signature: Signature): string {
  const sealed = sealSignature(signature, 'responses')
  return kind === 'thinking' || signature.format === 'responses' ? sealed : `${kind}.${sealed}`
}

/** Whether a signature can be given back to a provider of this format. */
export function isOurs(signature: Signature | null, from: FormatName): boolean {
  return signature !== null && (signature.format === 'responses' || from === 'responses')
}
