/**
 * Arguments of a tool that its server wants to see as fields: `x-mcp-header` in the input schema (2026-07-28,
 * basic/transports/streamable-http, Custom Headers from Tool Parameters). The gateway is the client that mirrors them
 * where the real one is of the other era and knows nothing of it.
 */

import { encodeFieldValue } from './field-values.ts'
import { isObject, type JsonObject, type JsonValue } from './json-rpc.ts'

/** Schemas nested deeper are not read: what they mark is invalid. */
const DEPTH_MAX = 32
const PARAMETERS_MAX = 64

export interface MirroredParameter {
  /** Lower case, whole: mcp-param-... */
  readonly field: string
  /** Keys from the arguments down. */
  readonly path: readonly string[]
}

/** What a tool mirrors; null: its marks break the rules, and the tool must not be offered. */
export function mirroredParameters(inputSchema: JsonValue | undefined): readonly MirroredParameter[] | null {
  const found: MirroredParameter[] = []
  if (!isObject(inputSchema)) return found
  return walk(inputSchema, [], true, found) ? found : null
}

function walk(schema: JsonValue, path: readonly string[], reachable: boolean, found: MirroredParameter[]): boolean {
  if (path.length > DEPTH_MAX) return false
  if (Array.isArray(schema)) return schema.every((item) => walk(item, [...path, ''], false, found))
  if (!isObject(schema)) return true
  const mark = schema['x-mcp-header']
  if (mark !== undefined && !(reachable && path.length > 0 && take(mark, schema, path, found))) return false
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'x-mcp-header' || DATA.has(key)) continue
    if (MAPS.has(key) && isObject(value)) {
      for (const [name, inner] of Object.entries(value)) {
        if (!walk(inner, [...path, name], reachable && key === 'properties', found)) return false
      }
    } else if (!walk(value, [...path, ''], false, found)) return false
  }
  return true
}

/** Keywords whose values are data, not schemas: what looks like a mark in them is none. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples'])
/** Keywords whose keys are names: of properties, or of schemas. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas'
])

function take(mark: JsonValue, schema: JsonObject, path: readonly string[], found: MirroredParameter[]): boolean {
  if (typeof mark !== 'string' || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/.test(mark)) return false
  if (schema.type !== 'string' && schema.type !== 'integer' && schema.type !== 'boolean') return false
  const field = `mcp-param-${mark.toLowerCase()}`
  if (found.length >= PARAMETERS_MAX || found.some((other) => other.field === field)) return false
  found.push({ field, path })
  return true
}

/** Fields for a call with these arguments, flat: name, value, name, value. What is absent or null is not said. */
export function parameterFields(parameters: readonly MirroredParameter[], args: JsonValue | undefined): string[] {
  const fields: string[] = []
  for (const { field, path } of parameters) {
    let value: JsonValue | undefined = args
    for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
    if (typeof value === 'string') fields.push(field, encodeFieldValue(value))
    else if (typeof value === 'number' || typeof value === 'boolean') fields.push(field, String(value))
  }
  return fields
}
