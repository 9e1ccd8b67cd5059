/** Texts of chat completions, for prompt guards. */
import {
  answered,
  astray,
  beside,
  type EventTexts,
  type Kind,
  listOf,
  type Piece,
  pieceOf,
  ROLE,
  requestReach,
  type Value
} from '#backends/llm/formats/guarded-texts.ts'
import { BESIDE, type Slot, textsBelow } from '#engine/kit/scan/texts.ts'

// `prompt` and `suffix` are those of the older completions; what follows them of vLLM, SGLang and llama.cpp.
export const requestTexts = requestReach(
  [
    ...['messages', 'prediction', 'prompt', 'suffix', 'documents', 'chat_template', 'chat_template_kwargs'],
    ...['guided_choice', 'guided_regex', 'guided_grammar', 'regex', 'ebnf', 'grammar']
  ],
  [
    ...['tools', 'functions', 'web_search_options.user_location'],
    ...['json_schema', 'schema', 'structures', 'format'].map((name) => `response_format.${name}`),
    ...['guided_json', 'structured_outputs', 'json_schema']
  ]
)

export const answerTexts = answered('choices', BESIDE)

/** A text that goes on is over when something else of the same choice has begun; `group` ends with "|". */
function goingOn(slots: readonly Slot[], group: string): Piece[] {
  return slots.map((slot) => pieceOf(slot, `${group}${slot.path}`, kindIn(slot), group))
}

const SPOKEN = /^(?:delta\.content(?:\.\d+\.text)?|text)$/
/** Of servers that show them beside the content. */
const THOUGHT = /^delta\.reasoning(?:_content)?$/

function kindIn({ path }: Slot): Kind | null {
  if (SPOKEN.test(path)) return 'text'
  return THOUGHT.test(path) ? 'thought' : null
}

export function eventTexts(value: Value): EventTexts {
  const pieces: Piece[] = [...astray(value, 'choices'), ...beside(value, 'choices')]
  const ends: string[] = []
  for (const [i, choice] of listOf(value.choices).entries()) {
    const group = `${String(choice.index ?? i)}|`
    pieces.push(...goingOn(textsBelow(choice, 'delta', ROLE), group))
    // Of servers that stream whole messages, or the older completions.
    pieces.push(...goingOn(textsBelow(choice, 'text', ROLE), group), ...beside(choice, 'delta', 'text'))
    if ((choice.finish_reason ?? null) !== null) ends.push(group)
  }
  return { pieces, ends }
}
