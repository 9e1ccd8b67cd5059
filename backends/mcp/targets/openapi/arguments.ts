/**
 * The input schema of a tool: one JSON Schema for all arguments, with as much detail of the document as fits.
 *
 * Schemas that are small, or referred to once, are inlined, because models read that better. Those that are referred to
 * more often, or to themselves, are written once in the tool's own $defs, so no tool is larger than what it reaches.
 */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import type { Document } from './document.ts'
import { bodySchema, type Offered } from './media.ts'
import type { Parameter } from './plan.ts'
import {
  DefinitionNames,
  type Detail,
  NAMED,
  ONE,
  referredName,
  SchemaWriter,
  SEVERAL,
  shortened,
  type WrittenSchema
} from './schema.ts'
import { PLACES } from './styles.ts'
export const DESCRIPTION_CHARS_MAX = 4096
/**
 * Characters of a tool as JSON, some 8,000 tokens of a model's context. Larger ones get less detail; the least
 * detailed version may reach the maximum.
 */
const TOOL_CHARS = 32_768
const TOOL_CHARS_MAX = 262_144
/** How much larger a tool with references may be before inlining is tried at all. */
const UNREPLACED = 1.25
const ANY = Number.POSITIVE_INFINITY
const DETAILS: readonly Detail[] = [
  { descriptionCharsMax: DESCRIPTION_CHARS_MAX, valueCharsMax: ANY, levelsMax: ANY },
  { descriptionCharsMax: 120, valueCharsMax: 16_384, levelsMax: ANY },
  { descriptionCharsMax: 80, valueCharsMax: 8192, levelsMax: 5 },
  { descriptionCharsMax: 40, valueCharsMax: 8192, levelsMax: 3 },
  { descriptionCharsMax: 0, valueCharsMax: 4096, levelsMax: 2 }
]
/** A schema with at most this many values is inlined, however often it is referred to. */
const SMALL_VALUES = 6
/** Bounds on inlining: values of the whole tool, and depth. */
const VALUES_MAX = 30_000
const DEPTH_MAX = 64

export interface ReadParameter extends Parameter {
  readonly schema: unknown
  readonly description: unknown
}

export interface ReadBody {
  readonly isRequired: boolean
  readonly offered: readonly Offered[]
}

type Definitions = ReadonlyMap<string, WrittenSchema>

/** The schema of all arguments without its $defs. */
interface Root extends WrittenSchema {
  readonly json: JsonObject
}

/** Shared by all tools of a document: each schema is written once. */
export class ArgumentSchemas {
  readonly #document: Document
  readonly #writers: readonly SchemaWriter[]

  constructor(document: Document) {
    this.#document = document
    const names = new DefinitionNames()
    this.#writers = DETAILS.map((detail) => new SchemaWriter(document, detail, names))
  }

  /** The first level of detail that fits. Throws ConfigError, at `where`. */
  of(parameters: readonly ReadParameter[], body: ReadBody | null, where: string): JsonObject {
    const last = this.#writers.at(-1)
    for (const writer of this.#writers) {
      const hasLevels = Number.isFinite(writer.detail.levelsMax)
      const max = writer === last ? TOOL_CHARS_MAX : hasLevels ? TOOL_CHARS : TOOL_CHARS * UNREPLACED
      const root = rootOf(writer, where, parameters, body)
      const reached = this.#reach(writer, root, max, where)
      if (reached === null) continue
      const replaced = hasLevels ? null : this.#replaced(writer, root, reached, where)
      if (replaced !== null && JSON.stringify(replaced).length <= TOOL_CHARS) return replaced
      if (hasLevels || sizeOf(root, reached, writer.names) <= TOOL_CHARS) return withReferences(writer, root, reached)
    }
    this.#document.refuse(where, 'the schema of its arguments is too large for a tool')
  }

  /** All definitions that the root refers to, breadth first; null: too large. */
  #reach(writer: SchemaWriter, root: Root, max: number, where: string): Definitions | null {
    const { levelsMax } = writer.detail
    const reached = new Map<string, WrittenSchema>()
    let chars = root.chars
    let level: Iterable<string> = root.uses.keys()
    for (let depth = 1; chars <= max; depth++) {
      const next = new Set<string>()
      for (const ref of level) {
        if (reached.has(ref)) continue
        const found = depth > levelsMax ? writer.cut(ref, where) : writer.definition(ref, where)
        this.#document.spend(1, where)
        reached.set(ref, found)
        chars += found.chars + charsOfName(writer.names.of(ref))
        if (chars > max) return null
        this.#document.spend(found.uses.size, where)
        for (const further of found.uses.keys()) next.add(further)
      }
      if (next.size === 0) return reached
      level = next
    }
    return null
  }

  /** The schema with references inlined where that reads better; null: it would grow too large. */
  #replaced({ names }: SchemaWriter, root: Root, reached: Definitions, where: string): JsonObject | null {
    if (reached.size === 0) return root.json
    const uses = new Map(root.uses)
    for (const found of reached.values()) {
      for (const [ref, count] of found.uses) uses.set(ref, (uses.get(ref) ?? 0) + count)
    }
    const kept = new Set<string>()
    for (const [ref, { values }] of reached) if (uses.get(ref)! > 1 && values > SMALL_VALUES) kept.add(ref)
    const first = new Replacement(names, reached, kept)
    const schema = first.of(root.json)
    // The first pass finds the recursive schemas. The second keeps them as references from the start, so each is
    // written once.
    const second = first.stayed.size > kept.size ? new Replacement(names, reached, first.stayed) : null
    const last = second?.of(root.json) ?? schema
    this.#document.spend(first.values + (second?.values ?? 0), where)
    return (second ?? first).isTooLarge ? null : last
  }
}

/** An object each for path, query, header and cookie, and the body: parameters of one name in two places stay apart. */
function rootOf(
  writer: SchemaWriter,
  where: string,
  parameters: readonly ReadParameter[],
  body: ReadBody | null
): Root {
  const properties: [string, JsonValue][] = []
  const required: string[] = []
  const sum = new Sum()
  for (const place of PLACES) {
    const here = parameters.filter((parameter) => parameter.place === place)
    if (here.length === 0) continue
    const needed = here.filter(({ isRequired }) => isRequired).map(({ name }) => name)
    properties.push([
      place,
      {
        type: 'object',
        properties: Object.fromEntries(
          here.map((one) => [one.name, described(sum.add(writer.write(one.schema, where)), one)])
        ),
        ...(needed.length === 0 ? {} : { required: needed }),
        additionalProperties: false
      }
    ])
    if (needed.length > 0) required.push(place)
  }
  if (body !== null) {
    properties.push(['body', bodySchema(writer, where, body.offered, (written) => sum.add(written))])
    if (body.offered.length > 1) properties.push(['contentType', contentTypeSchema(body.offered)])
    if (body.isRequired) required.push('body')
  }
  const json = {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false
  }
  // A schema that is too large already is not serialized to measure it.
  const chars = sum.chars > TOOL_CHARS_MAX ? sum.chars : JSON.stringify(json).length
  return { json, chars, values: sum.values, uses: sum.uses }
}

/** The total size of several schemas, and what they refer to. */
class Sum {
  chars = 0
  values = 0
  readonly uses = new Map<string, number>()

  add(written: WrittenSchema): JsonValue {
    this.chars += written.chars
    this.values += written.values
    // Beyond the maximum the tool is dropped, so the rest need not be counted.
    if (this.chars <= TOOL_CHARS_MAX) this.#count(written)
    return written.json
  }

  #count({ uses }: WrittenSchema): void {
    for (const [ref, count] of uses) this.uses.set(ref, (this.uses.get(ref) ?? 0) + count)
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

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && /\S/.test(value.slice(0, DESCRIPTION_CHARS_MAX)) ? value : null
}

// --- definitions ---

/** Characters of a member's name with its quotes, colon and comma. */
const charsOfName = (name: string): number => name.length + 4

function sizeOf({ chars }: Root, reached: Definitions, names: DefinitionNames): number {
  let size = chars + (reached.size === 0 ? 0 : '"$defs":{},'.length)
  for (const [ref, found] of reached) size += found.chars + charsOfName(names.of(ref))
  return size
}

function withReferences({ names }: SchemaWriter, { json }: Root, reached: Definitions): JsonObject {
  if (reached.size === 0) return json
  return { ...json, $defs: Object.fromEntries([...reached].map(([ref, found]) => [names.of(ref), found.json])) }
}

/** Inlines most references of a schema. */
class Replacement {
  /** References that are not inlined: those to keep, recursive ones, and those too deep. */
  readonly stayed = new Set<string>()
  values = 0
  readonly #names: DefinitionNames
  readonly #all: Definitions
  readonly #kept: ReadonlySet<string>
  /** References that are being replaced, outermost first. */
  readonly #within: string[] = []

  constructor(names: DefinitionNames, all: Definitions, kept: ReadonlySet<string>) {
    this.#names = names
    this.#all = all
    this.#kept = kept
  }

  get isTooLarge(): boolean {
    return this.values > VALUES_MAX
  }

  of(root: JsonObject): JsonObject {
    const schema = this.#schema(root, 0) as JsonObject
    const definitions: [string, JsonValue][] = []
    // A definition may add further references to the set; the loop visits those too.
    for (const ref of this.stayed) {
      this.#within.push(ref)
      definitions.push([this.#names.of(ref), this.#schema(this.#all.get(ref)!.json, 1)])
      this.#within.pop()
    }
    return definitions.length === 0 ? schema : { ...schema, $defs: Object.fromEntries(definitions) }
  }

  #schema(source: JsonValue, depth: number): JsonValue {
    this.values++
    if (typeof source !== 'object' || source === null || this.isTooLarge) return source
    const schema = source as JsonObject
    const name = referredName(schema)
    if (name !== undefined) return this.#reference(schema, this.#names.refOf(name), depth)
    // Subtrees without references are shared, not copied.
    let out: Record<string, JsonValue> | null = null
    for (const key of Object.keys(schema)) {
      const value = schema[key]!
      const now = this.#keyword(key, value, depth + 1)
      if (now === value) continue
      out ??= { ...schema }
      out[key] = now
    }
    return out ?? schema
  }

  #keyword(key: string, value: JsonValue, depth: number): JsonValue {
    if (ONE.has(key)) return this.#schema(value, depth)
    if (SEVERAL.has(key)) {
      const items = (value as readonly JsonValue[]).map((item) => this.#schema(item, depth))
      return items.every((item, i) => item === (value as readonly JsonValue[])[i]) ? value : items
    }
    if (!NAMED.has(key)) return value
    const named = Object.entries(value as JsonObject)
    let isSame = true
    for (const pair of named) {
      const [, item] = pair
      pair[1] = this.#schema(item, depth)
      if (pair[1] !== item) isSame = false
    }
    return isSame ? value : Object.fromEntries(named)
  }

  #reference(schema: JsonObject, ref: string, depth: number): JsonValue {
    // A chain of references may be as long as the document.
    if (this.#kept.has(ref) || this.#within.includes(ref) || depth > DEPTH_MAX) {
      this.stayed.add(ref)
      return schema
    }
    this.#within.push(ref)
    const written = this.#schema(this.#all.get(ref)!.json, depth + 1)
    this.#within.pop()
    if (typeof written !== 'object') return written
    const { $ref: _, ...notes } = schema
    return { ...(written as JsonObject), ...notes }
  }
}
