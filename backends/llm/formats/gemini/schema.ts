/**
 * Google's Schema (OpenAPI 3.0's, with types in capitals) as JSON Schema, which all other formats take. What a Schema
 * was read from is remembered, so that it goes back to Google as it came.
 * Source: ai.google.dev, "Caching" reference, Schema.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { camel } from './wire.ts'

const DEPTH_MAX = 200
const INTEGERS = ['maxItems', 'minItems', 'maxLength', 'minLength', 'maxProperties', 'minProperties']

/** By the JSON Schema that was made of it. A policy that changes the schema makes a new one, and is heeded. */
const sources = new WeakMap<JsonObject, JsonObject>()

/** The Schema that `schema` was made from; null when it was JSON Schema from the start. */
export function sourceOf(schema: JsonObject): JsonObject | null {
  return sources.get(schema) ?? null
}

/** Throws FormatError for one that is nested deeper than 200. */
export function jsonSchema(source: JsonObject, path: string): JsonObject {
  const schema = convert(source, path, 0)
  sources.set(schema, source)
  return schema
}

function convert(source: JsonObject, path: string, depth: number): JsonObject {
  if (depth > DEPTH_MAX) throw new FormatError(path, 'is nested too deeply')
  const inner = (value: Json) => (isObject(value) ? convert(value, path, depth + 1) : value)
  const result: [string, Json][] = []
  for (const [name, value] of Object.entries(camel(source))) {
    if (value === null || name === 'nullable' || name === 'propertyOrdering') continue
    if (name === 'type') result.push([name, typeOf(value, source.nullable === true)])
    else if (name === 'items') result.push([name, inner(value)])
    else if (name === 'anyOf' && Array.isArray(value)) result.push([name, value.map(inner)])
    else if ((name === 'properties' || name === 'defs') && isObject(value)) {
      result.push([name, Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item)]))])
    } else if (name === 'example') result.push(['examples', [value]])
    else if (INTEGERS.includes(name)) result.push([name, Number(value)])
    else result.push([name, value])
  }
  return Object.fromEntries(result)
}

function typeOf(type: Json, isNullable: boolean): Json {
  if (typeof type !== 'string') return type
  return isNullable ? [type.toLowerCase(), 'null'] : type.toLowerCase()
}
