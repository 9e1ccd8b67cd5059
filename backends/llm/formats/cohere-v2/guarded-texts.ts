/** Texts of Cohere's chat, for prompt guards (API reference, "Chat with Streaming", version 2). */
import {
  ALL,
  answered,
  beside,
  type EventTexts,
  type Kind,
  NONE,
  pieceOf,
  ROLE,
  type Value
} from '#backends/llm/formats/guarded-texts.ts'
import { BESIDE, textsBelow } from '#engine/kit/scan/texts.ts'

export const answerTexts = answered('message', BESIDE)

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['delta.message.content.text', 'text'],
  ['delta.message.tool_plan', 'text'],
  ['delta.message.content.thinking', 'thought']
])

/** What the kinds of events are about: each has numbers of its own. */
const SUBJECT = /^(?:content|tool-call|tool-plan|citation)/

export function eventTexts(value: Value): EventTexts {
  const type = String(value.type ?? '')
  if (type === 'message-end') return { pieces: texts(value, 'message|'), ends: ALL }
  const group = `${SUBJECT.exec(type)?.[0] ?? ''}${String(value.index ?? '')}|`
  if (type === 'content-end' || type === 'tool-call-end') return { pieces: texts(value, group), ends: [group] }
  // A plan has no end of its own.
  return { pieces: texts(value, group), ends: type === 'tool-call-start' ? ['tool-plan'] : NONE.ends }
}

function texts(value: Value, group: string) {
  const pieces = textsBelow(value, 'delta', ROLE).map((slot) => {
    const isJson = slot.isJson || slot.path.endsWith('function.arguments')
    return pieceOf({ ...slot, isJson }, `${group}${slot.path}`, KINDS.get(slot.path) ?? null)
  })
  return [...pieces, ...beside(value, 'delta', 'type')]
}
