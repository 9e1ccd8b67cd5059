/**
 * The media types that callers may choose from for a request body (OpenAPI 3.1.1 section 4.8.14). Those that only
 * repeat a better one are left out.
 */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { type Document, isNode, type Node } from './document.ts'
import type { Field, Media, MediaKind } from './plan.ts'
import type { SchemaWriter, WrittenSchema } from './schema.ts'
import { plainForm, STYLES } from './styles.ts'
export interface Offered extends Media {
  readonly schema: unknown
}

const OFFERED_MAX = 8
/** Media types that are compared with each other; the lowest-ranked of more are left out. */
const COMPARED_MAX = 32

/** By media type, in order of preference. A range stands for its first type. */
const KINDS: readonly (readonly [type: RegExp, kind: MediaKind | null, takes: Media['takes'], usual?: string])[] = [
  [/^(?:application|text)\/json$/, 'json', null],
  [/^(?:application\/\*|\*\/\*)$/, 'json', null, 'application/json'],
  // RFC 7396; the type of Kubernetes; RFC 6902.
  [/^application\/merge-patch\+json$/, 'json', 'object'],
  [/^application\/strategic-merge-patch\+json$/, 'json', 'object'],
  [/^application\/json-patch\+json$/, 'json', 'list'],
  [/^(?:application|text)\/[\w.+-]+\+json$/, 'json', null],
  [/^application\/x-www-form-urlencoded$/, 'form', 'object'],
  [/^multipart\/form-data$/, 'multipart', 'object'],
  // Other multipart types have parts without names, which cannot be written from one value.
  [/^multipart\//, null, null],
  [/^(?:application|text)\/(?:[\w.-]+[+-])?yaml$/, 'yaml', null],
  [/^text\/\*$/, 'text', 'text', 'text/plain'],
  [/^text\/|^application\/(?:[\w.-]+\+)?xml$/, 'text', 'text'],
  [/\*/, 'bytes', 'text', 'application/octet-stream'],
  [/^/, 'bytes', 'text']
]

export const isJson = (type: string): boolean => /^(?:application|text)\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)

const isPatch = ({ mediaType }: Media): boolean => /patch\+/.test(mediaType)

/** Empty: none that can be written. `where`: place of the body, for messages. */
export function offeredMedia(document: Document, content: Node, where: string): Offered[] {
  const all = Object.entries(content)
  document.spend(all.length, where)
  const found = all.flatMap(([type, value]): [number, Offered][] => {
    const essence = type.split(';', 1)[0]!.trim().toLowerCase()
    const rank = KINDS.findIndex(([pattern]) => pattern.test(essence))
    const [, kind, takes, usual] = KINDS[rank]!
    if (kind === null) return []
    const media = document.node(value, where) ?? {}
    const mediaType = usual ?? type.trim()
    if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.-]+)*$/.test(mediaType)) {
      document.refuse(where, `${JSON.stringify(type)} is not a media type`)
    }
    if (kind !== 'form' && kind !== 'multipart')
      return [[rank, { mediaType, kind, takes, fields: [], schema: media.schema }]]
    const whole = wholeOf(document, media.schema, where, new Set())
    const fields = fieldsOf(document, whole, media, where)
    // A file inside allOf would hide behind a reference, so callers get the merged schema.
    const isSplit =
      Array.isArray(document.node(media.schema, where)?.allOf) && fields.some(({ file }) => file !== 'never')
    return [[rank, { mediaType, kind, takes, fields, schema: isSplit ? whole : media.schema }]]
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

/** Whether `other`, which has the same schema, makes `one` superfluous. */
function covers(other: Offered, one: Offered, isBetter: boolean): boolean {
  // Callers cannot write binary formats (CBOR, protobuf) by hand, so text is better.
  if (one.kind === 'bytes' && other.kind !== 'bytes') return true
  if (isPatch(one) || isPatch(other)) return false
  const withFiles = ({ kind, fields }: Offered): boolean => kind === 'multipart' && fields.some(isFile)
  // Of the two kinds of forms, only multipart has files.
  if (withFiles(other) || withFiles(one)) return withFiles(other) && one.kind === 'form'
  if (!isBetter) return false
  return other.kind !== one.kind || other.mediaType === one.mediaType || one.kind === 'json'
}

/** A single type, or one of a list (`[string, "null"]`). */
const hasType = ({ type }: Node, wanted: string): boolean =>
  type === wanted || (Array.isArray(type) && type.includes(wanted))

const isFile = ({ file }: Field): boolean => file === 'always'

// --- fields of forms ---

/** Merged once for all operations that share the schema. */
const WHOLE = new WeakMap<Node, Node>()

/** An object with the properties of all members of its allOf; null: no object, or part of a circle (`seen`). */
function wholeOf(document: Document, value: unknown, where: string, seen: Set<Node>): Node | null {
  const schema = document.node(value, where)
  if (schema === null || seen.has(schema)) return null
  if (!Array.isArray(schema.allOf)) return schema
  const known = WHOLE.get(schema)
  if (known !== undefined) return known
  seen.add(schema)
  document.spend(schema.allOf.length, where)
  const { allOf: _, ...own } = schema
  const parts = [...schema.allOf.map((part) => wholeOf(document, part, where, seen)), own].filter(
    (part) => part !== null
  )
  const properties = Object.fromEntries(
    parts.flatMap((part) => (isNode(part.properties) ? Object.entries(part.properties) : []))
  )
  document.spend(Object.keys(properties).length, where)
  const required = new Set(parts.flatMap((part) => (Array.isArray(part.required) ? part.required : [])))
  const whole = Object.assign(
    {},
    ...parts,
    { properties },
    required.size === 0 ? {} : { required: [...required] }
  ) as Node
  WHOLE.set(schema, whole)
  return whole
}

function fieldsOf(document: Document, schema: Node | null, media: Node, where: string): Field[] {
  const properties = isNode(schema?.properties) ? schema.properties : {}
  const encoding = isNode(media.encoding) ? media.encoding : {}
  const names = new Set([...Object.keys(properties), ...Object.keys(encoding)])
  document.spend(names.size, where)
  return [...names].flatMap((name) => {
    const rules = Object.hasOwn(encoding, name) ? document.node(encoding[name], where) : null
    const own = Object.hasOwn(properties, name) ? document.node(properties[name], where) : null
    const file = fileOf(document, own, where)
    return rules === null && file === 'never' ? [] : [fieldOf(name, rules ?? {}, file)]
  })
}

function fieldOf(name: string, { style, explode, allowReserved, contentType }: Node, file: Field['file']): Field {
  const known = STYLES.query.find((one) => one === style) ?? 'form'
  return {
    ...plainForm(name, 'query'),
    style: known,
    explode: typeof explode === 'boolean' ? explode : known === 'form',
    allowsReserved: allowReserved === true,
    // For a list or a range of types, the caller chooses.
    contentType: typeof contentType === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType : null,
    file
  }
}

/** How deep the schema of one field is searched, through lists and alternatives. */
const DEPTH_MAX = 8

function fileOf(document: Document, schema: Node | null, where: string, depth = 0): Field['file'] {
  if (schema === null || depth > DEPTH_MAX) return 'never'
  const among = (parts: unknown): Field['file'][] => {
    if (!Array.isArray(parts)) return []
    document.spend(parts.length, where)
    const nodes = parts.map((part) => document.node(part, where)).filter((part) => part?.type !== 'null')
    return nodes.map((part) => fileOf(document, part, where, depth + 1))
  }
  // FastAPI writes optional files as anyOf of a file and null. Of a file or something else, the caller chooses.
  const choices = [...among(schema.anyOf), ...among(schema.oneOf)]
  if (choices.includes('always')) return choices.every((one) => one === 'always') ? 'always' : 'allowed'
  if (among(schema.allOf).includes('always')) return 'always'
  if (hasType(schema, 'array')) return fileOf(document, document.node(schema.items, where), where, depth + 1)
  if (schema.type === 'file' || schema.format === 'binary') return 'always'
  // 3.1 marks a file by its contentMediaType, or by an empty schema (OpenAPI 3.1.1 section 4.8.14.4).
  if (typeof schema.contentMediaType === 'string' && schema.contentEncoding === undefined) return 'always'
  if (Object.keys(schema).length === 0) return 'allowed'
  const isPlain = hasType(schema, 'string') && schema.enum === undefined && schema.format === undefined
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

/** The schema of the body: one, or anyOf. `add` is called with each schema that it is made of. */
export function bodySchema(
  writer: SchemaWriter,
  where: string,
  offered: readonly Offered[],
  add: (written: WrittenSchema) => JsonValue
): JsonValue {
  const schemas = new Map<string, JsonValue>()
  for (const one of offered) {
    const written = mediaSchema(writer, where, one)
    const { json } = written
    // A schema that is too large for a tool is not compared either.
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
): WrittenSchema {
  if (kind === 'bytes') return plain({ ...TEXT, contentEncoding: 'base64', contentMediaType: mediaType })
  if (kind === 'text') return plain({ ...TEXT, contentMediaType: mediaType })
  // Documents often declare it as an object, since they share one schema for all kinds of patches.
  if (takes === 'list' && !writer.isList(schema, where)) return plain(JSON_PATCH)
  const files = new Map(fields.filter(({ file }) => file !== 'never').map((field) => [field.name, field]))
  if (kind !== 'multipart' || files.size === 0) return writer.write(schema, where)
  return writer.writeWith(schema, where, (name, own) => {
    const field = files.get(name)
    return field === undefined ? own : fileSchema(own, field)
  })
}

/** A schema without references. */
function plain(json: JsonObject): WrittenSchema {
  return { json, chars: JSON.stringify(json).length, values: 1, uses: new Map() }
}

function fileSchema(own: JsonValue, field: Field): JsonValue {
  const { description, items, anyOf, oneOf } = own as Record<string, JsonValue>
  const { file } = field
  if (hasType(own as JsonObject, 'array')) return { ...(own as JsonObject), items: fileSchema(items ?? {}, field) }
  const choices = anyOf ?? oneOf
  if (file === 'always' && Array.isArray(choices)) {
    const kept = description === undefined ? {} : { description }
    const isNull = (one: JsonValue): boolean => (one as JsonObject).type === 'null'
    return { ...kept, anyOf: choices.map((one) => (isNull(one) ? one : fileSchema(one, field))) }
  }
  const note = description === undefined ? {} : { description }
  return file === 'always' ? { ...FILE, ...note } : { ...note, anyOf: [TEXT, FILE] }
}
