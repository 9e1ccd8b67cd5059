/** One operation of an OpenAPI document as an MCP tool: what a client sees of it, and how a call of it is sent. */

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
/** What is looked at of names and texts, which may be of any length. */
const READ_CHARS_MAX = 2 * DESCRIPTION_CHARS_MAX
/** Reading one costs as much as writing so many values. */
const PARAMETER_STEPS = 3
/** What is beyond has no room in a request. */
const PATH_CHARS_MAX = 8192

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

export class OperationReader {
  readonly #document: Document
  readonly #at: Spot
  readonly #schemas: ArgumentSchemas
  readonly #skipped: (what: string) => void

  /** `skipped` is told what is left out of the operation, and why. */
  constructor(document: Document, at: Spot, schemas: ArgumentSchemas, skipped: (what: string) => void) {
    this.#document = document
    this.#at = at
    this.#schemas = schemas
    this.#skipped = skipped
  }

  /** Throws ConfigError, with the place of what is wrong. `taken`: the names that others have. */
  read(taken: ReadonlyMap<string, unknown>): Operation {
    const { path, method, given, where } = this.#at
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
    // Whatever stands between the parameters is sent as it is.
    return parts.map((part, i) => (i % 2 === 1 ? part : part.replace(/[^!$&'()*+,\-./:;=@\w~%]/gu, encodeURIComponent)))
  }

  #refuse(message: string): never {
    this.#document.refuse(this.#at.where, message)
  }

  /** Those of the operation before those of its path; names in the path that nobody describes are text. */
  #parameters(inPath: readonly string[]): ReadParameter[] {
    const { given, shared, where } = this.#at
    const names = new Set(inPath)
    const found = new Map<string, ReadParameter>()
    for (const list of [given.parameters, shared.parameters]) {
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

  #style(given: unknown, name: string, place: Parameter['place'], usual: Style): Style {
    if (given === undefined) return usual
    const known = STYLES[place].find((one) => one === given)
    return known ?? this.#refuse(`parameter ${shown(name)}: there is no style ${shown(given)} in ${place}`)
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
