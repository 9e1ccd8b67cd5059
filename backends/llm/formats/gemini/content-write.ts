/** A conversation's parts as Gemini's. Source: ai.google.dev, "Caching" reference, Content and Part. */
import type { JsonObject, MediaPart, Part, Signature, ThinkingPart, ToolCallPart } from '#backends/llm/conversation.ts'
import { compact, type Writable } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { writeResponse } from './response.ts'
import { isMadeId, parseObject, writeSignature } from './wire.ts'

export interface PartsWriter {
  /** Google reads it, and knows no signature but its own; else a client does, which keeps them for us. */
  readonly isForProvider: boolean
  /** References to files are Google's own. */
  readonly isGemini: boolean
  readonly losses: Losses
  /** Names of the functions that were called, by id. */
  readonly names: Map<string, string>
}

/** Adds `part` to `written`, the parts of one content. `path` is for losses. */
export function writePart(part: Part, path: string, written: Writable[], writer: PartsWriter): void {
  if ('cache' in part && part.cache !== null) writer.losses.add(`${path}.cache_control`)
  switch (part.kind) {
    case 'text':
    case 'refusal':
      // Other formats' clients send empty texts, which say nothing and which Vertex AI refuses.
      if (part.text !== '' || writer.isGemini || !writer.isForProvider) written.push({ text: part.text })
      break
    case 'thinking':
      writeThinking(part, path, written, writer)
      break
    case 'toolCall':
      pushIf(written, writeCall(part, path, writer))
      break
    case 'toolResult': {
      const media: JsonObject[] = []
      for (const [i, item] of part.content.entries()) {
        if (item.cache !== null) writer.losses.add(`${path}.content[${i}].cache_control`)
        if (item.kind !== 'text') pushIf(media, writeMedia(item, `${path}.content[${i}]`, writer))
      }
      written.push({
        functionResponse: compact({
          id: isMadeId(part.callId) ? null : part.callId,
          name: part.name ?? writer.names.get(part.callId) ?? part.callId,
          response: writeResponse(part),
          parts: media.length > 0 ? media : null
        })
      })
      break
    }
    case 'opaque':
      // A copy: unknown may be put into it.
      if (part.format === 'gemini') written.push({ ...part.value })
      else writer.losses.add(path)
      break
    default:
      pushIf(written, writeMedia(part, path, writer))
  }
}

function pushIf(list: Writable[] | JsonObject[], item: Writable | null): void {
  if (item !== null) list.push(item)
}

function writeThinking(part: ThinkingPart, path: string, written: Writable[], writer: PartsWriter): void {
  const seal = sealOf(part.signature, path, writer)
  if (part.text !== '') {
    written.push(seal === null ? { text: part.text, thought: true } : { text: part.text, thought: true, ...seal })
  } else if (seal !== null) {
    const last = written[written.length - 1]
    if (part.isRedacted && last !== undefined && takesSeal(last)) Object.assign(last, seal)
    else written.push({ text: '', ...seal })
  }
}

/** A seal of its own part stands on text and media, once. */
function takesSeal(part: JsonObject): boolean {
  if (part.thoughtSignature !== undefined || part.thought !== undefined) return false
  return part.text !== undefined || part.inlineData !== undefined || part.fileData !== undefined
}

function sealOf(signature: Signature | null, path: string, writer: PartsWriter): JsonObject | null {
  if (signature === null) return null
  if (!writer.isForProvider || signature.format === 'gemini') return { thoughtSignature: writeSignature(signature) }
  writer.losses.add(`${path}.signature`)
  return null
}

/** Null when its arguments are no object: a call that Gemini cannot say (MALFORMED_FUNCTION_CALL). */
function writeCall(part: ToolCallPart, path: string, writer: PartsWriter): Writable | null {
  writer.names.set(part.id, part.name)
  const args = part.arguments === '' ? {} : parseObject(part.arguments)
  if (args === null) {
    writer.losses.add(`${path}.arguments`)
    return null
  }
  const functionCall = compact({ id: isMadeId(part.id) ? null : part.id, name: part.name, args })
  return { functionCall, ...sealOf(part.signature, path, writer) }
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['mp3', 'audio/mp3'],
  ['wav', 'audio/wav'],
  ['mp4', 'video/mp4'],
  ['webm', 'video/webm']
])

/**
 * Null when only another provider knows the file. What files of other formats are called is left out: Google AI refuses
 * the name that Vertex AI takes.
 */
function writeMedia(part: MediaPart, path: string, writer: PartsWriter): Writable | null {
  const { source, mediaType } = part
  const name = writer.isGemini || !writer.isForProvider ? part.name : null
  if (part.detail !== null && part.detail !== 'auto') writer.losses.add(`${path}.detail`)
  if (name !== part.name) writer.losses.add(`${path}.name`)
  if (source.kind === 'base64')
    return { inlineData: compact({ mimeType: mediaType, data: source.data, displayName: name }) }
  if (source.kind === 'text') {
    const data = Buffer.from(source.text).toString('base64')
    return { inlineData: compact({ mimeType: mediaType ?? 'text/plain', data, displayName: name }) }
  }
  const uri = source.kind === 'url' ? source.url : source.id
  if (source.kind === 'file' && !writer.isGemini && !uri.includes('://')) {
    writer.losses.add(path)
    return null
  }
  const mimeType = mediaType ?? (writer.isGemini ? null : typeByName(uri))
  return { fileData: compact({ mimeType, fileUri: uri, displayName: name }) }
}

/** Vertex AI wants a type, and other formats' URLs come without. */
function typeByName(uri: string): string | null {
  const end = uri.search(/[?#]/)
  const path = end < 0 ? uri : uri.slice(0, end)
  return TYPES.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase()) ?? null
}
