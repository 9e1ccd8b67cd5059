/**
 * Which ways to write a body an operation offers (OpenAPI 3.1.1 section 4.8.14): those that say the same as a better
 * one are left out, and the rest is the caller's choice.
 */
import type { JsonObject, JsonValue } from '#backends/mcp/rpc.ts'
import { type Document, isNode, type Node } from './document.ts'
import type { Field, Media, MediaKind } from './plan.ts'
import type { SchemaWriter, Written } from './schema.ts'
import { plainForm, STYLES } from './styles.ts'

export interface Offered extends Media {
  readonly schema: unknown
}

const OFFERED_MAX = 8
/** Those are compared with each other: of more the worse ones are left out. */
const COMPARED_MAX = 32

/** By media type, the best first. A range of types stands for the first that it holds. */
const KINDS: readonly (readonly [type: RegExp, kind: MediaKind | null, takes: Media['takes'], usual?: string])[] = [
  [/^(?:application|text)\/json$/, 'json', null],
  [/^(?:application\/\*|\*\/\*)$/, 'json', null, 'application/json'],
  // RFC 7396; as Kubernetes has it; RFC 6902.
  [/^application\/merge-patch\+json$/, 'json', 'object'],
  [/^application\/strategic-merge-patch\+json$/, 'json', 'object'],
  [/^application\/json-patch\+json$/, 'json', 'list'],
  [/^(?:application|text)\/[\w.+-]+\+json$/, 'json', null],
  [/^application\/x-www-form-urlencoded$/, 'form', 'object'],
  [/^multipart\/form-data$/, 'multipart', 'object'],
  // Parts without names: nobody can write them from one value.
  [/^multipart\//, null, null],
  [/^(?:application|text)\/(?:[\w.-]+[+-])?yaml$/, 'yaml', null],
  [/^text\/\*$/, 'text', 'text', 'text/plain'],
  [/^text\/|^application\/(?:[\w.-]+\+)?xml$/, 'text', 'text'],
  [/\*/, 'bytes', 'text', 'application/octet-stream'],
  [/^/, 'bytes', 'text']
]

export const isJson = (type: string): boolean => /^(?:application|text)\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)

const isPatch = ({ mediaType }: Media): boolean => /patch\+/.test(mediaType)

/** Empty: none that can be written. `where`: of the body, for messages. */
export function offeredMedia(document: Document, content: Node, where: string): Offered[] {
  const all = Object.entries(content)
  document.spend(all.length, where)
  const found = all.flatMap(([type, given]): [number, Offered][] => {
    const essence = type.split(';', 1)[0]!.trim().toLowerCase()
    const rank = KINDS.findIndex(([pattern]) => pattern.test(essence))
    const [, kind, takes, usual] = KINDS[rank]!
    if (kind === null) return []
    const media = document.node(given, where) ?? {}
    const mediaType = usual ?? type.trim()
    if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.-]+)*$/.test(mediaType)) {
      document.refuse(where, `${JSON.stringify(type)} is not a media type`)
    }
    const fields = kind === 'form' || kind === 'multipart' ? fieldsOf(document, media, where) : []
    return [[rank, { mediaType, kind, takes, fields, schema: media.schema }]]
  })
  const ranked = found
    .sort(([a], [b]) => a - b)
    .slice(0, COMPARED_MAX)
    .map(([, one]) => ({ one, schema: document.textOf(one.schema) }))
  return ranked
    .filter(({ one, schema }, i) => {
      return !ranked.some((other, j) => i !== j && other.schema === schema && covers(other.one, one, j < i))
    })
    .slice(0, OFFERED_MAX)
    .map(({ one }) => one)
}

/** Whether `other`, which has the same schema, says all that `one` does, in a form that is better for it. */
function covers(other: Offered, one: Offered, isBetter: boolean): boolean {
  // Nobody writes bytes by hand (CBOR, protobuf) who may write text.
  if (one.kind === 'bytes' && other.kind !== 'bytes') return true
  if (isPatch(one) || isPatch(other)) return false
  const withFiles = ({ kind, fields }: Offered): boolean => kind === 'multipart' && fields.some(isFile)
  // Of the two kinds of forms only one has files.
  if (withFiles(other) || withFiles(one)) return withFiles(other) && one.kind === 'form'
  if (!isBetter) return false
  return other.kind !== one.kind || other.mediaType === one.mediaType || one.kind === 'json'
}

const isFile = ({ file }: Field): boolean => file === 'always'

// --- fields of forms ---

function fieldsOf(document: Document, media: Node, where: string): Field[] {
  const schema = document.node(media.schema, where)
  const properties = isNode(schema?.properties) ? schema.properties : {}
  const encoding = isNode(media.encoding) ? media.encoding : {}
  const names = new Set([...Object.keys(properties), ...Object.keys(encoding)])
  document.spend(names.size, where)
  return [...names].flatMap((name) => {
    const given = Object.hasOwn(encoding, name) ? document.node(encoding[name], where) : null
    const own = Object.hasOwn(properties, name) ? document.node(properties[name], where) : null
    const file = fileOf(document, own, where)
    return given === null && file === 'never' ? [] : [fieldOf(name, given ?? {}, file)]
  })
}

function fieldOf(name: string, { style, explode, allowReserved, contentType }: Node, file: Field['file']): Field {
  const known = STYLES.query.find((one) => one === style) ?? 'form'
  return {
    ...plainForm(name, 'query'),
    style: known,
    explode: typeof explode === 'boolean' ? explode : known === 'form',
    allowsReserved: allowReserved === true,
    // Several, or a range of them, are for the caller to choose from.
    contentType: typeof contentType === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType : null,
    file
  }
}

function fileOf(document: Document, schema: Node | null, where: string): Field['file'] {
  if (schema === null) return 'never'
  if (schema.type === 'array') return fileOf(document, document.node(schema.items, where), where)
  if (schema.type === 'file' || schema.format === 'binary') return 'always'
  // 3.1 says so by the content, or by saying nothing at all (OpenAPI 3.1.1 section 4.8.14.4).
  if (typeof schema.contentMediaType === 'string' && schema.contentEncoding === undefined) return 'always'
  if (Object.keys(schema).length === 0) return 'allowed'
  const isPlain = schema.type === 'string' && schema.enum === undefined && schema.format === undefined
  return isPlain && schema.maxLength === undefined ? 'allowed' : 'never'
}

// --- what callers see ---

const FILE: JsonObject = {
  type: 'object',
  properties: {
    data: { type: 'string', contentEncoding: 'base64' },
    fileName: { type: 'string' },
    contentType: { type: 'string', examples: ['application/pdf'] }
  },
  required: ['data'],
  additionalProperties: false
}

const JSON_PATCH: JsonObject = {
  description: 'JSON Patch (RFC 6902).',
  type: 'array',
  items: {
    type: 'object',
    properties: {
      op: { enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
      path: { type: 'string', description: 'JSON Pointer.' },
      from: { type: 'string', description: 'JSON Pointer, for move and copy.' },
      value: {}
    },
    required: ['op', 'path']
  }
}

const TEXT = { type: 'string' }

/** Of whatever a caller may choose. `add`: is told what it is made of. */
export function bodySchema(
  writer: SchemaWriter,
  where: string,
  offered: readonly Offered[],
  add: (written: Written) => JsonValue
): JsonValue {
  const schemas = new Map<string, JsonValue>()
  for (const one of offered) {
    const written = mediaSchema(writer, where, one)
    const { json } = written
    // What is too large for a tool is not compared either.
    const text = written.chars > COMPARED_CHARS_MAX ? one.mediaType : JSON.stringify(json)
    if (!schemas.has(text)) schemas.set(text, add(written))
  }
  const distinct = [...schemas.values()]
  return distinct.length === 1 ? distinct[0]! : { anyOf: distinct }
}

const COMPARED_CHARS_MAX = 262_144

function mediaSchema(
  writer: SchemaWriter,
  where: string,
  { kind, takes, mediaType, fields, schema }: Offered
): Written {
  if (kind === 'bytes') return plain({ ...TEXT, contentEncoding: 'base64', contentMediaType: mediaType })
  if (kind === 'text') return plain({ ...TEXT, contentMediaType: mediaType })
  // Documents call it an object, as they have one schema for all kinds of patches.
  if (takes === 'list' && !writer.isList(schema, where)) return plain(JSON_PATCH)
  const files = new Map(fields.filter(({ file }) => file !== 'never').map((field) => [field.name, field]))
  if (kind !== 'multipart' || files.size === 0) return writer.write(schema, where)
  return writer.writeWith(schema, where, (name, own) => {
    const field = files.get(name)
    return field === undefined ? own : fileSchema(own, field)
  })
}

/** Without references. */
function plain(json: JsonObject): Written {
  return { json, chars: JSON.stringify(json).length, values: 1, uses: new Map() }
}

function fileSchema(own: JsonValue, { file }: Field): JsonValue {
  const { description, type, items } = own as { description?: string; type?: string; items?: JsonValue }
  if (type === 'array') return { ...(own as JsonObject), items: fileSchema(items!, { file } as Field) }
  const note = description === undefined ? {} : { description }
  return file === 'always' ? { ...FILE, ...note } : { ...note, anyOf: [TEXT, FILE] }
}
