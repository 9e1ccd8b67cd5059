/** One operation of an OpenAPI document as an MCP tool: its entry in tools/list, and the plan of its requests. */

import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { type ArgumentSchemas, DESCRIPTION_CHARS_MAX, type ReadBody, type ReadParameter, textOf } from './arguments.ts'
import { type Document, isNode, type Node } from './document.ts'
import { isJson, offeredMedia } from './media.ts'
import { toolName } from './name.ts'
import type { Body, Operation, Parameter } from './plan.ts'
import { shortened } from './schema.ts'
import type { Style } from './serialize.ts'
import { PLACES, plainForm, STYLES } from './styles.ts'

const TITLE_CHARS_MAX = 64
/** Characters that are read of names and texts, which may be of any length. */
const READ_CHARS_MAX = 2 * DESCRIPTION_CHARS_MAX
/** Reading a parameter costs as much as this many schema values. */
const PARAMETER_STEPS = 3
/** Longer paths do not fit into a request. */
const PATH_CHARS_MAX = 8192

/** Fields of the message itself or of its sender, never arguments of a tool. */
const FORBIDDEN = new Set([
  ...['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer'],
  ...['upgrade', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'expect', 'cookie'],
  ...['authorization', 'accept', 'accept-encoding', 'via', 'forwarded', 'set-cookie', 'mcp-session-id']
])
const isForbidden = (name: string): boolean => FORBIDDEN.has(name) || name.startsWith('x-forwarded-')

export interface OperationPlace {
  readonly path: string
  readonly method: string
  readonly where: string
  readonly operation: Node
  /** The path item, whose parameters apply to all its operations. */
  readonly shared: Node
  /** Header name of the target's key, lower case. */
  readonly authHeader: string | null
}

export class OperationReader {
  readonly #document: Document
  readonly #at: OperationPlace
  readonly #schemas: ArgumentSchemas
  readonly #skipped: (what: string) => void

  /** `skipped` is called for each part that is left out of the tool, with the reason. */
  constructor(document: Document, at: OperationPlace, schemas: ArgumentSchemas, skipped: (what: string) => void) {
    this.#document = document
    this.#at = at
    this.#schemas = schemas
    this.#skipped = skipped
  }

  /** Throws ConfigError, with the place of the problem. `taken`: names of other tools. */
  read(taken: ReadonlyMap<string, unknown>): Operation {
    const { path, method, operation, where } = this.#at
    const parts = this.#pathParts()
    const parameters = this.#parameters(parts.filter((_, i) => i % 2 === 1))
    const body = this.#body()
    const about = textOf(operation.description) ?? textOf(operation.summary) ?? `${method.toUpperCase()} ${path}`
    const summary = textOf(operation.summary)
    const title = summary === null ? {} : { title: summary.slice(0, TITLE_CHARS_MAX).toWellFormed() }
    const note = operation.deprecated === true ? 'Deprecated. ' : ''
    const tool = {
      name: toolName(operation.operationId, method, path, taken),
      ...title,
      description: shortened(note + about.slice(0, READ_CHARS_MAX), DESCRIPTION_CHARS_MAX),
      inputSchema: this.#schemas.of(parameters, body, where),
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
    if (path.length > PATH_CHARS_MAX) this.#refuse(`a path has at most ${PATH_CHARS_MAX} characters`)
    if (!/^\/[^?#\s]*$/.test(path)) {
      this.#refuse('a path begins with "/" and has neither query nor fragment nor blanks')
    }
    const parts = path.toWellFormed().split(/\{([^{}]*)\}/)
    // Text between parameters is sent as it is.
    return parts.map((part, i) => (i % 2 === 1 ? part : part.replace(/[^!$&'()*+,\-./:;=@\w~%]/gu, encodeURIComponent)))
  }

  #refuse(message: string): never {
    this.#document.refuse(this.#at.where, message)
  }

  /** Parameters of the operation override those of its path. Path parameters without a description are strings. */
  #parameters(inPath: readonly string[]): ReadParameter[] {
    const { operation, shared, where } = this.#at
    const names = new Set(inPath)
    const found = new Map<string, ReadParameter>()
    for (const list of [operation.parameters, shared.parameters]) {
      for (const item of Array.isArray(list) ? list : []) {
        const node = this.#document.node(item, `${where}.parameters`)
        this.#document.spend(PARAMETER_STEPS, where)
        const parameter = node === null ? null : this.#parameter(node)
        if (parameter === null) continue
        if (parameter.place === 'path' && !names.has(parameter.name)) {
          this.#skip(`parameter ${shown(parameter.name)} is not in the path`)
          continue
        }
        const key = `${parameter.place} ${parameter.name}`
        if (!found.has(key)) found.set(key, parameter)
      }
    }
    for (const name of names) {
      if (found.has(`path ${name}`)) continue
      found.set(`path ${name}`, { ...plainForm(name, 'path'), isRequired: true, schema: TEXT, description: null })
    }
    return [...found.values()]
  }

  /** Null: not an argument of a tool. */
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
    const all = isNode(node.content) ? Object.entries(node.content) : []
    this.#document.spend(all.length, this.#at.where)
    const [content] = all
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
    this.#skipped(message)
    return null
  }

  #style(value: unknown, name: string, place: Parameter['place'], usual: Style): Style {
    if (value === undefined) return usual
    const known = STYLES[place].find((one) => one === value)
    return known ?? this.#refuse(`parameter ${shown(name)}: there is no style ${shown(value)} in ${place}`)
  }

  #body(): ReadBody | null {
    const { operation, where } = this.#at
    const request = this.#document.node(operation.requestBody, `${where}.requestBody`)
    if (request === null || !isNode(request.content)) return null
    const isRequired = request.required === true
    const offered = offeredMedia(this.#document, request.content, `${where}.requestBody`)
    if (offered.length > 0) return { isRequired, offered }
    return isRequired ? this.#refuse('its body is of no kind that can be written') : null
  }
}

const TEXT = { type: 'string' }

function plainBody({ isRequired, offered }: ReadBody): Body {
  return { isRequired, media: offered.map(({ schema: _, ...media }) => media) }
}

const SHOWN_CHARS_MAX = 64

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value.slice(0, SHOWN_CHARS_MAX) : value
  return (JSON.stringify(text) ?? 'nothing').slice(0, SHOWN_CHARS_MAX)
}

function hintsOf(method: string): JsonObject {
  if (method === 'get' || method === 'head' || method === 'options') return { readOnlyHint: true }
  if (method === 'put' || method === 'delete')
    return { readOnlyHint: false, destructiveHint: true, idempotentHint: true }
  return { readOnlyHint: false }
}
