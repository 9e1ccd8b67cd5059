/** Views of header maps, cookies and query strings. */

import { CelError } from '#engine/cel/errors.ts'
import { type Declared, LIST, MAP, method, STRING } from '#engine/cel/functions.ts'
import { entryOf, isList, keysOf } from '#engine/cel/maps.ts'
import { Fields, type Value } from '#engine/cel/values.ts'
import { VISIT_BITS, visit } from '#engine/cel/walk.ts'
import { isSensitive, REDACTED } from '#engine/kit/sensitive.ts'

/** The map with another way to read its entries. */
class View extends Fields {
  readonly #map: Value
  readonly #read: (value: Value, key: string) => Value

  constructor(map: Value, read: (value: Value, key: string) => Value) {
    super()
    this.#map = map
    this.#read = read
  }

  get(key: string): Value | undefined {
    const value = entryOf(this.#map, key)
    if (value !== undefined) visit(listOf(value).length)
    return value === undefined ? undefined : this.#read(value, key)
  }

  keys(): Iterable<string> {
    return (keysOf(this.#map) ?? []).map(String)
  }
}

function listOf(value: Value): readonly Value[] {
  return isList(value) ? value : [value]
}

/** RFC 9110 section 5.3: the lines of one field are one list. */
function joined(value: Value): Value {
  return isList(value) ? value.map(String).join(', ') : value
}

function splitted(value: Value): Value {
  return listOf(value).flatMap((line) => {
    const parts = String(line).split(',')
    visit(parts.length)
    return parts.map((part) => part.trim())
  })
}

/** The first cookie of this name in the request headers (RFC 6265 section 5.4). */
function cookie(headers: Value, name: string): Value {
  for (const line of listOf(entryOf(headers, 'cookie') ?? [])) {
    visit(1 + (String(line).length >> VISIT_BITS))
    for (const pair of String(line).split(';')) {
      const sign = pair.indexOf('=')
      if (sign > 0 && pair.slice(0, sign).trim() === name) return pair.slice(sign + 1).trim()
    }
  }
  return new CelError('noSuchKey', `no such cookie: ${name}`)
}

/** All values of a name in the query of a URI or path. */
function query(uri: string, name: string): string[] {
  return queryOf(uri).getAll(name)
}

function queryOf(uri: string): URLSearchParams {
  const sign = uri.indexOf('?')
  return new URLSearchParams(sign < 0 ? '' : uri.slice(sign + 1).replace(/#.*$/s, ''))
}

function add(params: URLSearchParams, name: string, value: string): URLSearchParams {
  params.append(name, value)
  return params
}

/** As URLSearchParams.set, which moves all that follows for each of the others that it removes. */
function set(params: URLSearchParams, name: string, value: string): URLSearchParams {
  const kept = new URLSearchParams()
  let isSet = false
  for (const [other, before] of params) {
    if (other !== name) kept.append(other, before)
    else if (!isSet) {
      kept.append(name, value)
      isSet = true
    }
  }
  if (!isSet) kept.append(name, value)
  return kept
}

function withQuery(uri: string, change: (query: URLSearchParams) => URLSearchParams): string {
  const params = change(queryOf(uri))
  const text = params.toString()
  const path = uri.replace(/[?#].*$/s, '')
  return text === '' ? path : `${path}?${text}`
}

export const HTTP: readonly Declared[] = [
  method('redacted', [MAP], MAP, (map) => new View(map, (value, key) => (isSensitive(key) ? REDACTED : value)), {
    isConstant: true
  }),
  method('join', [MAP], MAP, (map) => new View(map, joined), { isConstant: true }),
  method('raw', [MAP], MAP, (map) => new View(map, listOf), { isConstant: true }),
  method('split', [MAP], MAP, (map) => new View(map, splitted), { isConstant: true }),
  method('cookie', [MAP, STRING], STRING, cookie),
  method('query', [STRING, STRING], LIST, query),
  method('addQuery', [STRING, STRING, STRING], STRING, (uri, name, value) => {
    return withQuery(uri, (params) => add(params, name, value))
  }),
  method('setQuery', [STRING, STRING, STRING], STRING, (uri, name, value) => {
    return withQuery(uri, (params) => set(params, name, value))
  })
]
