/**
 * Translates schemas of an OpenAPI document to the JSON Schema 2020-12 of MCP tools (2025-11-25, server/tools).
 * Each schema is written once for all tools, and references stay references, so the cost depends on the size of the
 * document and not on how many operations share a schema. arguments.ts assembles the tools.
 */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { ConfigError } from '#engine/contract/config-error.ts'
import { type Document, isNode, type Node } from './document.ts'

/** Values of one schema without those that it refers to. A larger schema is part of no tool. */
const VALUES_MAX = 30_000
const DEPTH_MAX = 64

/** A level of detail. The first level at which a tool is small enough is used. */
export interface Detail {
  /** Characters of one description within a schema. */
  readonly descriptionCharsMax: number
  /** Characters of one annotation (enumeration, default, example) as JSON; longer ones are left out. */
  readonly valueCharsMax: number
  /** Length of chains of references; beyond it, a schema has only its type. */
  readonly levelsMax: number
}

/** A translated schema, with references as `#/$defs/NAME`. */
export interface WrittenSchema {
  readonly json: JsonValue
  /** Characters of the JSON text; Infinity: too large for any tool. */
  readonly chars: number
  readonly values: number
  /** Number of references to each schema, by reference in the document. */
  readonly uses: ReadonlyMap<string, number>
}

/** Keywords that are copied. Those not listed here do not constrain arguments, or belong to OpenAPI alone. */
const PLAIN = new Set([
  ...['type', 'format', 'pattern', 'required', 'multipleOf', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains', 'dependentRequired', 'contentEncoding'],
  ...['contentMediaType', 'title', 'deprecated']
])
/** Keywords that may be dropped when a tool is too large. */
const HELPFUL = new Set(['enum', 'const', 'default', 'examples'])
/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
export const ONE: ReadonlySet<string> = new Set([
  ...['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties']
])
export const SEVERAL: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
export const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** Siblings that do not change the meaning of a reference. */
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', 'deprecated', 'summary'])

/** Names in $defs: a schema has the same name in all tools of the document. */
export class DefinitionNames {
  readonly #names = new Map<string, string>()
  readonly #refs = new Map<string, string>()
  /** Number of names by their base. */
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

/** The name in $defs that a translated schema refers to; undefined: it is no reference. */
export function referredName(schema: JsonObject): string | undefined {
  const { $ref } = schema
  return typeof $ref === 'string' ? $ref.slice(DEFS.length) : undefined
}

/** Translates schemas of one document at one level of detail. */
export class SchemaWriter {
  readonly detail: Detail
  readonly names: DefinitionNames
  readonly #document: Document
  /** By schema; a string is the reason why it cannot be translated. */
  readonly #known = new WeakMap<object, WrittenSchema | string>()
  /** State of the schema that is being translated. */
  #uses = new Map<string, number>()
  #values = 0
  /** Properties that were visited, including those that are left out. */
  #seen = 0
  #where = ''

  constructor(document: Document, detail: Detail, names: DefinitionNames) {
    this.detail = detail
    this.names = names
    this.#document = document
  }

  /** A missing schema accepts everything. Throws ConfigError, at `where`. */
  write(schema: unknown, where: string): WrittenSchema {
    return this.#once(schema, where, () => this.#write(schema, 0))
  }

  /** An object schema itself, without references to it, with each property replaced by `change`. */
  writeWith(schema: unknown, where: string, change: (name: string, own: JsonValue) => JsonValue): WrittenSchema {
    const written = this.#fresh(where, () => {
      const node = this.#document.node(schema, where)
      const written = node === null ? {} : this.#keywords(node, 0)
      const properties = Object.entries((written.properties ?? {}) as JsonObject)
      return {
        ...written,
        properties: Object.fromEntries(properties.map(([name, own]) => [name, change(name, own)]))
      }
    })
    // This runs again for each operation, and `change` may add much to each property.
    this.#document.spend(written.chars === Number.POSITIVE_INFINITY ? VALUES_MAX : written.chars >> 4, where)
    return written
  }

  /** The schema that a reference leads to, for $defs. */
  definition(ref: string, where: string): WrittenSchema {
    const { value } = this.#document.follow({ $ref: ref }, where)
    return this.#once(value, where, () => this.#write(value, 1))
  }

  /** The replacement of a schema beyond the last level. */
  cut(ref: string, where: string): WrittenSchema {
    const { value } = this.#document.follow({ $ref: ref }, where)
    const type = isNode(value) && typeof value.type === 'string' ? { type: value.type.slice(0, 64) } : {}
    const json = { ...type, description: 'As the API documents it.' }
    return { json, chars: JSON.stringify(json).length, values: 3, uses: NO_USES }
  }

  isList(schema: unknown, where: string): boolean {
    return this.#document.node(schema, where)?.type === 'array'
  }

  #once(schema: unknown, where: string, write: () => JsonValue): WrittenSchema {
    const isObject = typeof schema === 'object' && schema !== null
    const known = isObject ? this.#known.get(schema) : undefined
    if (typeof known === 'string') this.#document.refuse(where, known)
    if (known !== undefined) return known
    try {
      const written = this.#fresh(where, write)
      if (isObject) this.#known.set(schema, written)
      return written
    } catch (error) {
      // Remembered for other operations that share the schema, each with its own place.
      if (isObject && error instanceof ConfigError) this.#known.set(schema, error.problems[0]!.message)
      throw error
    }
  }

  #fresh(where: string, write: () => JsonValue): WrittenSchema {
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
      // Counted as if it were absent.
      this.#seen += this.#values - before
      this.#values = before
    } else out.push([key, this.#isTooLarge ? null : (written as JsonValue)])
  }

  #plain(value: unknown): JsonValue {
    this.#values += sizeOf(value)
    return this.#isTooLarge ? null : (value as JsonValue)
  }

  /** Properties without read-only ones, which only responses have. */
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

  /** Translates keywords of 3.0, and removes those that no longer apply. */
  #modern(written: JsonObject, schema: Node): JsonObject {
    const out: Record<string, JsonValue> = written
    const dropped = isNode(schema.properties) ? schema.properties : {}
    if ('required' in out) {
      const { required } = out
      const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
      const kept = names.filter((name) => !Object.hasOwn(dropped, name) || !this.#isReadOnly(dropped[name]))
      // An empty list is meaningless, as is the boolean of earlier drafts.
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

/** At most `max` characters, cut after a whole word. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed()
  const end = text.lastIndexOf(' ', max - 1)
  return `${text.slice(0, end > max / 2 ? end : max - 1)}\u2026`.toWellFormed()
}

/** "or null", as generators of 3.0 write it in anyOf. */
function isNull(schema: unknown): boolean {
  return isNode(schema) && schema.nullable === true && Object.keys(schema).length === 1
}

/** In 3.0 `exclusiveMinimum: true` makes the minimum exclusive; in 2020-12 it is a number. */
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
