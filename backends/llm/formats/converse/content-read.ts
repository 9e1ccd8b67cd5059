/**
 * Content blocks of an answer, as parts. A block is what its known member says; members beside it, which models and
 * newer versions of the API add, are left for `unknown`. One that has only what is not known here is opaque as a whole.
 */
import type { Json, MediaPart, MediaSource, Part, Signature } from '#backends/llm/conversation.ts'
import { Fields, jsonText } from '#backends/llm/formats/fields.ts'
import { toolCallPart } from '#backends/llm/formats/parts.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { mediaTypeOf } from './media.ts'

/** The parts of a message. `path`: of the list. */
export function readContent(blocks: readonly Json[], path: string, unknown: UnknownFields): Part[] {
  return blocks.flatMap((value, i) => readBlock(Fields.of(value, `${path}[${i}]`), unknown))
}

/** What a block may be, each with how it is read: null when it says more than a part of the conversation can. */
const BLOCKS: readonly (readonly [name: string, read: (block: Fields, unknown: UnknownFields) => Part | null])[] = [
  ['text', (block) => ({ kind: 'text', text: block.string('text'), cache: null })],
  ['toolUse', (block, unknown) => readToolUse(block.object('toolUse'), unknown)],
  // Of a tool that the provider has run.
  ['toolResult', () => null],
  ['reasoningContent', (block, unknown) => readReasoning(block.object('reasoningContent'), unknown)],
  ...(['image', 'document', 'audio', 'video'] as const).map(
    (kind) => [kind, (block: Fields, unknown: UnknownFields) => readMedia(block.object(kind), kind, unknown)] as const
  )
]

/** One part, but for servers that put several members into a block: an empty text beside others says nothing. */
function readBlock(block: Fields, unknown: UnknownFields): Part[] {
  const opaque: Part[] = [{ kind: 'opaque', format: 'converse', value: block.value }]
  const known = BLOCKS.filter(([name]) => (block.value[name] ?? null) !== null)
  const parts: Part[] = []
  for (const [, read] of known) {
    const part = read(block, unknown)
    if (part === null) return opaque
    if (known.length === 1 || part.kind !== 'text' || part.text !== '') parts.push(part)
  }
  if (known.length === 0) return opaque
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
  return toolCallPart(id, name, args)
}

function readReasoning(reasoning: Fields, unknown: UnknownFields): Part | null {
  const redacted = reasoning.optionalString('redactedContent')
  const shown = redacted === null ? reasoning.optionalObject('reasoningText') : null
  if (redacted === null && shown === null) return null
  const text = shown?.string('text') ?? ''
  const signature = signatureOf(redacted === null ? shown!.optionalString('signature') : redacted || null)
  shown?.leaveUnknown(unknown)
  reasoning.leaveUnknown(unknown)
  return { kind: 'thinking', text, signature, isRedacted: redacted !== null }
}

/** `data`: text, or bytes in base64 where the thoughts are redacted. */
export function signatureOf(data: string | null): Signature | null {
  return data === null ? null : { format: 'converse', data }
}
