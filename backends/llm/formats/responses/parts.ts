/** Content parts of messages and tool results (API reference, "Responses", input and output content). */

import type { CacheMark, Json, JsonObject, MediaPart, MediaSource, Part, TextPart } from '#backends/llm/conversation.ts'
import { compact, Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { dataUrl } from '#backends/llm/formats/parts.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { keepOwn, type Wording } from './wording.ts'

const KNOWN = new Set(['input_text', 'output_text', 'refusal', 'input_image', 'input_file', 'input_audio'])

/**
 * Whether anything of `content` can be read; an item with nothing but content of unheard-of types is kept as a whole.
 */
export function isKnownContent(content: readonly Json[], path: string): boolean {
  return content.length === 0 || content.some((part, i) => isKnown(Fields.of(part, `${path}[${i}]`)))
}

/** Of a type that can be read. */
export function isKnown(part: Fields): boolean {
  return isKnownType(part.string('type'))
}

export const isKnownType = (type: string): boolean => KNOWN.has(type)

/** `textType`: what text is called where the part stands. */
export function readContent(part: Fields, textType: string, notes: ReadNotes): Part {
  const type = part.string('type')
  const read = readKnown(part, type)
  if (read.kind === 'text') {
    if (type !== textType) notes.wording.set(part.at('type'), type)
    keepOwn(notes, part, ['logprobs'])
    const annotations = part.optionalList('annotations')
    // Every text of an answer has the list; only an entry in it says something.
    if (annotations !== null)
      (annotations.length === 0 ? notes.wording : notes.unknown).set(part.at('annotations'), annotations)
  }
  const breakpoint = part.value.prompt_cache_breakpoint
  if (isObject(breakpoint) && (breakpoint.mode !== 'explicit' || Object.keys(breakpoint).length > 1)) {
    notes.wording.set(part.at('prompt_cache_breakpoint'), breakpoint)
  }
  part.leaveUnknown(notes.unknown)
  return read
}

function readKnown(part: Fields, type: string): Part {
  if (type === 'refusal') return { kind: 'refusal', text: part.string('refusal') }
  if (type === 'input_image') return readImage(part)
  if (type === 'input_file') return readFile(part)
  if (type === 'input_audio') return readAudio(part)
  return { kind: 'text', text: part.string('text'), cache: readCache(part) }
}

function readCache(part: Fields): CacheMark | null {
  return part.optionalObject('prompt_cache_breakpoint') === null ? null : { ttl: null }
}

function readImage(part: Fields): MediaPart {
  const url = part.optionalString('image_url')
  const { source, mediaType } = url === null ? uploaded(part, 'image_url') : fromUrl(url)
  const detail = part.optionalString('detail')
  return { kind: 'image', source, mediaType, name: null, detail, cache: readCache(part) }
}

function readFile(part: Fields): MediaPart {
  const { source, mediaType } = fileSource(part)
  return {
    kind: 'document',
    source,
    mediaType,
    name: part.optionalString('filename'),
    detail: part.optionalString('detail'),
    cache: readCache(part)
  }
}

function fileSource(part: Fields): { source: MediaSource; mediaType: string | null } {
  if ((part.value.file_data ?? null) !== null) {
    const data = part.string('file_data')
    const parsed = fromUrl(data)
    return parsed.source.kind === 'base64' ? parsed : { source: { kind: 'base64', data }, mediaType: null }
  }
  if ((part.value.file_url ?? null) !== null) {
    return { source: { kind: 'url', url: part.string('file_url') }, mediaType: null }
  }
  return uploaded(part, 'file_data')
}

function uploaded(part: Fields, other: string): { source: MediaSource; mediaType: null } {
  const id = part.optionalString('file_id')
  if (id === null) throw new FormatError(part.at(other), 'is required, unless there is a file_id')
  return { source: { kind: 'file', id }, mediaType: null }
}

const AUDIO = ['mp3', 'wav'] as const

function readAudio(part: Fields): MediaPart {
  const audio = part.object('input_audio')
  const format = audio.optionalWord('format', AUDIO)
  if (format === null) throw new FormatError(audio.at('format'), 'is required')
  const source: MediaSource = { kind: 'base64', data: audio.string('data') }
  const mediaType = format === 'mp3' ? 'audio/mpeg' : 'audio/wav'
  return { kind: 'audio', source, mediaType, name: null, detail: null, cache: readCache(part) }
}

function fromUrl(url: string): { source: MediaSource; mediaType: string | null } {
  const found = dataUrl(url)
  if (found === null || found.mediaType === '') return { source: { kind: 'url', url }, mediaType: null }
  return { source: { kind: 'base64', data: found.data }, mediaType: found.mediaType }
}

/** Null when the format has no place for `part`. */
export function writeContent(part: Part, textType: string, wording: Wording): JsonObject | null {
  if (part.kind === 'text') return { type: textType, text: part.text, ...cacheOf(part, wording) }
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  const media = isMedia(part) ? writeMedia(part, wording) : null
  return media === null ? null : compact(media)
}

export function isMedia(part: Part): part is MediaPart {
  return part.kind === 'image' || part.kind === 'document' || part.kind === 'audio' || part.kind === 'video'
}

/**
 * Marks of other vendors' formats say "this may be cached", which OpenAI does unasked; its own marks are only known to
 * models that have explicit caching, others refuse them.
 */
function cacheOf(part: TextPart | MediaPart, wording: Wording): JsonObject {
  return part.cache !== null && wording.isOpenAi ? { prompt_cache_breakpoint: { mode: 'explicit' } } : {}
}

function writeMedia(part: MediaPart, wording: Wording): JsonObject | null {
  if (part.kind === 'image') return writeImage(part, wording)
  if (part.kind === 'document') return writeFile(part, wording)
  const format = part.kind === 'audio' ? audioFormat(part.mediaType) : null
  if (format === null || part.source.kind !== 'base64') return null
  return { type: 'input_audio', input_audio: { data: part.source.data, format }, ...cacheOf(part, wording) }
}

function audioFormat(mediaType: string | null): string | null {
  if (mediaType === 'audio/mpeg' || mediaType === 'audio/mp3') return 'mp3'
  return mediaType === 'audio/wav' || mediaType === 'audio/x-wav' || mediaType === 'audio/wave' ? 'wav' : null
}

function writeImage(part: MediaPart, wording: Wording): JsonObject | null {
  const { source, mediaType } = part
  const rest = { detail: part.detail ?? (wording.isOwn ? null : 'auto'), ...cacheOf(part, wording) }
  if (source.kind === 'text') return null
  if (source.kind === 'file') return { type: 'input_image', file_id: source.id, ...rest }
  const url = source.kind === 'url' ? source.url : `data:${mediaType ?? 'image/png'};base64,${source.data}`
  return { type: 'input_image', image_url: url, ...rest }
}

const EXTENSIONS = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['text/html', 'html'],
  ['text/markdown', 'md'],
  ['application/json', 'json'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx']
])

function writeFile(part: MediaPart, wording: Wording): JsonObject {
  const { source, mediaType, name, detail } = part
  const rest = { detail, ...cacheOf(part, wording) }
  if (source.kind === 'file') return { type: 'input_file', file_id: source.id, filename: name, ...rest }
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url, filename: name, ...rest }
  if (wording.isOwn && source.kind === 'base64') {
    const data = mediaType === null ? source.data : `data:${mediaType};base64,${source.data}`
    return { type: 'input_file', file_data: data, filename: name, ...rest }
  }
  // Data needs a name, and tells its type by it.
  const type = mediaType ?? (source.kind === 'text' ? 'text/plain' : 'application/pdf')
  const data = source.kind === 'text' ? Buffer.from(source.text).toString('base64') : source.data
  const filename = name ?? `document.${EXTENSIONS.get(type) ?? 'txt'}`
  return { type: 'input_file', file_data: `data:${type};base64,${data}`, filename, ...rest }
}
