/** Turns the arguments of a tool call into an HTTP request. */

import { isObject, type JsonObject, type JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { chosenMedia, type WrittenBody, writeBody } from './body.ts'
import type { Body, Parameter, Plan } from './plan.ts'
import { ArgumentError, cookieText, headerText, type Place, pathText, queryParts } from './serialize.ts'

/** Clients write the arguments: deeper values could overflow the stack of JSON.stringify. */
const DEPTH_MAX = 64
/** Characters of path and query, and of one header value. */
const TARGET_CHARS_MAX = 16_384
const HEADER_CHARS_MAX = 8192

export interface WrittenRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: Buffer | null
}

const PLACES: ReadonlySet<string> = new Set(['path', 'query', 'header', 'cookie', 'body', 'contentType'])

/** Throws ArgumentError. Adds header arguments to `headers`, and replaces none that is there. */
export function writeRequest(operation: Plan, args: JsonObject, prefix: string, headers: HeaderBlock): WrittenRequest {
  refuseDepth(args, 0)
  for (const key of Object.keys(args)) {
    if (!PLACES.has(key)) throw new ArgumentError(`${named(key)}: arguments are path, query, header, cookie and body`)
  }
  const values = new Arguments(operation.parameters, args)
  const path = prefix + pathOf(operation, values)
  const query = values.of('query').flatMap(([parameter, value]) => queryParts(parameter, value))
  if (path.length + query.join('&').length > TARGET_CHARS_MAX) {
    throw new ArgumentError(`path and query: longer than ${TARGET_CHARS_MAX} characters`)
  }
  for (const [parameter, value] of values.of('header')) {
    const text = bounded(parameter.name, headerText(parameter, value))
    if (!headers.has(parameter.name.toLowerCase())) headers.append(parameter.name, text)
  }
  const cookies = values.of('cookie').map(([parameter, value]) => cookieText(parameter, value))
  if (cookies.length > 0) headers.append('Cookie', bounded('cookie', cookies.join('; ')))
  const written = bodyOf(operation.body, args)
  if (written !== null) headers.set('Content-Type', written.contentType)
  const body = written?.bytes ?? null
  return { method: operation.method, path, query: query.length === 0 ? '' : `?${query.join('&')}`, body }
}

/** The value of each parameter. All required ones are there, and no unknown ones. */
class Arguments {
  readonly #found: [Parameter, JsonValue][] = []

  constructor(parameters: readonly Parameter[], args: JsonObject) {
    for (const place of ['path', 'query', 'header', 'cookie'] as const) {
      const values = objectAt(args, place)
      const known = parameters.filter((parameter) => parameter.place === place)
      for (const name of Object.keys(values)) {
        if (!known.some((parameter) => parameter.name === name)) {
          throw new ArgumentError(`${place}.${named(name)}: the tool has no such parameter`)
        }
      }
      for (const parameter of known) this.#take(parameter, Object.hasOwn(values, parameter.name), values)
    }
  }

  #take(parameter: Parameter, isPresent: boolean, values: JsonObject): void {
    const value = isPresent ? values[parameter.name]! : null
    // Models send null for what they leave out.
    if (value !== null) this.#found.push([parameter, value])
    else if (parameter.isRequired) throw new ArgumentError(`${parameter.place}.${parameter.name}: it is required`)
  }

  of(place: Place): [Parameter, JsonValue][] {
    return this.#found.filter(([parameter]) => parameter.place === place)
  }
}

function objectAt(args: JsonObject, place: Place): JsonObject {
  const value = Object.hasOwn(args, place) ? args[place] : undefined
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw new ArgumentError(`${place}: it must be an object`)
  return value
}

function pathOf({ path }: Plan, values: Arguments): string {
  const byName = new Map(values.of('path').map((entry) => [entry[0].name, entry]))
  const written = path.map((part, i) => {
    if (i % 2 === 0) return part
    const [parameter, value] = byName.get(part)!
    return pathText(parameter, value)
  })
  const text = written.join('')
  // A value cannot be a dot segment; together with the literal text around it, it must not become one either.
  if (text !== path.join('') && /(?:^|\/)\.{1,2}(?:\/|$)/.test(text)) {
    throw new ArgumentError('path: "." and ".." cannot be sent as parts of a path')
  }
  return text
}

function bodyOf(body: Body | null, { body: value, contentType }: JsonObject): WrittenBody | null {
  if (body === null) {
    if (value === undefined || value === null) return null
    throw new ArgumentError('body: the tool has none')
  }
  const media = chosenMedia(body, value, contentType)
  if (value === undefined || (value === null && media.kind !== 'json')) {
    if (body.isRequired) throw new ArgumentError('body: it is required')
    return null
  }
  return writeBody(media, value)
}

function refuseDepth(value: JsonValue, depth: number): void {
  if (depth > DEPTH_MAX) throw new ArgumentError(`arguments: nested deeper than ${DEPTH_MAX}`)
  if (typeof value !== 'object' || value === null) return
  for (const item of Object.values(value)) refuseDepth(item as JsonValue, depth + 1)
}

function bounded(name: string, text: string): string {
  if (text.length <= HEADER_CHARS_MAX) return text
  throw new ArgumentError(`header.${name}: longer than ${HEADER_CHARS_MAX} characters`)
}

function named(key: string): string {
  return JSON.stringify(key.slice(0, 64))
}
