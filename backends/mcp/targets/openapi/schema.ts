/**
 * Schemas of an OpenAPI document as the JSON Schema 2020-12 that MCP tools have (revision 2025-11-25, server/tools).
 *
 * What is small, or referred to once, stands where it is used: models read that better. What is referred to more often,
 * or refers to itself, is written once, in the tool's own $defs, so that no tool is larger than what it reaches.
 */
import type { JsonObject, JsonValue } from '#backends/mcp/rpc.ts'
import { type Document, isNode, type Node } from './document.ts'

/** Values in the schema of one tool. */
const VALUES_MAX = 30_000
/** What is referred to more than once and is as small as this is not worth a reference. */
const SMALL_VALUES = 6
const DEPTH_MAX = 64

/** How much of the document a tool tells; the first that makes it small enough is taken. */
export interface Detail {
  /** Of one description within a schema. */
  readonly descriptionCharsMax: number
  /** References that are followed one from another; beyond, a schema says its type only. */
  readonly levelsMax: number
}

/** Keywords that are kept as they are. What is not listed says nothing about arguments, or is of OpenAPI alone. */
const PLAIN = new Set([
  ...['type', 'enum', 'const', 'format', 'pattern', 'required', 'multipleOf', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains', 'dependentRequired', 'contentEncoding'],
  ...['contentMediaType', 'title', 'description', 'default', 'examples', 'deprecated']
])
/** Keywords that hold one schema, a list of them, or schemas by name. */
const ONE = new Set([
  ...['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties']
])
const SEVERAL = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const NAMED = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** What may stand beside a reference without changing what it says. */
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', 'deprecated', 'summary'])

/** Writes the schemas of one tool. */
export class SchemaWriter {
  readonly #document: Document
  readonly #kept: ReadonlySet<string> | 'all'
  readonly #where: string
  readonly #detail: Detail
  /** References that are being replaced, outermost first. */
  readonly #within: string[] = []
  /** Name in $defs by reference. */
  readonly #names = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** How often each is referred to, how many values it has, and at which level it was met first. */
  readonly #uses = new Map<string, number>()
  readonly #sizes = new Map<string, number>()
  readonly #levels = new Map<string, number>()
  #level = 0
  #values = 0

  /** `kept`: the references that are not replaced. */
  constructor(document: Document, where: string, kept: ReadonlySet<string> | 'all', detail: Detail) {
    this.#document = document
    this.#where = where
    this.#kept = kept
    this.#detail = detail
  }

  /** References that stayed: those that are kept, and those within themselves. */
  get stayed(): ReadonlySet<string> {
    return new Set(this.#names.keys())
  }

  /** What is better written once, when every reference has stayed. */
  get repeated(): ReadonlySet<string> {
    return new Set(
      [...this.#uses].flatMap(([ref, uses]) => (uses > 1 && this.#sizes.get(ref)! > SMALL_VALUES ? [ref] : []))
    )
  }

  get isTooLarge(): boolean {
    return this.#values > VALUES_MAX
  }

  /** A schema without an answer to "what is it?" is true of everything. */
  write(schema: unknown, depth = 0): JsonValue {
    this.#values++
    if (typeof schema === 'boolean') return schema
    if (!isNode(schema) || depth > DEPTH_MAX || this.isTooLarge) return {}
    return typeof schema.$ref === 'string' ? this.#reference(schema, depth) : this.#keywords(schema, depth)
  }

  /** The object itself, whatever refers to it, with each of its properties as `change` has it. */
  writeWith(schema: unknown, change: (name: string, own: JsonValue) => JsonValue): JsonValue {
    const node = this.#document.node(schema, this.#where)
    const written = node === null ? {} : this.#keywords(node, 0)
    const properties = Object.entries((written.properties ?? {}) as JsonObject)
    return {
      ...written,
      properties: Object.fromEntries(properties.map(([name, own]) => [name, change(name, own)]))
    }
  }

  isList(schema: unknown): boolean {
    return this.#document.node(schema, this.#where)?.type === 'array'
  }

  /** What the references that stayed refer to, by name; null: none did. */
  definitions(): JsonObject | null {
    const written: [string, JsonValue][] = []
    // Writing one may name further ones: they come behind it in the same walk, level by level.
    for (const [ref, name] of this.#names) {
      this.#level = this.#levels.get(ref)!
      const before = this.#values
      const { value } = this.#document.follow({ $ref: ref }, this.#where)
      this.#within.push(ref)
      written.push([name, this.#level > this.#detail.levelsMax ? cut(value) : this.write(value, 1)])
      this.#within.pop()
      this.#sizes.set(ref, this.#values - before)
    }
    return written.length === 0 ? null : Object.fromEntries(written)
  }

  #reference(schema: Node, depth: number): JsonValue {
    const { value, ref } = this.#document.follow(schema, this.#where)
    const beside = Object.entries(schema).filter(([key]) => key !== '$ref')
    const notes = this.#keywords(Object.fromEntries(beside.filter(([key]) => ANNOTATIONS.has(key))), depth)
    const others = this.#document.isLegacy ? [] : beside.filter(([key]) => !ANNOTATIONS.has(key))
    const rest = this.#keywords(Object.fromEntries(others), depth)
    const target = this.#target(ref!, value, depth)
    if (typeof target === 'boolean') return target
    const whole = Object.keys(rest).length === 0 ? (target as JsonObject) : { allOf: [target, rest] }
    return { ...whole, ...notes }
  }

  #target(ref: string, value: unknown, depth: number): JsonValue {
    this.#uses.set(ref, (this.#uses.get(ref) ?? 0) + 1)
    const isKept = this.#kept === 'all' || this.#kept.has(ref)
    if (isKept || this.#within.includes(ref)) return { $ref: `#/$defs/${this.#nameOf(ref)}` }
    this.#within.push(ref)
    const written = this.write(value, depth + 1)
    this.#within.pop()
    return written
  }

  #nameOf(ref: string): string {
    const known = this.#names.get(ref)
    if (known !== undefined) return known
    const last = ref
      .slice(ref.lastIndexOf('/') + 1)
      .replace(/[^A-Za-z0-9_.-]/g, '_')
      .slice(0, 64)
    let name = last
    for (let i = 2; this.#taken.has(name); i++) name = `${last}_${i}`
    this.#taken.add(name)
    this.#names.set(ref, name)
    this.#levels.set(ref, this.#level + 1)
    return name
  }

  #keywords(schema: Node, depth: number): JsonObject {
    const written: [string, JsonValue][] = []
    for (const [key, value] of Object.entries(schema)) {
      if (value === undefined) continue
      if (key === 'description') this.#describe(value, written)
      else if (PLAIN.has(key)) written.push([key, this.#plain(value)])
      else if (ONE.has(key)) written.push([key, this.write(value, depth + 1)])
      else if (SEVERAL.has(key) && Array.isArray(value) && value.length > 0) {
        written.push([key, value.map((item) => (isNull(item) ? { type: 'null' } : this.write(item, depth + 1)))])
      } else if (NAMED.has(key) && isNode(value)) written.push([key, this.#named(value, depth)])
      else if (key === 'example' && this.#detail.levelsMax > 0) written.push(['examples', [this.#plain(value)]])
    }
    return this.#modern(Object.fromEntries(written), schema)
  }

  #describe(value: unknown, written: [string, JsonValue][]): void {
    const { descriptionCharsMax: max } = this.#detail
    if (typeof value !== 'string' || max === 0) return
    this.#values += 1 + (Math.min(value.length, max) >> 8)
    written.push(['description', shortened(value, max)])
  }

  #plain(value: unknown): JsonValue {
    this.#values += sizeOf(value)
    return this.isTooLarge ? null : (value as JsonValue)
  }

  /** Without what only answers have. */
  #named(schemas: Node, depth: number): JsonObject {
    const kept = Object.entries(schemas).filter(([, schema]) => !this.#isReadOnly(schema))
    return Object.fromEntries(kept.map(([name, schema]) => [name, this.write(schema, depth + 1)]))
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

/** All that is said of a schema beyond the last level. */
function cut(schema: unknown): JsonValue {
  const type = isNode(schema) && typeof schema.type === 'string' ? { type: schema.type } : {}
  return { ...type, description: 'As the API documents it.' }
}

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
