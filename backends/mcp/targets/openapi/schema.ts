/**
 * Schemas of an OpenAPI document as the JSON Schema 2020-12 that MCP tools have (revision 2025-11-25, server/tools).
 * Each is written once for all tools, and what it refers to stays a reference: a document costs what it is long,
 * however many operations have the same schemas. arguments.ts makes tools of them.
 */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { ConfigError } from '#engine/contract/config-error.ts'
import { type Document, isNode, type Node } from './document.ts'

/** Values of one schema without what it refers to: more is no part of any tool. */
const VALUES_MAX = 30_000
const DEPTH_MAX = 64

/** How much of the document a tool tells; the first that makes it small enough is taken. */
export interface Detail {
  /** Of one description within a schema. */
  readonly descriptionCharsMax: number
  /** Of one value that only helps (an enumeration, a default, an example), as JSON: longer ones are left out. */
  readonly valueCharsMax: number
  /** References that are followed one from another; beyond, a schema says its type only. */
  readonly levelsMax: number
}

/** A schema as tools have it, its references as `#/$defs/NAME`. */
export interface Written {
  readonly json: JsonValue
  /** Of the JSON text; Infinity: it is part of no tool. */
  readonly chars: number
  readonly values: number
  /** How often each schema is referred to, by its reference in the document. */
  readonly uses: ReadonlyMap<string, number>
}

/** Keywords that are kept as they are. What is not listed says nothing about arguments, or is of OpenAPI alone. */
const PLAIN = new Set([
  ...['type', 'format', 'pattern', 'required', 'multipleOf', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains', 'dependentRequired', 'contentEncoding'],
  ...['contentMediaType', 'title', 'deprecated']
])
/** Those without which a schema says less, and nothing else. */
const HELPFUL = new Set(['enum', 'const', 'default', 'examples'])
/** Keywords that hold one schema, a list of them, or schemas by name. */
export const ONE: ReadonlySet<string> = new Set([
  ...['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties']
])
export const SEVERAL: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
export const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** What may stand beside a reference without changing what it says. */
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', 'deprecated', 'summary'])

/** The names of schemas in $defs: each has one, in all tools of the document. */
export class DefinitionNames {
  readonly #names = new Map<string, string>()
  readonly #refs = new Map<string, string>()
  /** By the word that they begin with: how many there are. */
  readonly #counts = new Map<string, number>()

  of(ref: string): string {
    const known = this.#names.get(ref)
    if (known !== undefined) return known
    const last = ref
      .slice(ref.lastIndexOf('/') + 1)
      .slice(0, 64)
      .replace(/[^A-Za-z0-9_.-]/g, '_')
    let count = this.#counts.get(last) ?? 0
    let name: string
    do name = ++count === 1 ? last : `${last}_${count}`
    while (this.#refs.has(name))
    this.#counts.set(last, count)
    this.#refs.set(name, ref)
    this.#names.set(ref, name)
    return name
  }

  refOf(name: string): string {
    return this.#refs.get(name)!
  }
}

const DEFS = '#/$defs/'

/** The name of the definition that a written schema is a reference to; undefined: it is none. */
export function referredName(schema: JsonObject): string | undefined {
  const { $ref } = schema
  return typeof $ref === 'string' ? $ref.slice(DEFS.length) : undefined
}

/** Writes schemas of one document in one detail. */
export class SchemaWriter {
  readonly detail: Detail
  readonly names: DefinitionNames
  readonly #document: Document
  /** By the schema; a text says why it cannot be written. */
  readonly #known = new WeakMap<object, Written | string>()
  /** Of the schema that is being written. */
  #uses = new Map<string, number>()
  #values = 0
  /** Names that were looked at, whatever became of them. */
  #seen = 0
  #where = ''

  constructor(document: Document, detail: Detail, names: DefinitionNames) {
    this.detail = detail
    this.names = names
    this.#document = document
  }

  /** A schema without an answer to "what is it?" is true of everything. Throws ConfigError, at `where`. */
  write(schema: unknown, where: string): Written {
    return this.#once(schema, where, () => this.#write(schema, 0))
  }

  /** The object itself, whatever refers to it, with each of its properties as `change` has it. */
  writeWith(schema: unknown, where: string, change: (name: string, own: JsonValue) => JsonValue): Written {
    const written = this.#fresh(where, () => {
      const node = this.#document.node(schema, where)
      const written = node === null ? {} : this.#keywords(node, 0)
      const properties = Object.entries((written.properties ?? {}) as JsonObject)
      return {
        ...written,
        properties: Object.fromEntries(properties.map(([name, own]) => [name, change(name, own)]))
      }
    })
    // It is written again for each operation, and what changes it may add much to each property.
    this.#document.spend(written.chars === Number.POSITIVE_INFINITY ? VALUES_MAX : written.chars >> 4, where)
    return written
  }

  /** What a reference refers to, for $defs. */
  definition(ref: string, where: string): Written {
    const { value } = this.#document.follow({ $ref: ref }, where)
    return this.#once(value, where, () => this.#write(value, 1))
  }

  /** All that is said of it beyond the last level. */
  cut(ref: string, where: string): Written {
    const { value } = this.#document.follow({ $ref: ref }, where)
    const type = isNode(value) && typeof value.type === 'string' ? { type: value.type.slice(0, 64) } : {}
    const json = { ...type, description: 'As the API documents it.' }
    return { json, chars: JSON.stringify(json).length, values: 3, uses: NO_USES }
  }

  isList(schema: unknown, where: string): boolean {
    return this.#document.node(schema, where)?.type === 'array'
  }

  #once(schema: unknown, where: string, write: () => JsonValue): Written {
    const isObject = typeof schema === 'object' && schema !== null
    const known = isObject ? this.#known.get(schema) : undefined
    if (typeof known === 'string') this.#document.refuse(where, known)
    if (known !== undefined) return known
    try {
      const written = this.#fresh(where, write)
      if (isObject) this.#known.set(schema, written)
      return written
    } catch (error) {
      // For all who have it, each at its own place.
      if (isObject && error instanceof ConfigError) this.#known.set(schema, error.problems[0]!.message)
      throw error
    }
  }

  #fresh(where: string, write: () => JsonValue): Written {
    this.#uses = new Map()
    this.#values = 0
    this.#seen = 0
    this.#where = where
    let json: JsonValue
    try {
      json = write()
    } finally {
      this.#document.spend(this.#values + this.#seen, where)
    }
    const isWhole = this.#values <= VALUES_MAX
    return {
      json: isWhole ? json : {},
      chars: isWhole ? JSON.stringify(json).length : Number.POSITIVE_INFINITY,
      values: this.#values,
      uses: this.#uses
    }
  }

  get #isTooLarge(): boolean {
    return this.#values > VALUES_MAX
  }

  #write(schema: unknown, depth: number): JsonValue {
    this.#values++
    if (typeof schema === 'boolean') return schema
    if (!isNode(schema) || depth > DEPTH_MAX || this.#isTooLarge) return {}
    return typeof schema.$ref === 'string' ? this.#reference(schema, depth) : this.#keywords(schema, depth)
  }

  #reference(schema: Node, depth: number): JsonValue {
    const { value, ref } = this.#document.follow(schema, this.#where)
    if (typeof value === 'boolean') return value
    const beside = Object.entries(schema).filter(([key]) => key !== '$ref')
    const notes = this.#keywords(Object.fromEntries(beside.filter(([key]) => ANNOTATIONS.has(key))), depth)
    const others = this.#document.isLegacy ? [] : beside.filter(([key]) => !ANNOTATIONS.has(key))
    const rest = this.#keywords(Object.fromEntries(others), depth)
    this.#uses.set(ref!, (this.#uses.get(ref!) ?? 0) + 1)
    const target = { $ref: DEFS + this.names.of(ref!) }
    const whole = Object.keys(rest).length === 0 ? target : { allOf: [target, rest] }
    return { ...whole, ...notes }
  }

  #keywords(schema: Node, depth: number): JsonObject {
    const written: [string, JsonValue][] = []
    for (const [key, value] of Object.entries(schema)) {
      if (value === undefined || this.#isTooLarge) continue
      if (key === 'description') this.#describe(value, written)
      else if (PLAIN.has(key)) written.push([key, this.#plain(value)])
      else if (HELPFUL.has(key)) this.#help(key, value, value, written)
      else if (ONE.has(key)) written.push([key, this.#write(value, depth + 1)])
      else if (SEVERAL.has(key) && Array.isArray(value) && value.length > 0) {
        written.push([key, value.map((item) => (isNull(item) ? { type: 'null' } : this.#write(item, depth + 1)))])
      } else if (NAMED.has(key) && isNode(value)) written.push([key, this.#named(value, depth)])
      else if (key === 'example') this.#help('examples', value, [value], written)
    }
    return this.#modern(Object.fromEntries(written), schema)
  }

  #describe(value: unknown, written: [string, JsonValue][]): void {
    const { descriptionCharsMax: max } = this.detail
    if (typeof value !== 'string' || max === 0) return
    this.#values += 1 + (Math.min(value.length, max) >> 8)
    written.push(['description', shortened(value, max)])
  }

  #help(key: string, value: unknown, written: unknown, out: [string, JsonValue][]): void {
    const { valueCharsMax: max } = this.detail
    const before = this.#values
    this.#plain(value)
    if (Number.isFinite(max) && (this.#values - before > max || JSON.stringify(value).length > max)) {
      // It is as if it were not there.
      this.#seen += this.#values - before
      this.#values = before
    } else out.push([key, this.#isTooLarge ? null : (written as JsonValue)])
  }

  #plain(value: unknown): JsonValue {
    this.#values += sizeOf(value)
    return this.#isTooLarge ? null : (value as JsonValue)
  }

  /** Without what only answers have. */
  #named(schemas: Node, depth: number): JsonObject {
    const all = Object.entries(schemas)
    this.#seen += all.length
    const kept = all.filter(([, schema]) => !this.#isReadOnly(schema))
    return Object.fromEntries(kept.map(([name, schema]) => [name, this.#write(schema, depth + 1)]))
  }

  #isReadOnly(schema: unknown): boolean {
    if (!isNode(schema)) return false
    return schema.readOnly === true || this.#document.node(schema, this.#where)?.readOnly === true
  }

  /** What 3.0 says in its own way, and what no longer fits. */
  #modern(written: JsonObject, schema: Node): JsonObject {
    const out: Record<string, JsonValue> = written
    const dropped = isNode(schema.properties) ? schema.properties : {}
    if ('required' in out) {
      const { required } = out
      const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
      const kept = names.filter((name) => !Object.hasOwn(dropped, name) || !this.#isReadOnly(dropped[name]))
      // An empty list, and the boolean that earlier drafts had, say nothing.
      if (kept.length > 0) out.required = kept
      else delete out.required
    }
    bounds(out, 'exclusiveMinimum', 'minimum')
    bounds(out, 'exclusiveMaximum', 'maximum')
    if (this.#document.isLegacy && (schema.nullable ?? schema['x-nullable']) === true) return nullable(out)
    return out
  }
}

const NO_USES: ReadonlyMap<string, number> = new Map()

/** At most `max` characters, and what follows the last whole word is left out. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed()
  const end = text.lastIndexOf(' ', max - 1)
  return `${text.slice(0, end > max / 2 ? end : max - 1)}\u2026`.toWellFormed()
}

/** "This, or null": how generators of 3.0 write the second half. */
function isNull(schema: unknown): boolean {
  return isNode(schema) && schema.nullable === true && Object.keys(schema).length === 1
}

/** `exclusiveMinimum: true` makes the minimum exclusive in 3.0; in 2020-12 it is a number of its own. */
function bounds(out: Record<string, JsonValue>, exclusive: string, limit: string): void {
  if (typeof out[exclusive] !== 'boolean') return
  const isExclusive = out[exclusive]
  delete out[exclusive]
  if (!isExclusive || typeof out[limit] !== 'number') return
  out[exclusive] = out[limit]
  delete out[limit]
}

function nullable(out: Record<string, JsonValue>): JsonObject {
  if (Array.isArray(out.enum) && !out.enum.includes(null)) out.enum = [...out.enum, null]
  if (typeof out.type === 'string') return { ...out, type: [out.type, 'null'] }
  const { title, description, ...rest } = out
  const notes = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) }
  return Object.keys(rest).length === 0 ? out : { ...notes, anyOf: [rest, { type: 'null' }] }
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + (value.length >> 8)
  if (typeof value !== 'object' || value === null) return 1
  let size = 1
  for (const item of Object.values(value)) size += sizeOf(item)
  return size
}
