/**
 * Marks up to which a provider is to keep a prompt (docs/specification.md#prompt-caching), in the two formats that have
 * them: Anthropic's messages (api.anthropic.com and Claude elsewhere; "Prompt caching": tools, system, messages in this
 * order, four marks at most) and Bedrock's Converse ("Prompt caching for faster model inference": cachePoint blocks).
 *
 * A request that bears marks of its own keeps those and gets none: its author knows better where the prompt repeats.
 */

import type { AiCaching } from '#backends/llm/config/snapshot.ts'
import type { FormatName, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'

const TOKENS_PER_WORD = 1.3
/** Blocks that may not bear a mark. */
const UNMARKED = new Set<Json | undefined>(['thinking', 'redacted_thinking'])
/** Claude from 3 on, Nova, and profiles that do not say what is behind them. */
const CACHES = /anthropic\.claude-(?!v\d|instant)|amazon\.nova|:application-inference-profile\//

/** `body`, which is about to be sent in `format`, with marks; itself where none belong. */
export function withCacheMarks(format: FormatName, model: string, body: JsonObject, caching: AiCaching): JsonObject {
  if (format === 'messages') return cachedMessages(body, caching)
  if (format === 'converse' && CACHES.test(model)) return cachedConverse(body, model, caching)
  return body
}

// --- how much there is ---

/** Counts until there is enough: a prompt of megabytes is not walked to its end. */
class Words {
  #left: number

  constructor(tokens: number) {
    this.#left = Math.ceil(tokens / TOKENS_PER_WORD)
  }

  get isEnough(): boolean {
    return this.#left <= 0
  }

  /** All text in `value`, names of fields left out. */
  add(value: Json | undefined): void {
    const open: (Json | undefined)[] = [value]
    while (open.length > 0 && this.#left > 0) {
      const one = open.pop()
      if (typeof one === 'string') this.#text(one)
      else if (Array.isArray(one)) for (const inner of one) open.push(inner)
      else if (isObject(one)) this.#object(one, open)
    }
  }

  /** Images and documents are data, and no words. */
  #object(one: JsonObject, open: (Json | undefined)[]): void {
    for (const [name, value] of Object.entries(one)) {
      if (name !== 'data' && name !== 'bytes' && name !== 'signature') open.push(value)
    }
  }

  #text(text: string): void {
    let isInside = false
    for (let i = 0; i < text.length && this.#left > 0; i++) {
      const code = text.charCodeAt(i)
      const isSpace = code === 32 || (code >= 9 && code <= 13)
      if (!isSpace && !isInside) this.#left--
      isInside = !isSpace
    }
  }
}

// --- Anthropic ---

const MARK = { cache_control: { type: 'ephemeral' } } as const

function cachedMessages(body: JsonObject, caching: AiCaching): JsonObject {
  const { cacheTools, cacheSystem, cacheMessages, minTokens } = caching
  if (hasMark(body, 'cache_control')) return body
  const words = new Words(minTokens)
  let marked = body
  words.add(body.tools)
  if (cacheTools && words.isEnough) marked = withLast(marked, 'tools', body.tools)
  words.add(body.system)
  if (cacheSystem && words.isEnough) {
    const { system } = body
    marked = withLast(marked, 'system', typeof system === 'string' ? [{ type: 'text', text: system }] : system)
  }
  return cacheMessages ? withMessage(marked, words, markedMessage) : marked
}

/** The last entry of the list that may bear a mark bears one. */
function withLast(body: JsonObject, field: string, list: Json | undefined): JsonObject {
  if (!Array.isArray(list)) return body
  const blocks = markedList(list)
  return blocks === null ? body : { ...body, [field]: blocks }
}

function markedList(list: readonly Json[]): Json[] | null {
  const at = list.findLastIndex((block) => isObject(block) && !UNMARKED.has(block.type) && block.text !== '')
  return at < 0 ? null : list.with(at, { ...(list[at] as JsonObject), ...MARK })
}

/**
 * The part before the last message is what the next request repeats, and what an earlier one has sent already.
 * To cache the last message would be in vain in a conversation of one question.
 */
function withMessage(body: JsonObject, words: Words, mark: (message: JsonObject) => JsonObject | null): JsonObject {
  const { messages } = body
  if (!Array.isArray(messages)) return body
  const at = messages.length - 2
  const message: Json | undefined = messages[at]
  if (!isObject(message)) return body
  for (let i = 0; i <= at && !words.isEnough; i++) words.add((messages[i] as JsonObject | null)?.content)
  const marked = words.isEnough ? mark(message) : null
  return marked === null ? body : { ...body, messages: messages.with(at, marked) }
}

function markedMessage(message: JsonObject): JsonObject | null {
  const { content } = message
  if (content === '') return null
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const marked = Array.isArray(blocks) ? markedList(blocks) : null
  return marked === null ? null : { ...message, content: marked }
}

/** Whether the request, or a block of it, or a block in a block, has the field `name`. */
function hasMark(body: JsonObject, name: string): boolean {
  const bears = (value: Json | undefined): boolean => isObject(value) && (value[name] ?? null) !== null
  const anyOf = (list: Json | undefined, test: (value: Json) => boolean): boolean =>
    Array.isArray(list) && list.some(test)
  const inBlock = (block: Json): boolean => bears(block) || (isObject(block) && anyOf(block.content, bears))
  return (
    bears(body) ||
    anyOf(body.tools, bears) ||
    anyOf(body.system, bears) ||
    anyOf(body.messages, (message) => isObject(message) && anyOf(message.content, inBlock))
  )
}

// --- Converse ---

const POINT = { cachePoint: { type: 'default' } } as const

function cachedConverse(body: JsonObject, model: string, caching: AiCaching): JsonObject {
  const { cacheTools, cacheSystem, cacheMessages, minTokens } = caching
  const tools = isObject(body.toolConfig) ? body.toolConfig.tools : undefined
  if (hasMark({ ...body, tools: tools ?? null }, 'cachePoint')) return body
  const words = new Words(minTokens)
  let marked = body
  words.add(tools)
  // Nova takes none behind tools.
  if (cacheTools && words.isEnough && Array.isArray(tools) && !model.includes('amazon.nova')) {
    marked = { ...marked, toolConfig: { ...(body.toolConfig as JsonObject), tools: [...tools, POINT] } }
  }
  words.add(body.system)
  const { system } = body
  if (cacheSystem && words.isEnough && Array.isArray(system) && system.length > 0) {
    marked = { ...marked, system: [...system, POINT] }
  }
  return cacheMessages ? withMessage(marked, words, pointed) : marked
}

function pointed(message: JsonObject): JsonObject | null {
  const { content } = message
  return Array.isArray(content) && content.length > 0 ? { ...message, content: [...content, POINT] } : null
}
