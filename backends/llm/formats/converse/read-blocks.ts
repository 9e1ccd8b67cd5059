/** Content blocks of messages, as parts. A block of a shape that the conversation cannot hold is opaque as a whole. */
import type {
  CacheMark,
  Json,
  JsonObject,
  MediaPart,
  MediaSource,
  Part,
  TextPart,
  ToolResultPart
} from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/fields.ts'
import { FormatError } from '#backends/llm/format.ts'
import { openSignature } from '#backends/llm/signature.ts'
import { mediaTypeOf } from './media.ts'

type RestMap = Map<string, Json>

/** The parts of a message; a cachePoint belongs to the part before it. `path`: of the list. */
export function readContent(blocks: readonly Json[], path: string, rest: RestMap): Part[] {
  const parts: Part[] = []
  for (const [i, value] of blocks.entries()) {
    const block = Fields.of(value, `${path}[${i}]`)
    const mark = cacheMarkOf(block.value)
    const last = parts.at(-1)
    if (mark !== null && last !== undefined && 'cache' in last && last.cache === null) {
      parts[parts.length - 1] = { ...last, cache: mark }
    } else {
      parts.push(readBlock(block, rest))
    }
  }
  return parts
}

/** Of a block that is a cachePoint and says nothing else. */
export function cacheMarkOf(block: JsonObject): CacheMark | null {
  const point = block.cachePoint
  if (!isObject(point) || point.type !== 'default' || !hasOnly(block, ['cachePoint'])) return null
  const ttl = point.ttl ?? null
  if ((ttl !== null && ttl !== '5m' && ttl !== '1h') || !hasOnly(point, ['type', 'ttl'])) return null
  return { ttl }
}

export function hasOnly(value: JsonObject, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name) || value[name] === null)
}

/** JSON text of `value`. Printing recurses: what is too deep for it is an error of whoever sent it. */
export function jsonText(value: Json, path: string): string {
  try {
    return JSON.stringify(value)
  } catch {
    throw new FormatError(path, 'is nested too deeply')
  }
}

function readBlock(block: Fields, rest: RestMap): Part {
  const names = Object.keys(block.value).filter((name) => block.value[name] !== null)
  const [name] = names
  if (name === undefined) throw new FormatError(block.path, 'must have a member that says what it is')
  const known = names.length === 1 ? readKnown(block, name, rest) : null
  return known ?? { kind: 'opaque', format: 'converse', value: block.value }
}

/** Null when the block says more than a part of the conversation can. */
function readKnown(block: Fields, name: string, rest: RestMap): Part | null {
  switch (name) {
    case 'text':
      return { kind: 'text', text: block.string('text'), cache: null }
    case 'image':
    case 'document':
    case 'audio':
    case 'video':
      return readMedia(block.object(name), name, rest)
    case 'toolUse':
      return readToolUse(block.object('toolUse'), rest)
    case 'toolResult':
      return readToolResult(block.object('toolResult'), rest)
    case 'reasoningContent':
      return readReasoning(block.object('reasoningContent'), rest)
    default:
      return null
  }
}

function readMedia(media: Fields, kind: MediaPart['kind'], rest: RestMap): MediaPart | null {
  const format = kind === 'document' ? media.optionalString('format') : media.string('format')
  const mediaType = format === null ? null : mediaTypeOf(kind, format)
  const from = media.object('source')
  const source = readSource(from)
  if (source === null || (format !== null && mediaType === null)) return null
  const name = kind === 'document' ? media.string('name') : null
  const location = from.optionalObject('s3Location')
  if (location !== null) {
    location.any('uri')
    location.leaveRest(rest)
  }
  media.leaveRest(rest)
  return { kind, source, mediaType, name, detail: null, cache: null }
}

function readSource(source: Fields): MediaSource | null {
  if (Object.keys(source.value).length !== 1) return null
  const bytes = source.optionalString('bytes')
  if (bytes !== null) return { kind: 'base64', data: bytes }
  const text = source.optionalString('text')
  if (text !== null) return { kind: 'text', text }
  const location = source.optionalObject('s3Location')
  return location === null ? null : { kind: 'url', url: location.string('uri') }
}

function readToolUse(use: Fields, rest: RestMap): Part | null {
  if (use.any('type') !== null) return null // A tool that the provider runs.
  const id = use.string('toolUseId')
  const name = use.string('name')
  const args = jsonText(use.any('input') ?? {}, use.at('input'))
  use.leaveRest(rest)
  return { kind: 'toolCall', id, name, arguments: args, signature: null, cache: null }
}

/** `status` "success" is what absent says. */
function readToolResult(result: Fields, rest: RestMap): Part | null {
  if (result.any('type') !== null) return null
  const callId = result.string('toolUseId')
  const status = result.optionalString('status')
  if (status !== null && status !== 'success' && status !== 'error') return null
  const content: ToolResultPart['content'][number][] = []
  for (const [i, value] of result.list('content').entries()) {
    const block = Fields.of(value, `${result.at('content')}[${i}]`)
    const part = readResultBlock(block, rest)
    // Search results and what else only Converse has: the list has no place for opaque parts.
    if (part === null) rest.set(block.path, value)
    else content.push(part)
  }
  result.leaveRest(rest)
  return { kind: 'toolResult', callId, name: null, content, isError: status === 'error', cache: null }
}

function readResultBlock(block: Fields, rest: RestMap): TextPart | MediaPart | null {
  const json = block.value.json ?? null
  if (json !== null && hasOnly(block.value, ['json'])) {
    return { kind: 'text', text: jsonText(json, block.at('json')), cache: null, isJson: true }
  }
  const part = readBlock(block, rest)
  if (part.kind === 'text' || (part.kind !== 'opaque' && 'mediaType' in part)) return part
  return null
}

function readReasoning(reasoning: Fields, rest: RestMap): Part | null {
  if (Object.keys(reasoning.value).length !== 1) return null
  const redacted = reasoning.optionalString('redactedContent')
  if (redacted !== null) return { kind: 'thinking', text: '', signature: openRedacted(redacted), isRedacted: true }
  const said = reasoning.optionalObject('reasoningText')
  if (said === null) return null
  const text = said.string('text')
  const signature = said.optionalString('signature')
  said.leaveRest(rest)
  const seal = signature === null ? null : openSignature(signature, 'converse')
  return { kind: 'thinking', text, signature: seal, isRedacted: false }
}

/** redactedContent is bytes in base64; those of another provider are the bytes of its sealed signature. */
export function openRedacted(base64: string): ReturnType<typeof openSignature> | null {
  if (base64 === '') return null
  // "weir." in base64; only what begins so is worth decoding.
  if (!base64.startsWith('d2Vpci')) return { format: 'converse', data: base64 }
  const opened = openSignature(Buffer.from(base64, 'base64').toString(), 'converse')
  return opened.format === 'converse' ? { format: 'converse', data: base64 } : opened
}
