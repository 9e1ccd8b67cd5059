/** Parts into content blocks. What a block cannot say is a loss, and is left out. */

import type { Json, JsonObject, MediaPart, Part, Signature, ThinkingPart } from '#backends/llm/conversation.ts'
import { compact, type Writable } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { sealSignature } from '#backends/llm/translate/signature.ts'
import { parseJson } from '#engine/kit/json.ts'
import { CITATIONS } from './content-read.ts'

const IMAGES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const ID = /^[\w-]+$/

export interface BlockScene {
  /** The conversation came in this format, and goes back as it came. */
  readonly isOwn: boolean
  readonly losses: Losses
}

/** The blocks of `parts`. `pathOf`: the path of a part in its own format, for losses. */
export function writeBlocks(parts: readonly Part[], pathOf: (index: number) => string, scene: BlockScene): Json[] {
  const blocks: Json[] = []
  for (const [i, part] of parts.entries()) {
    const block = writeBlock(part, pathOf(i), blocks, scene)
    if (block !== null) blocks.push(block)
  }
  return blocks
}

/** Null: there is nothing to write. `list`: the blocks before it. */
export function writeBlock(part: Part, path: string, list: readonly Json[], scene: BlockScene): JsonObject | null {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      // The API refuses empty text blocks. Only a client of this format knows what it gets for them.
      if (part.text === '' && !scene.isOwn) return null
      return compact({
        type: 'text',
        text: part.text,
        cache_control: part.kind === 'text' ? cacheMark(part.cache) : null
      })
    case 'image':
    case 'document':
    case 'audio':
    case 'video':
      return writeMedia(part, path, scene)
    case 'toolCall':
      // A signature on a call of Anthropic's own format was sealed here: its client does not know it.
      if (part.signature !== null && !scene.isOwn) scene.losses.add(`${path}.signature`)
      return compact({
        type: 'tool_use',
        id: toolId(part.id),
        name: part.name,
        input: parsedArguments(part.arguments, path, scene),
        cache_control: cacheMark(part.cache)
      })
    case 'toolResult':
      return compact({
        type: 'tool_result',
        tool_use_id: toolId(part.callId),
        content: writePlain(part.content, path, scene),
        is_error: part.isError ? true : null,
        cache_control: cacheMark(part.cache)
      })
    case 'thinking':
      return writeThinking(part, path, scene)
    case 'opaque':
      if (part.format !== 'messages') scene.losses.add(path)
      else if (!isCitationsOf(list.at(-1), part.value)) return { ...part.value }
      return null
  }
}

/** Adds `value` to the text block that it follows, when it is that text's citations. */
function isCitationsOf(last: Json | undefined, value: JsonObject): boolean {
  if (value.type !== CITATIONS) return false
  const block = last as Writable | undefined
  if (block?.type === 'text' && block.citations === undefined && value.citations !== undefined) {
    block.citations = value.citations
  }
  return true
}

/** Text and media in a tool result or the system prompt; null: none. */
export function writePlain(parts: readonly Part[], path: string, scene: BlockScene): Json {
  const blocks = writeBlocks(parts, () => path, scene)
  return blocks.length === 0 ? null : blocks
}

function writeMedia(part: MediaPart, path: string, scene: BlockScene): JsonObject | null {
  const source = mediaSource(part, scene.isOwn)
  if (source === null) {
    scene.losses.add(path)
    return null
  }
  if (part.detail !== null && part.detail !== 'auto') scene.losses.add(`${path}.detail`)
  return compact({ type: part.kind, source, title: part.name, cache_control: cacheMark(part.cache) })
}

/** Null when the API has no such source: files of other providers, sounds, films, images of rare types. */
function mediaSource(part: MediaPart, isOwn: boolean): Writable | null {
  const { source, mediaType } = part
  if (part.kind !== 'image' && part.kind !== 'document') return null
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (source.kind === 'file') return isOwn ? { type: 'file', file_id: source.id } : null
  if (source.kind === 'text') return { type: 'text', media_type: mediaType ?? 'text/plain', data: source.text }
  if (isOwn) return compact({ type: 'base64', media_type: mediaType, data: source.data })
  if (mediaType === null) return null
  if (part.kind === 'document' && mediaType.startsWith('text/')) {
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(source.data, 'base64').toString() }
  }
  const isTaken = part.kind === 'image' ? IMAGES.includes(mediaType) : mediaType === 'application/pdf'
  return isTaken ? { type: 'base64', media_type: mediaType, data: source.data } : null
}

/**
 * Only thoughts that Anthropic has signed are taken by the API. Another provider's seal without thoughts to read is
 * of no use here, and nothing is lost by leaving it out; thoughts in words are a loss.
 */
function writeThinking(part: ThinkingPart, path: string, scene: BlockScene): JsonObject | null {
  if (part.signature?.format === 'messages') return thinkingBlock(part, part.signature)
  if (part.text !== '') scene.losses.add(path)
  return null
}

/** With signatures of other formats sealed, for clients to send back. */
export function thinkingBlock(part: ThinkingPart, signature: Signature | null): Writable {
  const sealed = signature === null ? '' : sealSignature(signature, 'messages')
  return part.isRedacted
    ? { type: 'redacted_thinking', data: sealed }
    : { type: 'thinking', thinking: part.text, signature: sealed }
}

/** The API wants letters, digits, _ and -: other ids are written in such, the same way for call and result. */
function toolId(id: string): string {
  return ID.test(id) ? id : `toolu_${Buffer.from(id).toString('base64url')}`
}

/** Arguments that are no JSON cannot be said; an empty object stands for them. */
export function parsedArguments(text: string, path: string, { losses }: { readonly losses: Losses }): Json {
  const value = text === '' ? {} : (parseJson(text) as Json | undefined)
  if (value === undefined) losses.add(`${path}.arguments`)
  return value ?? (value === null ? null : {})
}

/** `cache_control`. */
export function cacheMark(cache: { readonly ttl: string | null } | null): Json {
  return cache === null ? null : compact({ type: 'ephemeral', ttl: cache.ttl })
}

/** A list of exactly one plain text block as that text, as the API documents both to be the same. */
export function shortened(blocks: Json): Json {
  if (!Array.isArray(blocks) || blocks.length !== 1) return blocks
  const only = blocks[0] as JsonObject
  if (only.type !== 'text' || typeof only.text !== 'string') return blocks
  return Object.keys(only).length === 2 ? only.text : blocks
}
