/** Turns as `messages`, and documents of text as `documents`, where Cohere's models look for what they cite. */
import type {
  Conversation,
  JsonObject,
  MediaPart,
  Part,
  ThinkingPart,
  ToolCallPart,
  ToolResultPart
} from '#backends/llm/conversation.ts'
import { asError } from '#backends/llm/formats/completions/content-write.ts'
import { compact } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { partPath } from '#backends/llm/formats/paths.ts'

export interface Written {
  readonly messages: JsonObject[]
  readonly documents: JsonObject[]
}

interface Writing extends Written {
  readonly losses: Losses
}

export function writeMessages({ system, turns, origin }: Conversation, losses: Losses): Written {
  const writing: Writing = { messages: [], documents: [], losses }
  writeSystem(system, writing)
  for (const [i, { role, parts }] of turns.entries()) {
    const at = (j: number) => partPath(origin, i, j)
    if (role === 'assistant') writeAssistant(parts, at, writing)
    else if (role === 'system') writeSystem(parts, writing)
    else writeUser(parts, at, writing)
  }
  return writing
}

type PathOf = (part: number) => string

function writeSystem(parts: readonly Part[], { messages }: Writing): void {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [textBlock(part.text)] : []))
  if (texts.length > 0) messages.push({ role: 'system', content: plainOr(texts) })
}

/** Results come first: they must follow the calls. */
function writeUser(parts: readonly Part[], at: PathOf, writing: Writing): void {
  const content: JsonObject[] = []
  for (const [j, part] of parts.entries()) {
    if (part.kind === 'toolResult') writeResult(part, at(j), writing)
    else content.push(...userBlocks(part, at(j), writing))
  }
  const isOnlyResults = parts.length > 0 && parts.every(({ kind }) => kind === 'toolResult')
  if (!isOnlyResults) writing.messages.push({ role: 'user', content: plainOr(content) })
}

function userBlocks(part: Part, path: string, { losses, documents }: Writing): JsonObject[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return [textBlock(part.text)]
    case 'image': {
      const url = urlOf(part)
      if (url === null) losses.add(path)
      return url === null ? [] : [{ type: 'image_url', image_url: compact({ url, detail: part.detail }) }]
    }
    case 'document': {
      const document = documentOf(part)
      if (document === null) losses.add(path)
      else {
        documents.push(document)
        losses.rewrite(path)
      }
      return []
    }
    default:
      losses.add(path)
      return []
  }
}

/** Addresses of the web, and data. */
function urlOf({ source, mediaType }: MediaPart): string | null {
  if (source.kind === 'base64') return `data:${mediaType ?? 'image/png'};base64,${source.data}`
  return source.kind === 'url' ? source.url : null
}

/** Text alone is read. */
function documentOf({ source, mediaType, name }: MediaPart): JsonObject | null {
  const text = source.kind === 'text' ? source.text : source.kind === 'base64' ? decoded(source.data, mediaType) : null
  return text === null ? null : { data: compact({ text, title: name }) }
}

function decoded(data: string, mediaType: string | null): string | null {
  return /^text\//.test(mediaType ?? '') ? Buffer.from(data, 'base64').toString() : null
}

/** Nothing marks a failure: the text does. */
function writeResult(part: ToolResultPart, path: string, { messages, losses }: Writing): void {
  const content = part.isError ? asError(part.content) : part.content
  const blocks: JsonObject[] = []
  for (const item of content) {
    const document = item.kind === 'document' ? documentOf(item) : null
    if (item.kind === 'text') blocks.push(textBlock(item.text))
    else if (document !== null) blocks.push({ type: 'document', document })
    else losses.add(`${path}.content`)
  }
  messages.push({ role: 'tool', tool_call_id: part.callId, content: plainOr(blocks) })
}

/** Beside calls, what the model has spoken is its plan. */
function writeAssistant(parts: readonly Part[], at: PathOf, { messages, losses }: Writing): void {
  const calls: ToolCallPart[] = []
  const texts: string[] = []
  const thoughts: JsonObject[] = []
  for (const [j, part] of parts.entries()) {
    if (part.kind === 'toolCall') {
      calls.push(part)
      if (part.signature !== null) losses.add(`${at(j)}.signature`)
    } else if (part.kind === 'text' || part.kind === 'refusal') texts.push(part.text)
    else if (part.kind === 'thinking') thoughts.push(...writeThought(part, at(j), losses))
    else losses.add(at(j))
  }
  const hasCalls = calls.length > 0
  const plan = hasCalls && texts.length > 0 ? texts.join('') : null
  const spoken = hasCalls ? [] : texts.map(textBlock)
  const content = [...thoughts, ...spoken]
  const nothing = hasCalls ? null : ''
  messages.push(
    compact({
      role: 'assistant',
      content: content.length > 0 ? plainOr(content) : nothing,
      tool_plan: plan,
      tool_calls: hasCalls ? calls.map(writeCall) : null
    })
  )
}

/** Its own thoughts have no seal, and it takes those of others as text. */
function writeThought({ text, signature, isRedacted }: ThinkingPart, path: string, losses: Losses): JsonObject[] {
  if (isRedacted || text === '') {
    if (isRedacted || signature !== null) losses.add(path)
    return []
  }
  if (signature !== null) losses.add(`${path}.signature`, 'harmless')
  return [{ type: 'thinking', thinking: text }]
}

function writeCall({ id, name, arguments: text }: ToolCallPart): JsonObject {
  return { id, type: 'function', function: { name, arguments: text === '' ? '{}' : text } }
}

const textBlock = (text: string): JsonObject => ({ type: 'text', text })

/** One text is written as such. */
function plainOr(blocks: JsonObject[]): string | JsonObject[] {
  if (blocks.length === 0) return ''
  const [first] = blocks
  return blocks.length === 1 && typeof first?.text === 'string' ? first.text : blocks
}
