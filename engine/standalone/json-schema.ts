/** The file's JSON Schema: for editors (scripts/gen-schema.ts), and to name what is allowed at a place. */
import { z } from '#engine/schema/schema.ts'
import type { Path } from './document.ts'
import type { fileSchema } from './file.ts'

/** The parts of a JSON Schema that are read here. */
export interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly additionalProperties?: JsonSchema | boolean
}

/** Draft 2020-12, of what a user may write (durations are strings, not milliseconds). */
export function jsonSchemaOf(schema: ReturnType<typeof fileSchema>): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
}

/** Keys allowed in the object at `path`; empty when any are. */
export function keysAt(schema: JsonSchema, path: Path): string[] {
  let places: readonly JsonSchema[] = branches(schema)
  for (const step of path) places = places.flatMap((place) => branches(child(place, step)))
  return [...new Set(places.flatMap((place) => Object.keys(place.properties ?? {})))]
}

function branches(schema: JsonSchema | undefined): readonly JsonSchema[] {
  if (schema === undefined) return []
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(branches)
}

function child(schema: JsonSchema, step: string | number): JsonSchema | undefined {
  if (typeof step === 'number') return schema.items
  const named = schema.properties?.[step]
  if (named !== undefined) return named
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}
