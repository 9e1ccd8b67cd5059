/**
 * Content parts of messages (OpenAI API reference, "Create chat completion": text, image_url, input_audio, file,
 * refusal), with the cache marks that LiteLLM and OpenRouter take ("Prompt caching" of each).
 */

import type { CacheMark, Json, MediaPart, MediaSource, Part, TextPart } from '#backends/llm/conversation.ts'
import { compact, type Fields, isObject, isString, type Writable } from '#backends/llm/formats/fields.ts'
import { FormatError, type Losses } from '#backends/llm/formats/format.ts'
import { dataUrl, isPlain } from '#backends/llm/formats/parts.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { marked, only, type Wording } from './wording.ts'

// --- reading ---

/** The parts of a message's content, a text or a list; [] when it is absent. */
export function readContent(message: Fields, notes: ReadNotes): Part[] {
  const value = message.any('content')
  const path = message.at('content')
  if (value === null) return []
  if (isString(value)) return [{ kind: 'text', text: value, cache: null }]
  if (!Array.isArray(value)) throw new FormatError(path, 'must be a string or a list')
  const parts = message.objects('content').map((part) => readPart(part, notes))
  if (parts.length === 0 || isPlain(parts)) notes.wording.set(path, 'list')
  return parts
}

export function readPart(part: Fields, notes: ReadNotes): Part {
  const type = part.string('type')
  const read = PARTS[type as keyof typeof PARTS]
  const known = Object.hasOwn(PARTS, type) ? read(part, notes) : null
  if (known === null) return { kind: 'opaque', format: 'completions', value: part.value }
  part.leaveUnknown(notes.unknown)
  return known
}

type PartReader = (part: Fields, notes: ReadNotes) => Part | null

type PartType = 'text' | 'image_url' | 'input_audio' | 'file' | 'refusal' | 'thinking' | 'reasoning'

const PARTS: { readonly [type in PartType]: PartReader } = {
  text: (part, notes) => ({ kind: 'text', text: part.string('text'), cache: readCache(part, notes) }),
  refusal: (part) => ({ kind: 'refusal', text: part.string('refusal') }),
  image_url: readImage,
  input_audio: (part, notes) => {
    const audio = part.object('input_audio')
    const format = audio.string('format')
    const source = { kind: 'base64', data: audio.string('data') } as const
    audio.leaveUnknown(notes.unknown)
    return { ...media('audio', source, `audio/${format}`), cache: readCache(part, notes) }
  },
  file: readFile,
  thinking: (part) => thoughts(part, 'thinking'),
  reasoning: (part) => thoughts(part, 'reasoning')
}

/** Mistral's Magistral: a list of texts; others give the text itself. Null: neither. */
function thoughts(part: Fields, name: string): Part | null {
  const value = part.any(name) ?? part.any('text')
  const texts = Array.isArray(value) ? (value as readonly Json[]).map(textIn) : [value]
  if (!texts.every(isString)) return null
  part.any('closed')
  return { kind: 'thinking', text: texts.join(''), signature: null, isRedacted: false }
}

const textIn = (value: Json): Json => (isObject(value) ? (value.text ?? '') : value)

function readImage(part: Fields, notes: ReadNotes): Part {
  const image = part.any('image_url')
  const cache = readCache(part, notes)
  if (isString(image)) {
    // LiteLLM and older servers take the URL alone.
    notes.wording.set(part.at('image_url'), 'string')
    const [source, mediaType] = readUrl(image)
    return { ...media('image', source, mediaType), cache }
  }
  const fields = part.object('image_url')
  const [source, mediaType] = readUrl(fields.string('url'))
  const detail = fields.optionalString('detail')
  fields.leaveUnknown(notes.unknown)
  return { ...media('image', source, mediaType), detail, cache }
}

function readFile(part: Fields, notes: ReadNotes): Part | null {
  const file = part.object('file')
  const data = file.optionalString('file_data')
  const id = data === null ? file.optionalString('file_id') : null
  if (data === null && id === null) return null
  const [source, mediaType] = data === null ? ([{ kind: 'file', id: id ?? '' }, null] as const) : readFileData(data)
  const name = file.optionalString('filename')
  file.leaveUnknown(notes.unknown)
  return { ...media('document', source, mediaType), name, cache: readCache(part, notes) }
}

/** A data: URL by the examples of OpenAI's guide "File inputs", a URL for OpenRouter, or bare base64. */
function readFileData(data: string): readonly [MediaSource, string | null] {
  if (data.startsWith('data:') || data.startsWith('https://') || data.startsWith('http://')) return readUrl(data)
  return [{ kind: 'base64', data }, null]
}

function media(kind: MediaPart['kind'], source: MediaSource, mediaType: string | null): MediaPart {
  return { kind, source, mediaType, name: null, detail: null, cache: null }
}

function readUrl(url: string): readonly [MediaSource, string | null] {
  const found = dataUrl(url)
  return found === null ? [{ kind: 'url', url }, null] : [{ kind: 'base64', data: found.data }, found.mediaType]
}

/**
 * The cache mark of a part, tool, call or message: `cache_control`, or OpenAI's own `prompt_cache_breakpoint`. Those
 * of another shape, or with more in them, stay in rest as a whole.
 */
export function readCache(fields: Fields, notes: ReadNotes): CacheMark | null {
  const control = fields.value.cache_control
  if (isObject(control) && control.type === 'ephemeral') {
    const ttl = control.ttl ?? null
    if (ttl === null || ttl === '5m' || ttl === '1h') {
      if (only(control, ['type', 'ttl']) !== null) fields.any('cache_control')
      return { ttl }
    }
  }
  const point = fields.value.prompt_cache_breakpoint
  if (!isObject(point) || point.mode !== 'explicit') return null
  if (only(point, ['mode']) === null) return { ttl: null }
  fields.any('prompt_cache_breakpoint')
  notes.wording.set(fields.at('prompt_cache_breakpoint'), true)
  return { ttl: null }
}

// --- writing ---

/** `path`: of the content. Null: nothing to say. */
export function writeContent(parts: readonly Part[], path: string, wording: Wording, losses: Losses): Json {
  const isList = wording.has(path)
  if (!isList && parts.length === 0) return null
  if (!isList && isPlain(parts)) return (parts[0] as TextPart).text
  const result: Json[] = []
  for (const [i, part] of parts.entries()) {
    const written = writePart(part, `${path}[${result.length}]`, wording)
    if (written === null) losses.add(`${path}[${i}]`)
    else result.push(written)
    if (part.kind === 'document' && part.source.kind === 'text' && part.name !== null) losses.add(`${path}[${i}].name`)
  }
  return result
}

/** Null when this format has no such part. */
export function writePart(part: Part, path: string, wording: Wording): Writable | null {
  if (part.kind === 'text') return marked({ type: 'text', text: part.text }, part.cache, path, wording)
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  if (part.kind === 'opaque') return part.format === 'completions' ? { ...part.value } : null
  if (part.kind === 'toolCall' || part.kind === 'toolResult' || part.kind === 'thinking') return null
  const written = writeMedia(part, path, wording)
  return written === null ? null : marked(written, part.cache, path, wording)
}

function writeMedia(part: MediaPart, path: string, wording: Wording): Writable | null {
  const { source } = part
  // A document that is text is the text: files are PDFs and the like here.
  if (source.kind === 'text') return { type: 'text', text: source.text }
  if (part.kind === 'image' && source.kind !== 'file') {
    const url = writeUrl(source, part.mediaType)
    if (wording.get(`${path}.image_url`) === 'string') return { type: 'image_url', image_url: url }
    return { type: 'image_url', image_url: compact({ url, detail: part.detail }) }
  }
  if (part.kind === 'audio' && source.kind === 'base64') {
    return { type: 'input_audio', input_audio: { data: source.data, format: audioFormat(part.mediaType) } }
  }
  if (part.kind !== 'document') return null
  const file =
    source.kind === 'file'
      ? { file_id: source.id }
      : {
          file_data:
            source.kind === 'base64' && part.mediaType === null ? source.data : writeUrl(source, part.mediaType)
        }
  return { type: 'file', file: compact({ ...file, filename: part.name }) }
}

function writeUrl(source: Extract<MediaSource, { kind: 'base64' | 'url' }>, mediaType: string | null): string {
  return source.kind === 'url' ? source.url : `data:${mediaType ?? ''};base64,${source.data}`
}

const AUDIO_FORMATS: { readonly [mediaType: string]: string } = {
  'audio/mpeg': 'mp3',
  'audio/mpga': 'mp3',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/vnd.wave': 'wav'
}

function audioFormat(mediaType: string | null): string {
  if (mediaType === null) return 'wav'
  if (Object.hasOwn(AUDIO_FORMATS, mediaType)) return AUDIO_FORMATS[mediaType] ?? mediaType
  return mediaType.startsWith('audio/') ? mediaType.slice('audio/'.length) : mediaType
}
