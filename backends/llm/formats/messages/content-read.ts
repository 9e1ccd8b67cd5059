/** Content blocks into parts (Messages API, "ContentBlockParam" of requests and "ContentBlock" of answers). */
import type {
  CacheMark,
  Json,
  JsonObject,
  MediaPart,
  MediaSource,
  OpaquePart,
  Part,
  Signature,
  TextPart,
  ThinkingPart,
  ToolCallPart,
  ToolResultPart
} from '#backends/llm/conversation.ts'
import { Fields, isObject, jsonText } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { toolCallPart } from '#backends/llm/formats/parts.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { openSignature } from '#backends/llm/translate/signature.ts'

/** Characters of a name that is refused. */
const NAME_SHOWN_MAX = 64

/**
 * Leaves fields that were not read in `unknown`. Names with the signs of a path are refused, as the API refuses all
 * names that it does not know.
 */
export function leave(fields: Fields, unknown: UnknownFields): void {
  for (const name of Object.keys(fields.value)) {
    if (!name.includes('.') && !name.includes('[')) continue
    throw new FormatError(fields.at(name.slice(0, NAME_SHOWN_MAX)), 'is not a name of the API')
  }
  fields.leaveUnknown(unknown)
}

/** Where unknown fields go, and how. */
interface Leftover {
  readonly unknown: UnknownFields
  readonly leave: typeof leave
  /** Of an answer: a block that cannot be read is no reason to lose its neighbours. */
  readonly isAnswer: boolean
}

/**
 * Citations have no place in a text part. They follow it as an opaque part of this type, so that they stay with it
 * when other parts move, and come at the end of a streamed text.
 */
export const CITATIONS = 'weir.citations'

/**
 * A tool call has no place for another provider's seal. It follows the call as redacted thoughts with this mark,
 * because clients send those back unchanged ("Extended thinking", redacted thinking blocks).
 */
export const CALL_SEAL = 'call.weir.'

/** The seal of the call before, in redacted thoughts; null when they are thoughts. */
export function callSeal(data: string): Signature | null {
  return data.startsWith(CALL_SEAL) ? openSignature(data.slice('call.'.length), 'messages') : null
}

/** The parts of `content`, which is text or a list of blocks, at `path`. */
export function readContent(content: Json, path: string, unknown: UnknownFields): Part[] {
  return partsOf(content, path, { unknown, leave, isAnswer: false })
}

/** As readContent, of an answer. */
export function readAnswerContent(content: Json, path: string, unknown: UnknownFields): Part[] {
  return partsOf(content, path, { unknown, leave: (block, unknown) => block.leaveUnknown(unknown), isAnswer: true })
}

function partsOf(content: Json, path: string, left: Leftover): Part[] {
  if (typeof content === 'string') return [textPart(content, null)]
  if (!Array.isArray(content)) throw new FormatError(path, 'must be a string or a list')
  const parts: Part[] = []
  const blocks = content as readonly Json[]
  for (let i = 0; i < blocks.length; i++) readBlock(Fields.of(blocks[i], `${path}[${i}]`), parts, left)
  return parts
}

function readBlock(block: Fields, parts: Part[], left: Leftover): void {
  const type = left.isAnswer ? block.any('type') : block.string('type')
  if (type === 'text') {
    parts.push(readText(block))
    const citations = block.optionalList('citations')
    if (citations !== null && citations.length > 0) parts.push(opaque({ type: CITATIONS, citations }))
  } else if (type === 'image' || type === 'document') {
    const media = readMedia(block, type, left)
    parts.push(media ?? opaque(block.value))
    if (media === null) return
  } else if (type === 'tool_use') {
    parts.push(readToolUse(block))
  } else if (type === 'tool_result') {
    parts.push(readToolResult(block, left))
  } else if (type === 'thinking') {
    const text = block.optionalString('thinking') ?? ''
    parts.push(thinkingPart(text, block.optionalString('signature')))
  } else if (type === 'redacted_thinking') {
    readRedacted(block.string('data'), parts)
  } else {
    parts.push(opaque(block.value))
    return
  }
  left.leave(block, left.unknown)
}

function readRedacted(data: string, parts: Part[]): void {
  const seal = callSeal(data)
  const call = parts.at(-1)
  if (seal !== null && call?.kind === 'toolCall') parts[parts.length - 1] = { ...call, signature: seal }
  else parts.push(redactedPart(data))
}

/** `system`, and the content of tool results: blocks that are neither text nor media stay in `unknown`, by path. */
export function readPlain(content: Json, path: string, unknown: UnknownFields): (TextPart | MediaPart)[] {
  return plainOf(content, path, { unknown, leave, isAnswer: false })
}

function plainOf(content: Json, path: string, left: Leftover): (TextPart | MediaPart)[] {
  if (content === null) return []
  if (typeof content === 'string') return [textPart(content, null)]
  if (!Array.isArray(content)) throw new FormatError(path, 'must be a string or a list')
  const parts: (TextPart | MediaPart)[] = []
  const blocks = content as readonly Json[]
  for (let i = 0; i < blocks.length; i++) {
    const block = Fields.of(blocks[i], `${path}[${i}]`)
    const type = block.string('type')
    const part =
      type === 'text' ? readText(block) : type === 'image' || type === 'document' ? readMedia(block, type, left) : null
    if (part === null) {
      left.unknown.set(block.path, block.value)
    } else {
      parts.push(part)
      left.leave(block, left.unknown)
    }
  }
  return parts
}

function readText(block: Fields): TextPart {
  return textPart(block.string('text'), readCache(block))
}

/** Null when the source is of a kind that only this format has (a document of blocks). */
function readMedia(block: Fields, kind: 'image' | 'document', left: Leftover): MediaPart | null {
  const source = block.object('source')
  const from = readSource(source, kind)
  if (from === null) return null
  const mediaType = from.kind === 'base64' || from.kind === 'text' ? source.optionalString('media_type') : null
  left.leave(source, left.unknown)
  const name = kind === 'document' ? block.optionalString('title') : null
  return { kind, source: from, mediaType, name, detail: null, cache: readCache(block) }
}

function readSource(source: Fields, kind: 'image' | 'document'): MediaSource | null {
  const type = source.string('type')
  if (type === 'base64') return { kind: 'base64', data: source.string('data') }
  if (type === 'url') return { kind: 'url', url: source.string('url') }
  if (type === 'file') return { kind: 'file', id: source.string('file_id') }
  return type === 'text' && kind === 'document' ? { kind: 'text', text: source.string('data') } : null
}

function readToolUse(block: Fields): ToolCallPart {
  const text = jsonText(block.any('input') ?? {}, block.at('input'))
  return { ...toolCallPart(block.string('id'), block.string('name'), text), cache: readCache(block) }
}

function readToolResult(block: Fields, left: Leftover): ToolResultPart {
  return {
    kind: 'toolResult',
    callId: block.string('tool_use_id'),
    name: null,
    content: plainOf(block.any('content'), block.at('content'), left),
    isError: block.optionalBoolean('is_error') ?? false,
    cache: readCache(block)
  }
}

/** Marks with fields of their own (beta) are read, and left for `unknown` as a whole. */
export function readCache(block: Fields): CacheMark | null {
  const mark = block.value.cache_control
  if (mark === null || mark === undefined) return null
  if (!isObject(mark)) throw new FormatError(block.at('cache_control'), 'must be an object')
  const ttl = mark.ttl ?? null
  if (mark.type !== 'ephemeral' || (ttl !== null && ttl !== '5m' && ttl !== '1h')) return null
  if (Object.keys(mark).every((name) => name === 'type' || name === 'ttl')) block.any('cache_control')
  return { ttl }
}

export function textPart(text: string, cache: CacheMark | null): TextPart {
  return { kind: 'text', text, cache }
}

/** An empty signature is none: Weir writes it for thoughts of a provider that seals nothing. */
export function thinkingPart(text: string, signature: string | null): ThinkingPart {
  const opened = signature === null || signature === '' ? null : openSignature(signature, 'messages')
  return { kind: 'thinking', text, signature: opened, isRedacted: false }
}

export function redactedPart(data: string): ThinkingPart {
  return { kind: 'thinking', text: '', signature: openSignature(data, 'messages'), isRedacted: true }
}

export function opaque(value: JsonObject): OpaquePart {
  return { kind: 'opaque', format: 'messages', value }
}
