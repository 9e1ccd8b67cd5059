/** Texts of predictions, for prompt guards: what a model has put out, and why it could not. */
import {
  ALL,
  answered,
  beside,
  type EventTexts,
  pieceOf,
  ROLE,
  type Value
} from '#backends/llm/formats/guarded-texts.ts'
import { BESIDE, textsBelow } from '#engine/kit/scan/texts.ts'

export const answerTexts = answered('output', BESIDE)

/** All that a prediction puts out is one text. */
export function eventTexts(value: Value): EventTexts {
  const pieces = textsBelow(value, 'output', ROLE).map((slot) => pieceOf(slot, '|output', 'text'))
  return { pieces: [...pieces, ...beside(value, 'output')], ends: value.status === 'succeeded' ? ALL : [] }
}
