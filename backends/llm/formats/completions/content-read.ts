/** `messages` of a request as system parts and turns. */

import type { Json, MediaPart, Part, RefusalPart, TextPart, ToolResultPart, Turn } from '#backends/llm/conversation.ts'
import type { Fields } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { readCache, readContent } from './parts.ts'
import { readThinking } from './thinking.ts'
import { isLegacy, legacyId, readCalls } from './tool-calls.ts'

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const

/** Parts of a message that has some of a type that its role does not have. */
const ODD_PARTS_MAX = 1000

interface Reading {
  readonly system: TextPart[]
  /** Of each system message ahead of the conversation, how many parts it has. */
  readonly counts: number[]
  readonly turns: Turn[]
  /** Results of the tool messages that lie together: one turn. */
  results: ToolResultPart[] | null
  /** Calls of functions that wait for their function message: id by name. */
  readonly legacy: Map<string, string>
}

export function readMessages(body: Fields, notes: ReadNotes): { readonly system: TextPart[]; readonly turns: Turn[] } {
  body.list('messages')
  const reading: Reading = { system: [], counts: [], turns: [], results: null, legacy: new Map() }
  for (const [i, message] of body.objects('messages').entries()) {
    readMessage(message, i, reading, notes)
    message.leaveUnknown(notes.unknown)
  }
  const { system, counts, turns } = reading
  if (counts.length > 1 || counts[0] === 0) notes.wording.set('system', counts)
  return { system, turns }
}

function readMessage(message: Fields, i: number, reading: Reading, notes: ReadNotes): void {
  const role = message.optionalWord('role', ROLES)
  if (role === null) throw new FormatError(message.at('role'), 'is required, and must be a string')
  if (role === 'tool' || role === 'function') {
    const result = role === 'tool' ? readToolMessage(message, notes) : readFunctionMessage(message, i, reading, notes)
    if (reading.results === null) {
      reading.results = []
      reading.turns.push({ role: 'user', parts: reading.results })
    }
    reading.results.push(result)
    return
  }
  reading.results = null
  if (role === 'assistant') {
    reading.turns.push({ role, parts: readAssistant(message, i, reading, notes) })
    return
  }
  if (message.any('content') === null) throw new FormatError(message.at('content'), 'is required')
  if (role === 'user') {
    reading.turns.push({ role, parts: readContent(message, notes) })
    return
  }
  if (role === 'developer') notes.wording.set(message.at('role'), role)
  const parts = keep(message, notes, (part) => part.kind === 'text') as TextPart[]
  if (reading.turns.length > 0) {
    reading.turns.push({ role: 'system', parts })
    return
  }
  for (const part of parts) reading.system.push(part)
  reading.counts.push(parts.length)
}

/** The parts that a message of this role may have here; the others stay in rest, where they were. */
function keep(message: Fields, notes: ReadNotes, may: (part: Part) => boolean): Part[] {
  const parts = readContent(message, notes)
  if (parts.every(may)) return parts
  // Each goes back by moving those behind it.
  if (parts.length > ODD_PARTS_MAX) throw new FormatError(message.at('content'), 'has parts of a type not allowed here')
  const list = message.list('content')
  notes.wording.set(message.at('content'), 'list')
  for (const [i, part] of parts.entries()) {
    if (!may(part)) notes.unknown.set(`${message.at('content')}[${i}]`, list[i] as Json)
  }
  return parts.filter(may)
}

function readAssistant(message: Fields, i: number, reading: Reading, notes: ReadNotes): Part[] {
  const thinking = readThinking(message, notes)
  const content = readContent(message, notes)
  if (content.some((part) => part.kind === 'refusal')) notes.wording.set(message.at('content'), 'list')
  const refusal = message.optionalString('refusal')
  const refusals: RefusalPart[] = []
  if (refusal !== null) {
    refusals.push({ kind: 'refusal', text: refusal })
    // Only where it is in doubt: refusals of lists are parts of the list.
    if (notes.wording.has(message.at('content'))) notes.wording.set(message.at('refusal'), true)
  }
  const calls = readCalls(message, String(i), notes)
  for (const call of calls) {
    if (call.kind === 'toolCall' && isLegacy(call.id)) reading.legacy.set(call.name, call.id)
  }
  return [...thinking, ...content, ...refusals, ...calls]
}

function readToolMessage(message: Fields, notes: ReadNotes): ToolResultPart {
  const name = message.optionalString('name')
  if (name !== null) notes.wording.set(message.at('name'), true)
  return readResult(message, message.string('tool_call_id'), name, notes)
}

function readFunctionMessage(message: Fields, i: number, reading: Reading, notes: ReadNotes): ToolResultPart {
  const name = message.string('name')
  return readResult(message, reading.legacy.get(name) ?? legacyId(i), name, notes)
}

function readResult(message: Fields, callId: string, name: string | null, notes: ReadNotes): ToolResultPart {
  const isContent = (part: Part): boolean =>
    part.kind === 'text' || part.kind === 'image' || part.kind === 'document' || part.kind === 'audio'
  const content = keep(message, notes, isContent) as (TextPart | MediaPart)[]
  return { kind: 'toolResult', callId, name, content, isError: false, cache: readCache(message, notes) }
}
