/** Texts of generateContent, for prompt guards. */
import {
  answered,
  astray,
  beside,
  type EventTexts,
  listOf,
  type Piece,
  pieceOf,
  ROLE,
  requestReach,
  type Value
} from '#backends/llm/formats/guarded-texts.ts'
import { BESIDE, isObject, type Slot, textsBelow } from '#engine/kit/scan/texts.ts'

export const requestTexts = requestReach(
  ['systemInstruction', 'system_instruction', 'contents'],
  [
    'tools',
    ...['generationConfig', 'generation_config'].flatMap((config) =>
      ['responseSchema', 'response_schema', 'responseJsonSchema', 'response_json_schema'].map(
        (schema) => `${config}.${schema}`
      )
    )
  ]
)

export const answerTexts = answered('candidates', BESIDE)

export function eventTexts(value: Value): EventTexts {
  const pieces: Piece[] = [...astray(value, 'candidates'), ...beside(value, 'candidates')]
  const ends: string[] = []
  for (const [i, candidate] of listOf(value.candidates).entries()) {
    const group = `${String(candidate.index ?? i)}|`
    const { content } = candidate
    pieces.push(...beside(candidate, 'content'))
    if (isObject(content)) pieces.push(...astray(content, 'parts'), ...beside(content, 'parts'))
    else pieces.push(...astray(candidate, 'content'))
    for (const part of isObject(content) ? listOf(content.parts) : []) {
      const kind = part.thought === true ? 'thought' : 'text'
      for (const slot of textsBelow({ part }, 'part', ROLE)) {
        if (slot.path === 'part.text') pieces.push(pieceOf(slot, `${group}${kind}`, kind, group))
        else pieces.push(pieceOf(slot, partialKey(group, part, slot), null, group))
      }
    }
    if ((candidate.finishReason ?? null) !== null) ends.push(group)
  }
  return { pieces, ends }
}

const PARTIAL = /^part\.functionCall\.partialArgs\.([0-9]+)\.stringValue$/

/** Arguments that come bit by bit say where they belong. */
function partialKey(group: string, { functionCall }: Value, { path }: Slot): string | null {
  const index = PARTIAL.exec(path)?.[1]
  if (index === undefined || !isObject(functionCall)) return null
  return `${group}args ${String(listOf(functionCall.partialArgs)[Number(index)]?.jsonPath)}`
}
