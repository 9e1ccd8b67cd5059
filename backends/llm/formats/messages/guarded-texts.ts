/** Texts of messages, for prompt guards. */
import {
  ALL,
  answered,
  astray,
  beside,
  type EventTexts,
  NONE,
  type Piece,
  pieceOf,
  ROLE,
  requestReach,
  type Value
} from '#backends/llm/formats/guarded-texts.ts'
import { BESIDE, isObject, type Slot, textsBelow } from '#engine/kit/scan/texts.ts'

export const requestTexts = requestReach(
  ['system', 'messages', 'context_management', 'compaction'],
  ['tools', 'output_config.format.schema', 'output_format.schema']
)

export const answerTexts = answered('content', BESIDE)

const BLOCK_TEXT = /^(?:content_block|delta)\.(text|thinking|partial_json)$/

export function eventTexts(value: Value): EventTexts {
  const group = `${String(value.index)}|`
  switch (value.type) {
    case 'message_start': {
      const pieces = isObject(value.message) ? beside(value.message) : astray(value, 'message')
      return { ...NONE, pieces: [...pieces, ...beside(value, 'message')] }
    }
    case 'content_block_start':
    case 'content_block_delta': {
      const name = value.type === 'content_block_start' ? 'content_block' : 'delta'
      const pieces = textsBelow(value, name, ROLE).map((slot) => blockPiece(group, slot))
      return { ...NONE, pieces: [...pieces, ...beside(value, name)] }
    }
    case 'content_block_stop':
      return { pieces: beside(value), ends: [group] }
    case 'message_stop':
      return { pieces: beside(value), ends: ALL }
    default:
      return { ...NONE, pieces: beside(value) }
  }
}

function blockPiece(group: string, slot: Slot): Piece {
  const kind = BLOCK_TEXT.exec(slot.path)?.[1]
  if (kind === undefined) return pieceOf(slot, null)
  return pieceOf(slot, `${group}${kind}`, kind === 'text' ? kind : kind === 'thinking' ? 'thought' : null)
}
