/** Request bodies: one argument, serialized as the media type requires. */
import { randomBytes } from 'node:crypto'
import { isObject, type JsonObject, type JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import type { Body, Field, Media } from './plan.ts'
import { ArgumentError, queryParts } from './serialize.ts'
import { plainForm } from './styles.ts'

export interface WrittenBody {
  readonly contentType: string
  readonly bytes: Buffer
}

/** The media type that the caller names, else the first that fits the value. Throws ArgumentError. */
export function chosenMedia({ media }: Body, value: JsonValue | undefined, named: JsonValue | undefined): Media {
  if (named !== undefined && named !== null) {
    const known = media.find(({ mediaType }) => mediaType === named)
    if (known !== undefined) return known
    throw new ArgumentError(`contentType: it must be ${media.map(({ mediaType }) => mediaType).join(' or ')}`)
  }
  const shape = Array.isArray(value) ? 'list' : typeof value === 'string' ? 'text' : 'object'
  return media.find(({ takes }) => takes === shape || takes === null) ?? media[0]!
}

/** Throws ArgumentError. */
export function writeBody(media: Media, value: JsonValue): WrittenBody {
  const { kind, mediaType } = media
  if (kind === 'multipart') return multipart(media, objectOf(value))
  return {
    contentType: mediaType,
    bytes: kind === 'bytes' ? bytesOf('body', value) : Buffer.from(textOf(media, value))
  }
}

function textOf(media: Media, value: JsonValue): string {
  const { kind } = media
  if (kind === 'json') return JSON.stringify(value)
  if (kind === 'form') return formText(media, objectOf(value))
  // JSON is valid YAML (yaml.org/spec/1.2.2, section 1.2).
  if (kind === 'yaml' && typeof value !== 'string') return JSON.stringify(value)
  if (typeof value !== 'string') throw new ArgumentError('body: it must be text')
  return value
}

function objectOf(value: JsonValue): JsonObject {
  if (isObject(value)) return value
  throw new ArgumentError('body: it must be an object')
}

/**
 * The default for a form field that the document does not describe: objects are sent as JSON (OpenAPI 3.1.1 section
 * 4.8.15).
 */
function fieldOf({ fields }: Media, name: string, value: JsonValue): Field {
  const known = fields.find((field) => field.name === name)
  return known ?? { ...plainForm(name, 'query'), isJson: isObject(value), contentType: null, file: 'never' }
}

function formText(media: Media, value: JsonObject): string {
  const present = Object.entries(value).filter(([, item]) => item !== null)
  return present.flatMap(([name, item]) => queryParts(fieldOf(media, name, item), item)).join('&')
}

// --- multipart/form-data (RFC 7578) ---

function multipart(media: Media, value: JsonObject): WrittenBody {
  // 128 random bits: no content can contain the boundary on purpose.
  const boundary = randomBytes(16).toString('hex')
  const pieces: Buffer[] = []
  for (const [name, item] of Object.entries(value)) {
    if (item === null) continue
    const field = fieldOf(media, name, item)
    // RFC 7578 section 4.3: a list is several parts of one name.
    for (const one of Array.isArray(item) ? item : [item]) {
      const { head, bytes } = partOf(field, one as JsonValue)
      pieces.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`), bytes)
      pieces.push(Buffer.from('\r\n'))
    }
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`))
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(pieces) }
}

interface Part {
  readonly head: string
  readonly bytes: Buffer
}

function partOf(field: Field, value: JsonValue): Part {
  const { name, file, contentType } = field
  const disposition = `name="${quoted(name)}"`
  const isStructured = typeof value === 'object' && value !== null
  if (file !== 'never' && (isStructured || file === 'always')) return filePart(field, disposition, value)
  const type = contentType ?? (isStructured ? 'application/json' : null)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { head: type === null ? disposition : `${disposition}\r\nContent-Type: ${type}`, bytes: Buffer.from(text) }
}

function filePart({ name, contentType }: Field, disposition: string, value: JsonValue): Part {
  const place = `body.${name}`
  const parts = typeof value === 'string' ? { data: value } : value
  const { data, fileName = name, contentType: ownType = null } = parts as Record<string, JsonValue>
  if (typeof fileName !== 'string') throw new ArgumentError(`${place}.fileName: it must be text`)
  const type = ownType ?? contentType ?? 'application/octet-stream'
  if (typeof type !== 'string' || !/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.-]+)*$/.test(type)) {
    throw new ArgumentError(`${place}.contentType: it must be a media type`)
  }
  const head = `${disposition}; filename="${quoted(fileName)}"\r\nContent-Type: ${type}`
  return { head, bytes: bytesOf(`${place}.data`, data ?? null) }
}

/**
 * Escaped as browsers do (HTML, multipart/form-data encoding algorithm): no character ends the quoted text or the
 * line.
 */
function quoted(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('"', '%22')
    .replace(/[\0-\x1f\x7f]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

function bytesOf(place: string, text: JsonValue): Buffer {
  if (typeof text !== 'string') throw new ArgumentError(`${place}: it must be text`)
  const bytes = Buffer.from(text, 'base64')
  // Buffer ignores what is not base64: only valid text survives the round trip.
  if (bytes.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) {
    throw new ArgumentError(`${place}: it must be base64`)
  }
  return bytes
}
