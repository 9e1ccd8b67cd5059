/** One operation of an OpenAPI document as an MCP tool: what a client sees of it, and how a call of it is sent. */
import type { JsonObject, JsonValue } from '#backends/mcp/rpc.ts'
import { type Document, isNode, type Node } from './document.ts'
import { bodySchema, isJson, type Offered, offeredMedia } from './media.ts'
import { toolName } from './name.ts'
import type { Body, Operation, Parameter } from './plan.ts'
import { type Detail, SchemaWriter, shortened } from './schema.ts'
import type { Style } from './serialize.ts'
import { PLACES, plainForm, STYLES } from './styles.ts'

const TITLE_CHARS_MAX = 64
const DESCRIPTION_CHARS_MAX = 4096
/** Of a tool as JSON: some 8,000 tokens of a model's context. Beyond that less is told, and the last is as it is. */
const TOOL_CHARS = 32_768
const TOOL_CHARS_MAX = 262_144
const DETAILS: readonly Detail[] = [
  { descriptionCharsMax: DESCRIPTION_CHARS_MAX, levelsMax: Number.POSITIVE_INFINITY },
  { descriptionCharsMax: 120, levelsMax: Number.POSITIVE_INFINITY },
  { descriptionCharsMax: 80, levelsMax: 5 },
  { descriptionCharsMax: 40, levelsMax: 3 },
  { descriptionCharsMax: 0, levelsMax: 2 }
]

/** Fields that say how a message travels or who sends it: no argument of a tool. */
const FORBIDDEN = new Set([
  ...['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer'],
  ...['upgrade', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'expect', 'cookie'],
  ...['authorization', 'accept', 'accept-encoding', 'via', 'forwarded', 'set-cookie', 'mcp-session-id']
])
const isForbidden = (name: string): boolean => FORBIDDEN.has(name) || name.startsWith('x-forwarded-')

export interface Spot {
  readonly path: string
  readonly method: string
  readonly where: string
  readonly given: Node
  /** What the path says for all its operations. */
  readonly shared: Node
  /** The field of the target's key, lower case. */
  readonly authHeader: string | null
}

interface ReadParameter extends Parameter {
  readonly schema: unknown
  readonly description: unknown
}

interface ReadBody {
  readonly isRequired: boolean
  readonly offered: readonly Offered[]
}

export class OperationReader {
  readonly #document: Document
  readonly #at: Spot
  readonly #skipped: string[]

  /** `skipped` gets what is left out of the operation, and why. */
  constructor(document: Document, at: Spot, skipped: string[]) {
    this.#document = document
    this.#at = at
    this.#skipped = skipped
  }

  /** Throws ConfigError, with the place of what is wrong. `taken`: the names that others have. */
  read(taken: ReadonlyMap<string, unknown>): Operation {
    const { path, method, given } = this.#at
    const parts = this.#pathParts()
    const parameters = this.#parameters(parts.filter((_, i) => i % 2 === 1))
    const body = this.#body()
    const about = textOf(given.description) ?? textOf(given.summary) ?? `${method.toUpperCase()} ${path}`
    const summary = textOf(given.summary)
    const title = summary === null ? {} : { title: summary.slice(0, TITLE_CHARS_MAX).toWellFormed() }
    const note = given.deprecated === true ? 'Deprecated. ' : ''
    const tool = {
      name: toolName(given.operationId, method, path, taken),
      ...title,
      description: shortened(note + about, DESCRIPTION_CHARS_MAX),
      inputSchema: this.#inputSchema(parameters, body),
      annotations: { ...title, ...hintsOf(method) }
    }
    return {
      method: method.toUpperCase(),
      path: parts,
      parameters: parameters.map(({ schema: _, description: __, ...parameter }) => parameter),
      body: body === null ? null : plainBody(body),
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
        if (parameter === null) continue
        if (parameter.place === 'path' && !inPath.includes(parameter.name)) {
          this.#skip(`parameter ${shown(parameter.name)} is not in the path`)
          continue
        }
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
    if (typeof name !== 'string' || name === '') return this.#skip('a parameter has no name')
    if (place === undefined) {
      return this.#skip(`parameter ${shown(name)}: in: ${shown(node.in)} is none of ${PLACES.join(', ')}`)
    }
    const lower = name.toLowerCase()
    if (place === 'header') {
      if (isForbidden(lower) || lower === this.#at.authHeader || !/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) return null
    }
    const content = isNode(node.content) ? Object.entries(node.content)[0] : undefined
    const media = content === undefined ? null : this.#document.node(content[1], `${this.#at.where}.parameters`)
    const plain = plainForm(name, place)
    const style = this.#style(node.style, name, place, plain.style)
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

  #skip(message: string): null {
    this.#skipped.push(`${this.#at.where}: ${message}`)
    return null
  }

  #style(given: unknown, name: string, place: Parameter['place'], usual: Style): Style {
    if (given === undefined) return usual
    const known = STYLES[place].find((one) => one === given)
    return known ?? this.#refuse(`parameter "${name}": there is no style ${JSON.stringify(given)} in ${place}`)
  }

  #body(): ReadBody | null {
    const { given, where } = this.#at
    const request = this.#document.node(given.requestBody, `${where}.requestBody`)
    if (request === null || !isNode(request.content)) return null
    const isRequired = request.required === true
    const offered = offeredMedia(this.#document, request.content, `${where}.requestBody`)
    if (offered.length > 0) return { isRequired, offered }
    return isRequired ? this.#refuse('its body is of no kind that can be written') : null
  }

  /** With as much detail as fits. */
  #inputSchema(parameters: readonly ReadParameter[], body: ReadBody | null): JsonObject {
    let smallest: JsonObject | null = null
    for (const detail of DETAILS) {
      const schema = this.#attempts(parameters, body, detail)
      if (schema === null) continue
      smallest = schema
      if (JSON.stringify(schema).length <= TOOL_CHARS) return schema
    }
    if (smallest !== null && JSON.stringify(smallest).length <= TOOL_CHARS_MAX) return smallest
    this.#refuse('the schema of its arguments is too large for a tool')
  }

  /** Null: too large. */
  #attempts(parameters: readonly ReadParameter[], body: ReadBody | null, detail: Detail): JsonObject | null {
    const attempt = (kept: ReadonlySet<string> | 'all'): { writer: SchemaWriter; schema: JsonObject } => {
      const writer = new SchemaWriter(this.#document, this.#at.where, kept, detail)
      return { writer, schema: inputSchema(writer, parameters, body) }
    }
    const counted = attempt('all')
    if (counted.writer.isTooLarge) return null
    // What is cut is cut by the level of its definition.
    if (Number.isFinite(detail.levelsMax)) return counted.schema
    // What stands where it is used saves little.
    if (JSON.stringify(counted.schema).length > TOOL_CHARS * 1.25) return counted.schema
    const kept = counted.writer.repeated
    const first = attempt(kept)
    // What turns out to be within itself is kept from the start the second time, and so written once.
    const last = first.writer.stayed.size > kept.size ? attempt(first.writer.stayed) : first
    return last.writer.isTooLarge ? counted.schema : last.schema
  }
}

const TEXT = { type: 'string' }

function plainBody({ isRequired, offered }: ReadBody): Body {
  return { isRequired, media: offered.map(({ schema: _, ...media }) => media) }
}

/** Objects path, query, header, cookie and body: parameters of one name in two places stay apart. */
function inputSchema(writer: SchemaWriter, parameters: readonly ReadParameter[], body: ReadBody | null): JsonObject {
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
  if (body !== null) {
    properties.push(['body', bodySchema(writer, body.offered)])
    if (body.offered.length > 1) properties.push(['contentType', contentTypeSchema(body.offered)])
    if (body.isRequired) required.push('body')
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

function contentTypeSchema(offered: readonly Offered[]): JsonObject {
  const description = 'How the body is written. When left out: the first that is for such a value.'
  return { enum: offered.map(({ mediaType }) => mediaType), description }
}

function described(schema: JsonValue, { description }: ReadParameter): JsonValue {
  const text = textOf(description)
  if (text === null || typeof schema !== 'object') return schema
  return { ...(schema as JsonObject), description: shortened(text, DESCRIPTION_CHARS_MAX) }
}

const SHOWN_CHARS_MAX = 64

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, SHOWN_CHARS_MAX)
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
