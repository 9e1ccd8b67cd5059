/**
 * What of a request is compared by its meaning: the text of its last turn, which is the user's. All the rest of it has
 * to be equal, and so do the numbers in the text, with their signs: models of vectors hardly tell 12 from 13 or -12.
 */
import { bodyWithoutForm } from '#backends/llm/cache/cache-key.ts'
import type { ClientFormat, Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'

/** Longer texts differ in what no vector tells, and models of vectors take some 8,000 tokens. */
const TEXT_CHARS_MAX = 8_192

/** 12, -40, 1.5, 10:30, 2/3, ½, m², > 100, $5. Each piece begins with another kind of character: linear in the text. */
const NUMBERS = /(?:[\p{Pd}\p{Sm}\p{Sc}~]\s*)?\p{N}+(?:[.,:/]\p{N}+)*(?:\s*[\p{Sc}%])?/gu

/** Fields of Responses: the conversation is elsewhere, or its answer comes later. */
const ELSEWHERE = ['previous_response_id', 'conversation', 'prompt', 'background'] as const

/**
 * Whether the provider keeps the answer under its id (API references, `store`; absent: in Responses alone). Who goes on
 * with that id would go on with the question of somebody else.
 */
const isStored = (client: ClientFormat, { store }: JsonObject): boolean =>
  client === 'responses' ? store !== false : client === 'completions' && store === true

/** Where a format has its turns, and the content of one. */
const PLACES: { readonly [format in ClientFormat]: { readonly turns: string; readonly content: string } } = {
  completions: { turns: 'messages', content: 'content' },
  messages: { turns: 'messages', content: 'content' },
  responses: { turns: 'input', content: 'content' },
  gemini: { turns: 'contents', content: 'parts' }
}

export interface Question {
  readonly text: string
  /** What another request must have in common with it, as one text. */
  readonly rest: string
}

/** Null: it is not one text in a conversation of texts, without tools. */
export function questionOf({ client, body, model, isStreamed }: ChatRequest): Question | null {
  if (ELSEWHERE.some((name) => body[name] !== undefined && body[name] !== null) || isStored(client, body)) return null
  const text = lastText(client, body, { model, isStreamed })
  const path = text === null ? null : pathOf(client, body, text)
  if (text === null || path === null) return null
  const numbers = text.match(NUMBERS) ?? []
  return { text, rest: JSON.stringify([bodyWithoutForm(blanked(body, path) as JsonObject), numbers]) }
}

/** Null: the conversation is not one of texts, or does not end with one of the user's. */
function lastText(
  client: ClientFormat,
  body: JsonObject,
  from: { readonly model: string; readonly isStreamed: boolean }
): string | null {
  const conversation = read(client, body, from)
  if (conversation === null) return null
  const { turns, tools } = conversation
  const last = turns.at(-1)
  const areTexts = turns.every(({ parts }) => parts.every(({ kind }) => kind === 'text'))
  if (tools.length > 0 || !areTexts || last?.role !== 'user' || last.parts.length !== 1) return null
  const [part] = last.parts
  const isFit = part?.kind === 'text' && part.text.trim() !== '' && part.text.length <= TEXT_CHARS_MAX
  return isFit ? part.text : null
}

function read(
  client: ClientFormat,
  body: JsonObject,
  from: { readonly model: string; readonly isStreamed: boolean }
): Conversation | null {
  try {
    return FORMATS[client].readRequest(body, from)
  } catch {
    // What is wrong with it the provider says.
    return null
  }
}

type Path = readonly (string | number)[]

/** Where `body` has the last text; null: not where it is expected. */
function pathOf(client: ClientFormat, body: JsonObject, text: string): Path | null {
  const { turns, content } = PLACES[client]
  const list = body[turns]
  if (list === text) return [turns]
  if (!Array.isArray(list)) return null
  const last = list.length - 1
  const turn: Json | undefined = list[last]
  const parts = isObject(turn) ? turn[content] : undefined
  if (parts === text) return [turns, last, content]
  const [part] = Array.isArray(parts) && parts.length === 1 ? parts : []
  return isObject(part) && part.text === text ? [turns, last, content, 0, 'text'] : null
}

/** A copy of `value` with null at `path`. */
function blanked(value: Json | undefined, [key, ...rest]: Path): Json {
  if (key === undefined) return null
  if (Array.isArray(value)) return value.with(key as number, blanked(value[key as number], rest))
  const object = value as JsonObject
  return { ...object, [key]: blanked(object[key], rest) }
}
