/** What a dialect cannot say of a request, by the paths that its client knows. */
import type { Conversation } from '#backends/llm/conversation.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { fieldPath, OPENAI_FIELDS, type PathField, partPath } from '#backends/llm/formats/paths.ts'

/** Paths are those of the request in chat completions ("tools[0].function.strict"). */
export interface Notes {
  /** It is left out. `isHarmless`: whatever it is, the answer is what was asked for without it. */
  lose(path: string, isHarmless?: boolean): void
  /** It is said in other words. */
  reword(path: string): void
}

/** Members of chat completions -> what conversations call them. */
const FIELDS: ReadonlyMap<string, PathField> = new Map<string, PathField>([
  ...Object.entries(OPENAI_FIELDS).map(([field, name]) => [name, field as PathField] as const),
  ['logprobs', 'topLogprobs'],
  ['safety_identifier', 'user'],
  ['response_format', 'output'],
  ['reasoning_effort', 'thinking']
])

const NAME = /^\w+/

/** Of a request that was made from `conversation`, of another format. */
export function notesOn({ origin, turns }: Conversation, losses: Losses): Notes {
  const pathOf = (path: string): string => {
    const [name = ''] = NAME.exec(path) ?? []
    const field = FIELDS.get(name)
    return field === undefined ? path.replace('.function', '') : fieldPath(origin, field)
  }
  return {
    lose: (path, isHarmless = false) => {
      // Of messages it is the thoughts that are lost, since all else in them has been written for this format.
      if (path.startsWith('messages[')) tellThoughts(turns, origin, losses)
      else losses.add(pathOf(path), isHarmless ? 'harmless' : 'meaning')
    },
    reword: (path) => losses.rewrite(pathOf(path))
  }
}

/** They are the model's own, and it answers without them. */
function tellThoughts(turns: Conversation['turns'], origin: Conversation['origin'], losses: Losses): void {
  for (const [i, { parts }] of turns.entries()) {
    for (const [j, { kind }] of parts.entries()) {
      if (kind === 'thinking') losses.add(partPath(origin, i, j), 'harmless')
    }
  }
}

/** Of the client's own request. `judge`: whether a path changes what is asked for. `sent`: the path as it knows it. */
export function ownNotes(losses: Losses, judge: (path: string) => boolean, sent: (path: string) => string): Notes {
  return {
    lose: (path, isHarmless = false) => losses.add(sent(path), isHarmless || !judge(path) ? 'harmless' : 'meaning'),
    reword: (path) => losses.rewrite(sent(path))
  }
}
