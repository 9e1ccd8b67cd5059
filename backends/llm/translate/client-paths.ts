/**
 * The paths of turns and parts in the client's request: losses are named by these paths. Writers know turns by number.
 * Most formats have a message for each. OpenAI's two do not: they begin with instructions, and a turn may be several
 * messages or items. So their paths are recorded by number, and looked up when a loss is named.
 */
import type { ClientFormat, Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { isKnownType } from '#backends/llm/formats/responses/parts.ts'

const TURNS: { readonly [format in ClientFormat]: readonly [turns: string, parts: string] } = {
  messages: ['messages', 'content'],
  completions: ['turns', 'parts'],
  responses: ['turns', 'parts'],
  gemini: ['contents', 'parts']
}

/** What fields of a part are called, where it is not as in the conversation. */
const WORDS: { readonly [format in ClientFormat]?: Readonly<Record<string, string>> } = {
  messages: { name: 'title', isError: 'is_error' },
  completions: { name: 'file.filename', detail: 'image_url.detail', arguments: 'function.arguments' },
  responses: { name: 'filename' }
}

/** Of the conversation's turn `i`; clientPaths makes it the client's. */
export function turnPath(format: ClientFormat, i: number): string {
  return `${TURNS[format][0]}[${i}]`
}

export function partPath(format: ClientFormat, i: number, j: number): string {
  return `${turnPath(format, i)}.${TURNS[format][1]}[${j}]`
}

const TURN = /^turns\[(\d+)\](?:\.parts\[(\d+)\])?/
const PART = /^(?:turns|messages|contents)\[\d+\]\.(?:parts|content)\[\d+\]/
const LAST_WORD = /\w+$/
const BEHIND_MESSAGE = /(?<=^\w+\[\d+\])\..*/s

/** Paths of losses as the client knows them: `conversation` was read from `body`. */
export function clientPaths(paths: readonly string[], conversation: Conversation, body: JsonObject): string[] {
  const { turns, origin } = conversation
  const words = WORDS[origin.format]
  const isCompletions = origin.format === 'completions'
  let places: readonly string[] | null = null
  let starts: readonly number[] = []
  const look = (): readonly string[] => {
    const sizes = turns.map(({ parts }) => parts.length)
    let at = 0
    starts = sizes.map((size) => {
      at += size
      return at - size
    })
    return isCompletions ? messagePlaces(body.messages, sizes) : itemPlaces(body.input)
  }
  return paths.map((path) => {
    const [part = ''] = PART.exec(path) ?? []
    const hasWord = words !== undefined && part !== '' && path.length > part.length
    const named = hasWord ? path.replace(LAST_WORD, (word) => words[word] ?? word) : path
    const [place, turn, index] = TURN.exec(named) ?? []
    if (place === undefined) return named
    places ??= look()
    const found = places[starts[Number(turn)]! + Number(index ?? 0)] ?? (isCompletions ? 'messages' : 'input')
    // A turn as a whole is its message.
    return (index === undefined ? found.replace(BEHIND_MESSAGE, '') : found) + named.slice(place.length)
  })
}

const isInstruction = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer'
const lengthOf = (list: Json | undefined): number => (Array.isArray(list) ? list.length : 0)

/** Of what stands in `content`: a text, or a list. */
function contentPlaces(content: Json | undefined, path: string): string[] {
  if (Array.isArray(content)) return content.map((_, i) => `${path}[${i}]`)
  return typeof content === 'string' ? [path] : []
}

/** Where the parts of all turns stand in chat completions; `sizes`: of each turn, how many parts it has. */
function messagePlaces(messages: Json | undefined, sizes: readonly number[]): string[] {
  const places: string[] = []
  let turn = 0
  let isRun = false
  for (const [i, message] of (Array.isArray(messages) ? messages : []).entries()) {
    if (!isObject(message) || (turn === 0 && isInstruction(message))) continue
    const path = `messages[${i}]`
    const isResult = message.role === 'tool' || message.role === 'function'
    // Results that lie together are one turn.
    if (!isResult || !isRun) turn++
    isRun = isResult
    if (isResult) places.push(path)
    else if (message.role === 'assistant') assistantPlaces(message, path, sizes[turn - 1] ?? 0, places)
    else for (const place of contentPlaces(message.content, `${path}.content`)) places.push(place)
  }
  return places
}

/** Thoughts, content, refusal and calls, in this order; the first have several ways to be written. */
function assistantPlaces(message: JsonObject, path: string, size: number, places: string[]): void {
  const behind = contentPlaces(message.content, `${path}.content`)
  if (typeof message.refusal === 'string') behind.push(`${path}.refusal`)
  for (let i = 0; i < lengthOf(message.tool_calls); i++) behind.push(`${path}.tool_calls[${i}]`)
  if (isObject(message.function_call)) behind.push(`${path}.function_call`)
  const hasBlocks = lengthOf(message.thinking_blocks) > 0
  for (let i = 0; i < size - behind.length; i++) places.push(hasBlocks ? `${path}.thinking_blocks[${i}]` : path)
  for (const place of behind) places.push(place)
}

/** Where the parts of all turns stand in the input of Responses. */
function itemPlaces(input: Json | undefined): string[] {
  if (!Array.isArray(input)) return ['input']
  const places: string[] = []
  let isBehind = false
  for (const [i, item] of input.entries()) {
    if (!isObject(item)) continue
    const isMessage = (item.type ?? 'message') === 'message' && item.role !== undefined
    if (!isBehind && isMessage && isInstruction(item)) continue
    isBehind = true
    const path = `input[${i}]`
    if (isMessage) for (const place of messageItemPlaces(item.content, path)) places.push(place)
    // A seal belongs to the call before it.
    else if (!isSeal(item)) places.push(path)
  }
  return places
}

/** What cannot be read is no part of the turn; with nothing else, the message is one part. */
function messageItemPlaces(content: Json | undefined, path: string): string[] {
  const places = contentPlaces(content, `${path}.content`)
  if (!Array.isArray(content) || content.length === 0) return places
  const known = places.filter((_, i) => isKnownType(String((content[i] as JsonObject).type)))
  return known.length === 0 ? [path] : known
}

function isSeal({ type, encrypted_content: sealed }: JsonObject): boolean {
  return type === 'reasoning' && typeof sealed === 'string' && sealed.startsWith('call.weir.')
}
