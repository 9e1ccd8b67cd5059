/** The operations of an OpenAPI document as MCP tools: what a client sees of each, and how a call of it is sent. */
import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue } from '#backends/mcp/rpc.ts'
import { type Document, isNode, type Node } from './document.ts'
import { SchemaWriter } from './schema.ts'
import type { Form, Place, Style } from './serialize.ts'

export interface Parameter extends Form {
  readonly isRequired: boolean
}

export interface Body {
  readonly mediaType: string
  readonly kind: 'json' | 'form' | 'text' | 'bytes'
  readonly isRequired: boolean
  /** Forms: how a field is written, by its name; others as OpenAPI's defaults say. */
  readonly fields: ReadonlyMap<string, Form>
}

export interface Operation {
  readonly method: string
  /** Literal text and names of parameters in turns, beginning and ending with text. */
  readonly path: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly body: Body | null
  /** As tools/list shows it. */
  readonly tool: JsonObject & { readonly name: string }
}

export interface Operations {
  readonly byName: ReadonlyMap<string, Operation>
  /** What has become no tool, and why. */
  readonly skipped: readonly string[]
}

export const OPERATIONS_MAX = 1000
/** MCP 2025-11-25, server/tools: 1 to 128 characters. */
const NAME_CHARS_MAX = 128
const TITLE_CHARS_MAX = 64
const DESCRIPTION_CHARS_MAX = 4096
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const PLACES: readonly Place[] = ['path', 'query', 'header', 'cookie']
const STYLES: Readonly<Record<Place, readonly Style[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form']
}
/** Fields that say how a message travels or who sends it: no argument of a tool. */
const FORBIDDEN = new Set([
  ...['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer'],
  ...['upgrade', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'expect', 'cookie'],
  ...['authorization', 'accept', 'accept-encoding', 'via', 'forwarded', 'set-cookie', 'mcp-session-id']
])
const isForbidden = (name: string): boolean => FORBIDDEN.has(name) || name.startsWith('x-forwarded-')

/** Throws ConfigError, with the place of what is wrong. `authHeader`: the field of the target's key, lower case. */
export function readOperations(document: Document, authHeader: string | null): Operations {
  const byName = new Map<string, Operation>()
  const skipped: string[] = []
  const paths = document.root.paths
  for (const [path, item] of Object.entries(isNode(paths) ? paths : {})) {
    if (path.startsWith('x-')) continue
    const shared = document.node(item, `paths["${path}"]`)
    for (const method of shared === null ? [] : METHODS) {
      const where = `paths["${path}"].${method}`
      const given = document.node(shared![method], where)
      if (given === null) continue
      if (byName.size >= OPERATIONS_MAX) document.refuse('paths', `more than ${OPERATIONS_MAX} operations`)
      const reader = new OperationReader(document, { path, method, where, given, shared: shared!, authHeader })
      const operation = reader.read(byName)
      if (operation === null) skipped.push(`${where}: its body is of no kind that can be written`)
      else byName.set(operation.tool.name, operation)
    }
  }
  return { byName, skipped }
}

interface Spot {
  readonly path: string
  readonly method: string
  readonly where: string
  readonly given: Node
  readonly shared: Node
  readonly authHeader: string | null
}

interface ReadParameter extends Parameter {
  readonly schema: unknown
  readonly description: unknown
}

class OperationReader {
  readonly #document: Document
  readonly #at: Spot

  constructor(document: Document, at: Spot) {
    this.#document = document
    this.#at = at
  }

  read(taken: ReadonlyMap<string, unknown>): Operation | null {
    const { path, method, given } = this.#at
    const parts = this.#pathParts()
    const parameters = this.#parameters(parts.filter((_, i) => i % 2 === 1))
    const media = this.#media()
    if (media === 'unknown') return null
    const name = nameOf(given.operationId, method, path, taken)
    const about = textOf(given.description) ?? textOf(given.summary) ?? `${method.toUpperCase()} ${path}`
    const summary = textOf(given.summary)
    const title = summary === null ? {} : { title: summary.slice(0, TITLE_CHARS_MAX).toWellFormed() }
    const note = given.deprecated === true ? 'Deprecated. ' : ''
    const tool = {
      name,
      ...title,
      description: (note + about).slice(0, DESCRIPTION_CHARS_MAX).toWellFormed(),
      inputSchema: this.#inputSchema(parameters, media),
      annotations: { ...title, ...hintsOf(method) }
    }
    return {
      method: method.toUpperCase(),
      path: parts,
      parameters: parameters.map(({ schema: _, description: __, ...parameter }) => parameter),
      body: media?.body ?? null,
      tool
    }
  }

  #pathParts(): string[] {
    const { path } = this.#at
    if (!/^\/[^?#\s]*$/.test(path)) {
      this.#refuse('a path begins with "/" and has neither query nor fragment nor blanks')
    }
    const parts = path.toWellFormed().split(/\{([^{}]*)\}/)
    // Whatever stands between the parameters is sent as it is.
    return parts.map((part, i) => (i % 2 === 1 ? part : part.replace(/[^!$&'()*+,\-./:;=@\w~%]/gu, encodeURIComponent)))
  }

  #refuse(message: string): never {
    this.#document.refuse(this.#at.where, message)
  }

  /** Those of the operation before those of its path; names in the path that nobody describes are text. */
  #parameters(inPath: readonly string[]): ReadParameter[] {
    const { given, shared, where } = this.#at
    const found = new Map<string, ReadParameter>()
    for (const list of [given.parameters, shared.parameters]) {
      for (const item of Array.isArray(list) ? list : []) {
        const node = this.#document.node(item, `${where}.parameters`)
        const parameter = node === null ? null : this.#parameter(node)
        if (parameter === null || (parameter.place === 'path' && !inPath.includes(parameter.name))) continue
        const key = `${parameter.place} ${parameter.name}`
        if (!found.has(key)) found.set(key, parameter)
      }
    }
    for (const name of inPath) {
      if (found.has(`path ${name}`)) continue
      found.set(`path ${name}`, { ...plainForm(name, 'path'), isRequired: true, schema: TEXT, description: null })
    }
    return [...found.values()]
  }

  /** Null: none that a tool may have. */
  #parameter(node: Node): ReadParameter | null {
    const { name } = node
    const place = PLACES.find((known) => known === node.in)
    if (typeof name !== 'string' || name === '' || place === undefined) return null
    const lower = name.toLowerCase()
    if (place === 'header') {
      if (isForbidden(lower) || lower === this.#at.authHeader || !/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) return null
    }
    const content = isNode(node.content) ? Object.entries(node.content)[0] : undefined
    const media = content === undefined ? null : this.#document.node(content[1], `${this.#at.where}.parameters`)
    const plain = plainForm(name, place)
    const style = this.#style(node.style, plain)
    return {
      ...plain,
      style,
      explode: typeof node.explode === 'boolean' ? node.explode : style === 'form',
      allowsReserved: node.allowReserved === true,
      isJson: content !== undefined && isJson(content[0]),
      isRequired: node.required === true || place === 'path',
      schema: media === null ? node.schema : media.schema,
      description: node.description
    }
  }

  #style(given: unknown, { name, place, style }: Form): Style {
    if (given === undefined) return style
    const known = STYLES[place].find((one) => one === given)
    return known ?? this.#refuse(`parameter "${name}": there is no style ${JSON.stringify(given)} in ${place}`)
  }

  /** 'unknown': it needs one that cannot be written here. */
  #media(): { readonly body: Body; readonly schema: unknown } | null | 'unknown' {
    const { given, where } = this.#at
    const request = this.#document.node(given.requestBody, `${where}.requestBody`)
    if (request === null || !isNode(request.content)) return null
    const isRequired = request.required === true
    const kinds = Object.keys(request.content).map((type) => [bodyKind(type), type] as const)
    const [kind, type] = BODY_KINDS.flatMap((wanted) => kinds.filter(([one]) => one === wanted))[0] ?? [null, '']
    if (kind === null) return isRequired ? 'unknown' : null
    const media = this.#document.node(request.content[type], `${where}.requestBody`) ?? {}
    // A range of types is no type: what is written is the usual one of its kind.
    const mediaType = type.includes('*') ? USUAL[kind] : type
    if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.-]+)*$/.test(mediaType)) {
      this.#document.refuse(`${where}.requestBody`, `${JSON.stringify(type)} is not a media type`)
    }
    const fields = new Map<string, Form>()
    if (isNode(media.encoding)) {
      for (const [name, given] of Object.entries(media.encoding))
        if (isNode(given)) fields.set(name, fieldForm(name, given))
    }
    return { body: { mediaType, kind, isRequired, fields }, schema: media.schema }
  }

  #inputSchema(parameters: readonly ReadParameter[], media: { body: Body; schema: unknown } | null): JsonObject {
    const attempt = (kept: ReadonlySet<string> | 'all'): { writer: SchemaWriter; schema: JsonObject } => {
      const writer = new SchemaWriter(this.#document, this.#at.where, kept)
      return { writer, schema: inputSchema(writer, parameters, media) }
    }
    const first = attempt(new Set())
    const { stayed, isTooLarge } = first.writer
    // What turns out to be within itself is kept from the start the second time, and so written once.
    const second = isTooLarge || stayed.size === 0 ? first : attempt(stayed)
    const last = second.writer.isTooLarge ? attempt('all') : second
    if (!last.writer.isTooLarge) return last.schema
    this.#refuse('the schema of its arguments is too large for a tool')
  }
}

const TEXT = { type: 'string' }

/** Objects path, query, header, cookie and body: parameters of one name in two places stay apart. */
function inputSchema(
  writer: SchemaWriter,
  parameters: readonly ReadParameter[],
  media: { readonly body: Body; readonly schema: unknown } | null
): JsonObject {
  const properties: [string, JsonValue][] = []
  const required: string[] = []
  for (const place of PLACES) {
    const here = parameters.filter((parameter) => parameter.place === place)
    if (here.length === 0) continue
    const needed = here.filter(({ isRequired }) => isRequired).map(({ name }) => name)
    properties.push([
      place,
      {
        type: 'object',
        properties: Object.fromEntries(here.map((one) => [one.name, described(writer.write(one.schema), one)])),
        ...(needed.length === 0 ? {} : { required: needed }),
        additionalProperties: false
      }
    ])
    if (needed.length > 0) required.push(place)
  }
  if (media !== null) {
    properties.push(['body', bodySchema(writer, media)])
    if (media.body.isRequired) required.push('body')
  }
  const definitions = writer.definitions()
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(definitions === null ? {} : { $defs: definitions })
  }
}

function described(schema: JsonValue, { description }: ReadParameter): JsonValue {
  const text = textOf(description)
  if (text === null || typeof schema !== 'object') return schema
  return { ...(schema as JsonObject), description: text.slice(0, DESCRIPTION_CHARS_MAX).toWellFormed() }
}

function bodySchema(
  writer: SchemaWriter,
  { body, schema }: { readonly body: Body; readonly schema: unknown }
): JsonValue {
  if (body.kind === 'bytes') return { ...TEXT, contentEncoding: 'base64', contentMediaType: body.mediaType }
  if (body.kind === 'text') return { ...TEXT, contentMediaType: body.mediaType }
  return writer.write(schema)
}

// --- small facts ---

const BODY_KINDS = ['json', 'form', 'text', 'bytes'] as const
const USUAL = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain',
  bytes: 'application/octet-stream'
} as const

export const isJson = (type: string): boolean => /^(?:application|text)\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)

/** Null: bodies of several parts, which nobody can write from one value. */
function bodyKind(type: string): Body['kind'] | null {
  const lower = type.toLowerCase()
  if (isJson(lower) || lower === '*/*' || lower === 'application/*') return 'json'
  if (lower.startsWith(USUAL.form)) return 'form'
  if (lower.startsWith('multipart/')) return null
  return lower.startsWith('text/') || /^application\/(?:[\w.-]+\+)?(?:xml|yaml)\b/.test(lower) ? 'text' : 'bytes'
}

export function plainForm(name: string, place: Place): Form {
  const style = place === 'query' || place === 'cookie' ? 'form' : 'simple'
  return { name, place, style, explode: style === 'form', allowsReserved: false, isJson: false }
}

function fieldForm(name: string, { style, explode, allowReserved }: Node): Form {
  const known = STYLES.query.find((one) => one === style) ?? 'form'
  return {
    ...plainForm(name, 'query'),
    style: known,
    explode: typeof explode === 'boolean' ? explode : known === 'form',
    allowsReserved: allowReserved === true
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null
}

function hintsOf(method: string): JsonObject {
  if (method === 'get' || method === 'head' || method === 'options') return { readOnlyHint: true }
  if (method === 'put' || method === 'delete')
    return { readOnlyHint: false, destructiveHint: true, idempotentHint: true }
  return { readOnlyHint: false }
}

/** The operationId; else METHOD_path. A name that is taken gets what identifies the operation, not a number. */
function nameOf(id: unknown, method: string, path: string, taken: ReadonlyMap<string, unknown>): string {
  const said = textOf(id) ?? `${method.toUpperCase()}${path}`
  const clean = said.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+|_+$/g, '') || method
  if (clean.length <= NAME_CHARS_MAX && !taken.has(clean)) return clean
  const digest = createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, 8)
  return `${clean.slice(0, NAME_CHARS_MAX - 9)}_${digest}`
}
