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
import { sealSignature } from '#backends/llm/translate/signature.ts'
import { parseJson } from '#engine/kit/json.ts'
import { formatOf } from './media.ts'
import { type DocumentNames, toWireCallId, toWireToolName } from './names.ts'

export interface BlockWriter {
  /** `provider`: another's signatures are of no use there; `client`: it keeps them, sealed. */
  readonly to: 'provider' | 'client'
  /** What was read from Converse, and goes back as it came. */
  readonly isSame: boolean
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
      return writer.isSame || writer.to === 'client' || part.text.trim() !== '' ? { text: part.text } : null
    case 'toolCall':
      return writeToolUse(part, path, writer)
    case 'toolResult':
      return writeToolResult(part, path, writer)
    case 'thinking':
      return writeThinking(part, path, writer)
    case 'opaque':
      if (part.format === 'converse') return { ...part.value }
      writer.losses.add(path)
      return null
    default:
      return writeMedia(part, path, writer)
  }
}

function writeMedia(part: MediaPart, path: string, { names, losses, isSame }: BlockWriter): JsonObject | null {
  const { kind, mediaType } = part
  const format = mediaType === null ? null : formatOf(kind, mediaType)
  const source = sourceOf(part)
  // Only a document may go without its format.
  if (source === null || (format === null && (mediaType !== null || !(isSame || part.source.kind === 'text')))) {
    losses.add(path)
    return null
  }
  if (part.detail !== null && part.detail !== 'auto') losses.add(`${path}.detail`)
  if (kind !== 'document') return { [kind]: compact({ format, source }) }
  return { document: compact({ format, name: isSame ? part.name : names.next(part.name), source }) }
}

/** Null when Converse has no way to fetch it: it knows S3, no other URLs, and no uploaded files. */
function sourceOf({ kind, source }: MediaPart): JsonObject | null {
  if (source.kind === 'base64') return { bytes: source.data }
  if (source.kind === 'text') return kind === 'document' ? { text: source.text } : null
  return source.kind === 'url' && source.url.startsWith('s3://') ? { s3Location: { uri: source.url } } : null
}

function writeToolUse(part: ToolCallPart, path: string, writer: BlockWriter): JsonObject {
  const { isSame, losses, to } = writer
  const name = to === 'client' ? part.name : toWireToolName(part.name)
  if (name === null && !isSame) losses.add(`${path}.name`)
  if (part.signature !== null) losses.add(`${path}.signature`)
  let input = parsedInput(part.arguments)
  if (input === undefined || (!isSame && to === 'provider' && !isObject(input))) {
    // What a model has cut off is still worth reading to a client; a provider wants an object.
    if (to === 'provider') losses.add(`${path}.arguments`)
    input = to === 'provider' ? {} : part.arguments
  }
  return { toolUse: { toolUseId: isSame ? part.id : toWireCallId(part.id), name: name ?? part.name, input } }
}

/** Undefined: the text is not JSON. */
function parsedInput(text: string): Json | undefined {
  return text === '' ? {} : (parseJson(text) as Json | undefined)
}

function writeToolResult(part: ToolResultPart, path: string, writer: BlockWriter): JsonObject {
  const content: JsonObject[] = []
  for (const [i, item] of part.content.entries()) {
    const json = item.kind === 'text' && item.isJson === true ? parsedInput(item.text) : undefined
    const isJson = json !== undefined && (writer.isSame || isObject(json))
    const block = isJson ? { json } : writeBlock(item, `${path}.content[${i}]`, writer)
    if (block !== null) content.push(block)
  }
  const toolUseId = writer.isSame ? part.callId : toWireCallId(part.callId)
  return { toolResult: compact({ toolUseId, content, status: part.isError ? 'error' : null }) }
}

function writeThinking(part: ThinkingPart, path: string, writer: BlockWriter): JsonObject | null {
  const { signature, isRedacted } = part
  if (writer.to === 'provider' && !isUsable(part, writer)) {
    writer.losses.add(path)
    return null
  }
  if (isRedacted) {
    const sealed = signature === null ? '' : sealSignature(signature, 'converse')
    const data = signature === null || signature.format === 'converse' ? sealed : Buffer.from(sealed).toString('base64')
    return { reasoningContent: { redactedContent: data } }
  }
  // Claude's signatures are the same whether Anthropic or Bedrock made them.
  const isClaudes = writer.to === 'provider' && signature?.format === 'messages'
  const seal = signature === null ? null : isClaudes ? signature.data : sealSignature(signature, 'converse')
  return { reasoningContent: { reasoningText: compact({ text: part.text, signature: seal }) } }
}

/** The provider takes its own signatures, Claude also Anthropic's ("Extended thinking"), and Claude wants one. */
function isUsable({ signature, isRedacted }: ThinkingPart, { isSame, isClaude }: BlockWriter): boolean {
  if (signature === null) return isSame || !isClaude
  return signature.format === 'converse' || (signature.format === 'messages' && isClaude && !isRedacted)
}
