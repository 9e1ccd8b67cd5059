/**
 * Content blocks of messages, as parts. A block is what its known member says; members beside it, which models and
 * newer versions of the API add, are left for `unknown`. One that has only what is not known here is opaque as a whole.
 */
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
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { openSignature } from '#backends/llm/translate/signature.ts'
import { mediaTypeOf } from './media.ts'

/**
 * The parts of a message; a cachePoint belongs to the part before it. `path`: of the list. `isAnswer`: results in it
 * are those of tools that the provider has run.
 */
export function readContent(blocks: readonly Json[], path: string, unknown: UnknownFields, isAnswer = false): Part[] {
  const parts: Part[] = []
  for (const [i, value] of blocks.entries()) {
    const block = Fields.of(value, `${path}[${i}]`)
    const mark = cacheMarkOf(block.value)
    const last = parts.at(-1)
    if (mark !== null && last !== undefined && 'cache' in last && last.cache === null) {
      parts[parts.length - 1] = { ...last, cache: mark }
      leaveMark(block, unknown)
    } else {
      parts.push(...readBlock(block, unknown, isAnswer))
    }
  }
  return parts
}

/** Of a block that is a cachePoint; what else it says is left for `unknown` when the mark is taken. */
export function cacheMarkOf({ cachePoint: point, ...others }: JsonObject): CacheMark | null {
  if (!isObject(point) || point.type !== 'default' || BLOCK_NAMES.some((name) => isSaid(others[name]))) return null
  const ttl = point.ttl ?? null
  return ttl === null || ttl === '5m' || ttl === '1h' ? { ttl } : null
}

/** Of a block whose mark has been taken. */
export function leaveMark(block: Fields, unknown: UnknownFields): void {
  const point = block.object('cachePoint')
  for (const name of ['type', 'ttl']) point.any(name)
  point.leaveUnknown(unknown)
  block.leaveUnknown(unknown)
}

const isSaid = (value: Json | undefined): boolean => (value ?? null) !== null

export function hasOnly(value: JsonObject, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name) || value[name] === null)
}

/** JSON text of `value`. Printing recurses: what is too deep for it is the sender's error. */
export function jsonText(value: Json, path: string): string {
  try {
    return JSON.stringify(value)
  } catch {
    throw new FormatError(path, 'is nested too deeply')
  }
}

/** What a block may be, each with how it is read: null when it says more than a part of the conversation can. */
const BLOCKS: readonly (readonly [name: string, read: (block: Fields, unknown: UnknownFields) => Part | null])[] = [
  ['text', (block) => ({ kind: 'text', text: block.string('text'), cache: null })],
  ['toolUse', (block, unknown) => readToolUse(block.object('toolUse'), unknown)],
  ['toolResult', (block, unknown) => readToolResult(block.object('toolResult'), unknown)],
  ['reasoningContent', (block, unknown) => readReasoning(block.object('reasoningContent'), unknown)],
  ...(['image', 'document', 'audio', 'video'] as const).map(
    (kind) => [kind, (block: Fields, unknown: UnknownFields) => readMedia(block.object(kind), kind, unknown)] as const
  )
]

/** Of messages, instructions and tools. */
const BLOCK_NAMES = [...BLOCKS.map(([name]) => name), 'guardContent', 'toolSpec', 'systemTool']

/** One part, but for servers that put several members into a block: an empty text beside others says nothing. */
function readBlock(block: Fields, unknown: UnknownFields, isAnswer: boolean): Part[] {
  const opaque: Part[] = [{ kind: 'opaque', format: 'converse', value: block.value }]
  const said = BLOCKS.filter(([name]) => isSaid(block.value[name]))
  if (said.length === 0 && !isAnswer && Object.values(block.value).every((value) => value === null)) {
    throw new FormatError(block.path, 'must have a member that says what it is')
  }
  if (said.length === 0 || (isAnswer && said[0]![0] === 'toolResult')) return opaque
  const parts: Part[] = []
  for (const [, read] of said) {
    const part = read(block, unknown)
    if (part === null) return opaque
    if (said.length === 1 || part.kind !== 'text' || part.text !== '') parts.push(part)
  }
  block.leaveUnknown(unknown)
  return parts
}

function readMedia(media: Fields, kind: MediaPart['kind'], unknown: UnknownFields): MediaPart | null {
  const format = kind === 'document' ? media.optionalString('format') : media.string('format')
  const mediaType = format === null ? null : mediaTypeOf(kind, format)
  const from = media.object('source')
  const source = readSource(from)
  if (source === null || (format !== null && mediaType === null)) return null
  const name = kind === 'document' ? media.string('name') : null
  const location = from.optionalObject('s3Location')
  if (location !== null) {
    location.any('uri')
    location.leaveUnknown(unknown)
  }
  from.leaveUnknown(unknown)
  media.leaveUnknown(unknown)
  return { kind, source, mediaType, name, detail: null, cache: null }
}

function readSource(source: Fields): MediaSource | null {
  const bytes = source.optionalString('bytes')
  if (bytes !== null) return { kind: 'base64', data: bytes }
  const text = source.optionalString('text')
  if (text !== null) return { kind: 'text', text }
  const location = source.optionalObject('s3Location')
  return location === null ? null : { kind: 'url', url: location.string('uri') }
}

/**
 * The only `type` that the API has (ToolUseBlock): a tool that the provider runs. Models put others there (Claude's).
 */
export const SERVER_TOOL = 'server_tool_use'

function readToolUse(use: Fields, unknown: UnknownFields): Part | null {
  if (use.value.type === SERVER_TOOL) return null
  const id = use.string('toolUseId')
  const name = use.string('name')
  const args = jsonText(use.any('input') ?? {}, use.at('input'))
  use.leaveUnknown(unknown)
  return { kind: 'toolCall', id, name, arguments: args, signature: null, cache: null }
}

/** What the provider's own tools have found: nova_grounding_result, nova_code_interpreter_result. */
const SERVER_RESULT = /(?<!^tool)_result$/

/** `status` "success" is what absent says. */
function readToolResult(result: Fields, unknown: UnknownFields): Part | null {
  const { type } = result.value
  if (typeof type === 'string' && SERVER_RESULT.test(type)) return null
  const callId = result.string('toolUseId')
  const status = result.optionalString('status')
  if (status !== null && status !== 'success' && status !== 'error') return null
  const content: ToolResultPart['content'][number][] = []
  for (const [i, value] of result.list('content').entries()) {
    const block = Fields.of(value, `${result.at('content')}[${i}]`)
    const part = readResultBlock(block, unknown)
    // Search results and what else only Converse has: the list has no place for opaque parts.
    if (part === null) unknown.set(block.path, value)
    else content.push(part)
  }
  result.leaveUnknown(unknown)
  return { kind: 'toolResult', callId, name: null, content, isError: status === 'error', cache: null }
}

function readResultBlock(block: Fields, unknown: UnknownFields): TextPart | MediaPart | null {
  const json = block.any('json')
  if (json !== null) {
    block.leaveUnknown(unknown)
    return { kind: 'text', text: jsonText(json, block.at('json')), cache: null, isJson: true }
  }
  const [part, second] = readBlock(block, unknown, false)
  if (part === undefined || second !== undefined) return null
  if (part.kind === 'text' || (part.kind !== 'opaque' && 'mediaType' in part)) return part
  return null
}

function readReasoning(reasoning: Fields, unknown: UnknownFields): Part | null {
  const redacted = reasoning.optionalString('redactedContent')
  if (redacted !== null) {
    reasoning.leaveUnknown(unknown)
    return { kind: 'thinking', text: '', signature: openRedacted(redacted), isRedacted: true }
  }
  const said = reasoning.optionalObject('reasoningText')
  if (said === null) return null
  const text = said.string('text')
  const signature = said.optionalString('signature')
  said.leaveUnknown(unknown)
  reasoning.leaveUnknown(unknown)
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
