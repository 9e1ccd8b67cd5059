/** Texts of Converse, for prompt guards (Amazon Bedrock API reference, "ConverseStream"). */
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

export const answerTexts = answered('output', BESIDE)

const CONVERSE_KINDS: ReadonlyMap<string, Kind> = new Map([
  ['delta.text', 'text'],
  ['delta.reasoningContent.text', 'thought']
])

/** The kind of an event is its name. */
export function eventTexts(value: Value, name: string): EventTexts {
  const group = `${String(value.contentBlockIndex ?? '')}|`
  if (name === 'contentBlockStop') return { ...NONE, ends: [group] }
  if (name === 'messageStop') return { ...NONE, ends: ALL }
  const slots = [...textsBelow(value, 'delta', ROLE), ...textsBelow(value, 'start', ROLE)]
  const pieces = slots.map((slot) => {
    const isJson = slot.isJson || slot.path.endsWith('toolUse.input')
    return pieceOf({ ...slot, isJson }, `${group}${slot.path}`, CONVERSE_KINDS.get(slot.path) ?? null)
  })
  return { ...NONE, pieces: [...pieces, ...beside(value, 'delta', 'start')] }
}
