/**
 * Reading JSON of a known format: each field is read by type, wrong ones are reported with their path, and fields
 * that were not read are left over.
 */

import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { parseJson } from '#engine/kit/json.ts'
import { FormatError } from './format.ts'

/** An object that is being written. */
export type Writable = { [name: string]: Json }

export function isString(value: Json | undefined): value is string {
  return typeof value === 'string'
}

export const isJson = (text: string): boolean => parseJson(text) !== undefined

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object at `path` ("" for the body). Null and absent fields are the same, as they are for all providers. */
export class Fields {
  readonly value: JsonObject
  /** Objects have few fields: to search a list of their names is cheaper than to keep a set. */
  readonly #readNames: string[] = []
  readonly #outer: Fields | null
  readonly #place: string

  /** `place`: the path; where there is an `outer`, the path in it. */
  constructor(value: JsonObject, place: string, outer: Fields | null = null) {
    this.value = value
    this.#place = place
    this.#outer = outer
  }

  /** Made when it is read: of most objects it never is. */
  get path(): string {
    return this.#outer === null ? this.#place : this.#outer.at(this.#place)
  }

  /** `value` as an object at `path`; throws when it is none. */
  static of(value: Json | undefined, path: string): Fields {
    if (isObject(value)) return new Fields(value, path)
    throw new FormatError(path, 'must be an object')
  }

  at(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`
  }

  /** Any value; null when it is absent. */
  any(name: string): Json {
    this.#readNames.push(name)
    return this.value[name] ?? null
  }

  string(name: string): string {
    return this.optionalString(name) ?? this.#missing(name, 'a string')
  }

  optionalString(name: string): string | null {
    const value = this.any(name)
    if (value === null || typeof value === 'string') return value
    throw new FormatError(this.at(name), 'must be a string')
  }

  /** For names and ids of answers, which some servers number; null when it says none. */
  label(name: string): string | null {
    const value = this.any(name)
    if (typeof value === 'number') return String(value)
    return typeof value === 'string' ? value : null
  }

  /** Of an answer, where another type says nothing: null, or the text. */
  text(name: string): string | null {
    const value = this.any(name)
    return typeof value === 'string' ? value : null
  }

  optionalNumber(name: string): number | null {
    const value = this.any(name)
    if (value === null || typeof value === 'number') return value
    throw new FormatError(this.at(name), 'must be a number')
  }

  /** 0 when it is absent: for counts. */
  count(name: string): number {
    return this.optionalNumber(name) ?? 0
  }

  optionalBoolean(name: string): boolean | null {
    const value = this.any(name)
    if (value === null || typeof value === 'boolean') return value
    throw new FormatError(this.at(name), 'must be true or false')
  }

  /** Of the listed words; null when it is absent. */
  optionalWord<T extends string>(name: string, words: readonly T[]): T | null {
    const value = this.optionalString(name)
    if (value === null || (words as readonly string[]).includes(value)) return value as T | null
    throw new FormatError(this.at(name), `must be one of ${words.join(', ')}`)
  }

  object(name: string): Fields {
    return this.optionalObject(name) ?? this.#missing(name, 'an object')
  }

  optionalObject(name: string): Fields | null {
    const value = this.any(name)
    if (value === null) return null
    if (isObject(value)) return new Fields(value, name, this)
    throw new FormatError(this.at(name), 'must be an object')
  }

  list(name: string): readonly Json[] {
    return this.optionalList(name) ?? this.#missing(name, 'a list')
  }

  optionalList(name: string): readonly Json[] | null {
    const value = this.any(name)
    if (value === null || Array.isArray(value)) return value as readonly Json[] | null
    throw new FormatError(this.at(name), 'must be a list')
  }

  /** The strings of a list, [] when it is absent. */
  strings(name: string): string[] {
    return (this.optionalList(name) ?? []).map((item, i) => {
      if (typeof item === 'string') return item
      throw new FormatError(`${this.at(name)}[${i}]`, 'must be a string')
    })
  }

  /** An object of strings; null when it is absent. */
  optionalStrings(name: string): { readonly [key: string]: string } | null {
    const object = this.optionalObject(name)
    if (object === null) return null
    for (const [key, value] of Object.entries(object.value)) {
      if (typeof value !== 'string') throw new FormatError(object.at(key), 'must be a string')
    }
    return object.value as { readonly [key: string]: string }
  }

  /** The objects of a list, [] when it is absent. */
  objects(name: string): Fields[] {
    return (this.optionalList(name) ?? []).map((item, i) => {
      if (isObject(item)) return new Fields(item, `${name}[${i}]`, this)
      throw new FormatError(`${this.at(name)}[${i}]`, 'must be an object')
    })
  }

  /** Adds fields that were not read to `unknown`, by path (unknown-fields.ts). Null means absent, and is left out. */
  leaveUnknown(unknown: Map<string, Json>): void {
    for (const name of Object.keys(this.value)) {
      const value = this.value[name]!
      if (value !== null && !this.#readNames.includes(name)) unknown.set(memberPath(this.path, name), value)
    }
  }

  #missing(name: string, what: string): never {
    throw new FormatError(this.at(name), `is required, and must be ${what}`)
  }
}

const AMBIGUOUS = /^$|[.[\]"]/

/** The path of a member: a name with signs of a path in it is quoted. */
export function memberPath(path: string, name: string): string {
  if (AMBIGUOUS.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}

/**
 * Arguments of a call as JSON text, null when they are none; of servers that give the object itself (Ollama's own API,
 * and what stands in front of it), as that prints.
 */
export function argumentsOf(value: Json | undefined): string | null {
  if (isObject(value) || Array.isArray(value)) return JSON.stringify(value)
  return typeof value === 'string' ? value : (value ?? null) === null ? '' : null
}

/** Entries whose value is not null: for writers, whose optional fields are absent when there is nothing to say. */
export function compact(entries: { readonly [name: string]: Json | undefined }): Writable {
  const result: Writable = {}
  for (const [name, value] of Object.entries(entries)) if (value !== null && value !== undefined) result[name] = value
  return result
}

/** JSON text of what stands at `path`. Printing recurses: what is too deep for it is the sender's error. */
export function jsonText(value: Json, path: string): string {
  try {
    return JSON.stringify(value)
  } catch {
    throw new FormatError(path, 'is nested too deeply')
  }
}

/** The object that the data of a stream's event is. */
export function parsedObject(data: string): JsonObject {
  const value = parseJson(data) as Json | undefined
  if (value === undefined) throw new FormatError('', 'is not JSON')
  if (!isObject(value)) throw new FormatError('', 'must be an object')
  return value
}
