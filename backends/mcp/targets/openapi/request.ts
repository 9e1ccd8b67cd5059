/** Arguments of a tool as the request that they ask for. */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { chosenMedia, type WrittenBody, writeBody } from './body.ts'
import type { Body, Parameter, Plan } from './plan.ts'
import { ArgumentError, cookieText, headerText, type Place, pathText, queryParts } from './serialize.ts'

/** Arguments are a client's: what is deeper than this could not be written as JSON on every stack. */
const DEPTH_MAX = 64
/** Path and query, and one header value. */
const TARGET_CHARS_MAX = 16_384
const HEADER_CHARS_MAX = 8192

export interface Written {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: Buffer | null
}

const PLACES: ReadonlySet<string> = new Set(['path', 'query', 'header', 'cookie', 'body', 'contentType'])

/** Throws ArgumentError. Fields of arguments are added to `headers`, and replace none. */
export function writeRequest(operation: Plan, given: JsonObject, prefix: string, headers: HeaderBlock): Written {
  refuseDepth(given, 0)
  for (const key of Object.keys(given)) {
    if (!PLACES.has(key)) throw new ArgumentError(`${named(key)}: arguments are path, query, header, cookie and body`)
  }
  const values = new Arguments(operation.parameters, given)
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
  const written = bodyOf(operation.body, given)
  if (written !== null) headers.set('Content-Type', written.contentType)
  const body = written?.bytes ?? null
  return { method: operation.method, path, query: query.length === 0 ? '' : `?${query.join('&')}`, body }
}

/** What was given for each parameter; everything that is required is there, and nothing else. */
class Arguments {
  readonly #found: [Parameter, JsonValue][] = []

  constructor(parameters: readonly Parameter[], given: JsonObject) {
    for (const place of ['path', 'query', 'header', 'cookie'] as const) {
      const values = objectAt(given, place)
      const known = parameters.filter((parameter) => parameter.place === place)
      for (const name of Object.keys(values)) {
        if (!known.some((parameter) => parameter.name === name)) {
          throw new ArgumentError(`${place}.${named(name)}: the tool has no such parameter`)
        }
      }
      for (const parameter of known) this.#take(parameter, Object.hasOwn(values, parameter.name), values)
    }
  }

  #take(parameter: Parameter, isGiven: boolean, values: JsonObject): void {
    const value = isGiven ? values[parameter.name]! : null
    // Null is how models leave out what they have nothing to say to.
    if (value !== null) this.#found.push([parameter, value])
    else if (parameter.isRequired) throw new ArgumentError(`${parameter.place}.${parameter.name}: it is required`)
  }

  of(place: Place): [Parameter, JsonValue][] {
    return this.#found.filter(([parameter]) => parameter.place === place)
  }
}

function objectAt(given: JsonObject, place: Place): JsonObject {
  const value = Object.hasOwn(given, place) ? given[place] : undefined
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw new ArgumentError(`${place}: it must be an object`)
  return value as JsonObject
}

function pathOf({ path }: Plan, values: Arguments): string {
  const given = new Map(values.of('path').map((entry) => [entry[0].name, entry]))
  const written = path.map((part, i) => {
    if (i % 2 === 0) return part
    const [parameter, value] = given.get(part)!
    return pathText(parameter, value)
  })
  const text = written.join('')
  // Values are whole segments or stand beside literal text: neither may add up to a step upwards.
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
