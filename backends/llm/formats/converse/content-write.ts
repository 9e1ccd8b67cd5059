/** Parts as content blocks of messages. */

import type {
  CacheMark,
  Json,
  JsonObject,
  MediaPart,
  Part,
  ThinkingPart,
  ToolCallPart,
  ToolResultPart
} from '#backends/llm/conversation.ts'
import { compact, isObject } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { parseJson } from '#engine/kit/json.ts'
import { formatOf } from './media.ts'
import { type DocumentNames, toWireCallId, toWireToolName } from './names.ts'

export interface BlockWriter {
  readonly isClaude: boolean
  readonly names: DocumentNames
  readonly losses: Losses
}

/** The blocks of a part: none when there is nothing to say or no way to say it. `path` is for losses. */
export function writePart(part: Part, path: string, writer: BlockWriter): JsonObject[] {
  const block = writeBlock(part, path, writer)
  const blocks = block === null ? [] : [block]
  const mark = 'cache' in part ? part.cache : null
  const inner = part.kind === 'toolResult' && part.content.some(({ cache }) => cache !== null)
  if (mark !== null) blocks.push(cachePoint(mark))
  // A result is cached as a whole or not at all.
  else if (inner) blocks.push(cachePoint((part as ToolResultPart).content.find(({ cache }) => cache !== null)!.cache!))
  return blocks
}

export function cachePoint(mark: CacheMark): JsonObject {
  return { cachePoint: compact({ type: 'default', ttl: mark.ttl }) }
}

function writeBlock(part: Part, path: string, writer: BlockWriter): JsonObject | null {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      // Bedrock refuses blank texts; there is nothing in them.
      return part.text.trim() === '' ? null : { text: part.text }
    case 'toolCall':
      return writeToolUse(part, path, writer)
    case 'toolResult':
      return writeToolResult(part, path, writer)
    case 'thinking':
      return writeThinking(part, path, writer)
    case 'opaque':
      writer.losses.add(path)
      return null
    default:
      return writeMedia(part, path, writer)
  }
}

function writeMedia(part: MediaPart, path: string, { names, losses }: BlockWriter): JsonObject | null {
  const { kind, mediaType } = part
  const format = mediaType === null ? null : formatOf(kind, mediaType)
  const source = sourceOf(part)
  // Only a document may go without its format.
  if (source === null || (format === null && (mediaType !== null || part.source.kind !== 'text'))) {
    losses.add(path)
    return null
  }
  if (part.detail !== null && part.detail !== 'auto') losses.add(`${path}.detail`)
  if (kind !== 'document') return { [kind]: compact({ format, source }) }
  return { document: compact({ format, name: names.next(part.name), source }) }
}

/** Null when Converse has no way to fetch it: it knows S3, no other URLs, and no uploaded files. */
function sourceOf({ kind, source }: MediaPart): JsonObject | null {
  if (source.kind === 'base64') return { bytes: source.data }
  if (source.kind === 'text') return kind === 'document' ? { text: source.text } : null
  return source.kind === 'url' && source.url.startsWith('s3://') ? { s3Location: { uri: source.url } } : null
}

function writeToolUse(part: ToolCallPart, path: string, { losses }: BlockWriter): JsonObject {
  const name = toWireToolName(part.name)
  if (name === null) losses.add(`${path}.name`)
  if (part.signature !== null) losses.add(`${path}.signature`)
  const input = part.arguments === '' ? {} : (parseJson(part.arguments) as Json | undefined)
  if (!isObject(input)) losses.add(`${path}.arguments`)
  const toolUseId = toWireCallId(part.id)
  return { toolUse: { toolUseId, name: name ?? part.name, input: isObject(input) ? input : {} } }
}

function writeToolResult(part: ToolResultPart, path: string, writer: BlockWriter): JsonObject {
  const content = part.content.flatMap((item, i) => writeBlock(item, `${path}.content[${i}]`, writer) ?? [])
  return {
    toolResult: compact({ toolUseId: toWireCallId(part.callId), content, status: part.isError ? 'error' : null })
  }
}

/** The provider takes its own signatures, Claude also Anthropic's ("Extended thinking"), and Claude wants one. */
function writeThinking(part: ThinkingPart, path: string, { isClaude, losses }: BlockWriter): JsonObject | null {
  const { text, signature, isRedacted } = part
  const isTaken =
    signature === null
      ? !isClaude
      : signature.format === 'converse' || (signature.format === 'messages' && isClaude && !isRedacted)
  if (!isTaken) {
    losses.add(path)
    return null
  }
  if (isRedacted) return { reasoningContent: { redactedContent: signature?.data ?? '' } }
  // Claude's signatures are the same whether Anthropic or Bedrock made them.
  return { reasoningContent: { reasoningText: compact({ text, signature: signature?.data }) } }
}
