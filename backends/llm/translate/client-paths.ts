/**
 * The paths of turns and parts in the client's request: losses are named by these paths. Writers know turns by number.
 * Most formats have a message for each. OpenAI's two do not: they begin with instructions, and a turn may be several
 * messages or items. So their paths are recorded by number, and looked up when a loss is named.
 */
import type { Conversation, JsonObject } from '#backends/llm/conversation.ts'
import { CLIENT_FORMATS, FORMATS } from '#backends/llm/formats/index.ts'

const TURN = /^turns\[(\d+)\](?:\.parts\[(\d+)\])?/
const PART = partPattern()
const LAST_WORD = /\w+$/
const BEHIND_MESSAGE = /(?<=^\w+\[\d+\])\..*/s

/** A part in the words of any format that clients speak, with the numbers of turn and part. */
export function partPattern(): RegExp {
  const all = (key: 'turns' | 'parts') => [...new Set(CLIENT_FORMATS.map(({ paths }) => paths[key]))].join('|')
  return new RegExp(`^(?:${all('turns')})\\[(\\d+)\\]\\.(?:${all('parts')})\\[(\\d+)\\]`)
}

/** Paths of losses as the client knows them: `conversation` was read from `body`. */
export function clientPaths(losses: readonly string[], conversation: Conversation, body: JsonObject): string[] {
  const { turns, origin } = conversation
  const { partFields, fields } = origin.paths
  const { partPaths } = FORMATS[origin.format]
  let parts: readonly string[] | null = null
  let starts: readonly number[] = []
  const look = (): readonly string[] => {
    const sizes = turns.map((turn) => turn.parts.length)
    let at = 0
    starts = sizes.map((size) => {
      at += size
      return at - size
    })
    return partPaths!(body, sizes)
  }
  return losses.map((path) => {
    const [part = ''] = PART.exec(path) ?? []
    const hasWord = partFields !== undefined && part !== '' && path.length > part.length
    const named = hasWord ? path.replace(LAST_WORD, (word) => partFields[word] ?? word) : path
    const [place, turn, index] = partPaths === undefined ? [] : (TURN.exec(named) ?? [])
    if (place === undefined) return named
    parts ??= look()
    const found = parts[starts[Number(turn)]! + Number(index ?? 0)] ?? fields.turns
    // A turn as a whole is its message.
    return (index === undefined ? found.replace(BEHIND_MESSAGE, '') : found) + named.slice(place.length)
  })
}
