/** Parts of Gemini's content as a conversation's. Source: ai.google.dev, "Caching" reference, Content and Part. */

import type {
  JsonObject,
  MediaPart,
  Part,
  TextPart,
  ThinkingPart,
  ToolCallPart,
  ToolResultPart
} from '#backends/llm/conversation.ts'
import { type Fields, jsonText } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { toolCallPart } from '#backends/llm/formats/parts.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { rememberResponse } from './response.ts'
import { madeId, message, optionalMessage, readSignature } from './wire.ts'

/** Calls of a conversation, so that results without an id find theirs: by name, in order. */
export class Calls {
  readonly #tag: string
  readonly #waiting = new Map<string, Set<string>>()
  #made = 0

  constructor(tag: string) {
    this.#tag = tag
  }

  called(id: string | null, name: string): string {
    const known = id ?? madeId(this.#tag, this.#made++)
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) this.#waiting.set(name, new Set([known]))
    else waiting.add(known)
    return known
  }

  answered(id: string | null, name: string): string {
    const waiting = this.#waiting.get(name)
    const found = id ?? waiting?.values().next().value ?? madeId(this.#tag, this.#made++)
    waiting?.delete(found)
    return found
  }
}

const OPAQUE = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse', 'audioTranscription']

/** What a part may be here. */
const KNOWN = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'thoughtSignature']

/** Of a kind that is not known here: its neighbours are. */
function readUnknown(fields: Fields): Part[] {
  if (isNothing(fields)) throw new FormatError(fields.path, 'is a part of no known kind')
  return [{ kind: 'opaque', format: 'gemini', value: fields.value }]
}

/** Answers have parts that say nothing ({}, or only that they are thoughts). */
export function isNothing({ value }: Fields): boolean {
  return Object.keys(value).every((name) => name === 'thought' || value[name] === null)
}

/** A part and, where the seal on the thoughts stands on a part that has no place for one, a part of its own. */
export function readPart(fields: Fields, calls: Calls, unknown: UnknownFields): Part[] {
  const value = fields.value
  if (OPAQUE.some((name) => value[name] !== undefined && value[name] !== null)) {
    return [{ kind: 'opaque', format: 'gemini', value }]
  }
  if (!KNOWN.some((name) => (value[name] ?? null) !== null)) return readUnknown(fields)
  const text = fields.optionalString('text')
  const sealed = fields.optionalString('thoughtSignature')
  const isThought = fields.optionalBoolean('thought') === true
  const parts =
    text === null
      ? readOther(fields, calls, sealed, unknown)
      : isThought
        ? [thinking(text, sealed, false)]
        : text === '' && sealed !== null
          ? []
          : [plainText(text)]
  if (isThought && text === null) unknown.set(fields.at('thought'), true)
  const last = parts[parts.length - 1]
  if (sealed !== null && last?.kind !== 'thinking' && last?.kind !== 'toolCall') {
    parts.push(thinking('', sealed, last !== undefined))
  }
  fields.leaveUnknown(unknown)
  return parts
}

export const plainText = (text: string): TextPart => ({ kind: 'text', text, cache: null })

/** `isAttached`: the seal stands on the part before it. */
export const thinking = (text: string, sealed: string | null, isAttached: boolean): ThinkingPart => ({
  kind: 'thinking',
  text,
  signature: sealed === null ? null : readSignature(sealed),
  isRedacted: isAttached
})

function readOther(fields: Fields, calls: Calls, sealed: string | null, unknown: UnknownFields): Part[] {
  const media = readMedia(fields, unknown)
  if (media !== null) return [media]
  const call = optionalMessage(fields, 'functionCall')
  if (call !== null) return [readCall(call, calls, sealed, unknown)]
  const response = optionalMessage(fields, 'functionResponse')
  // A seal by itself, as some streams end.
  return response === null ? [] : [readResponse(response, calls, unknown)]
}

/** Null when it is none. */
function readMedia(fields: Fields, unknown: UnknownFields): MediaPart | null {
  const data = optionalMessage(fields, 'inlineData')
  const file = data === null ? optionalMessage(fields, 'fileData') : null
  const media = data ?? file
  if (media === null) return null
  const mediaType = media.optionalString('mimeType')
  const part: MediaPart = {
    kind: kindOf(mediaType),
    source: data === null ? fileSource(media.string('fileUri')) : { kind: 'base64', data: data.string('data') },
    mediaType,
    name: media.optionalString('displayName'),
    detail: null,
    cache: null
  }
  media.leaveUnknown(unknown)
  return part
}

function kindOf(mediaType: string | null): MediaPart['kind'] {
  const family = mediaType?.slice(0, mediaType.indexOf('/'))
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
}

/** Uploaded files have URIs of Google's own, which no other provider can fetch. */
function fileSource(uri: string): MediaPart['source'] {
  const isPublic = /^https?:/.test(uri) && !uri.includes('generativelanguage.googleapis.com/')
  return isPublic ? { kind: 'url', url: uri } : { kind: 'file', id: uri }
}

function readCall(fields: Fields, calls: Calls, sealed: string | null, unknown: UnknownFields): ToolCallPart {
  const name = fields.string('name')
  const args = fields.optionalObject('args')
  const id = calls.called(fields.optionalString('id'), name)
  const call = toolCallPart(id, name, args === null ? '{}' : jsonText(args.value, args.path))
  fields.leaveUnknown(unknown)
  return sealed === null ? call : { ...call, signature: readSignature(sealed) }
}

/**
 * "Use "output" key to specify function output and "error" key to specify error details. If they are not specified,
 * then whole "response" is treated as function output."
 */
function readResponse(fields: Fields, calls: Calls, unknown: UnknownFields): ToolResultPart {
  const name = fields.string('name')
  const response = fields.optionalObject('response')
  const content: (TextPart | MediaPart)[] = []
  if (response !== null) {
    const text = responseText(response.value, response.path)
    if (text !== null) content.push(plainText(text))
    rememberResponse(content, response.value)
  }
  for (const [i, item] of (fields.optionalList('parts') ?? []).entries()) {
    const part = message(item, `${fields.at('parts')}[${i}]`)
    const media = readMedia(part, unknown)
    if (media === null) throw new FormatError(part.path, 'must have inlineData or fileData')
    part.leaveUnknown(unknown)
    content.push(media)
  }
  const result: ToolResultPart = {
    kind: 'toolResult',
    callId: calls.answered(fields.optionalString('id'), name),
    name,
    content,
    isError: (response?.value.error ?? null) !== null,
    cache: null
  }
  fields.leaveUnknown(unknown)
  return result
}

function responseText(response: JsonObject, path: string): string | null {
  const names = Object.keys(response)
  if (names.length === 0) return null
  const only = names.length === 1 && (names[0] === 'output' || names[0] === 'error') ? response[names[0]] : undefined
  if (typeof only === 'string') return only
  return jsonText(only ?? response, path)
}
