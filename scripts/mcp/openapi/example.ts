/** A value for a schema of a tool: what is required, and of the rest a little. */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'

const DEPTH_MAX = 6
/** Of the properties that are not required. */
const OPTIONAL_MAX = 2

export function exampleOf(schema: JsonValue, definitions: JsonObject, depth = 0): JsonValue {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'x'
  const node = schema as Readonly<Record<string, JsonValue>>
  if (typeof node.$ref === 'string') {
    return exampleOf(definitions[node.$ref.slice('#/$defs/'.length)] ?? {}, definitions, depth + 1)
  }
  if ('const' in node) return node.const!
  if (Array.isArray(node.enum)) return (node.enum as JsonValue[])[0]!
  if (Array.isArray(node.examples)) return (node.examples as JsonValue[])[0]!
  for (const key of ['anyOf', 'oneOf', 'allOf']) {
    const branches = node[key]
    if (Array.isArray(branches) && node.properties === undefined) {
      return exampleOf(branches[0] as JsonValue, definitions, depth + 1)
    }
  }
  const type = Array.isArray(node.type) ? (node.type as string[])[0] : node.type
  if (type === 'object' || node.properties !== undefined) return objectOf(node, definitions, depth)
  if (type === 'array') return depth > DEPTH_MAX ? [] : [exampleOf(node.items ?? {}, definitions, depth + 1)]
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return typeof node.minimum === 'number' ? node.minimum : 1
  return node.contentEncoding === 'base64' ? 'QUJD' : 'a b/ü'
}

function objectOf(node: Readonly<Record<string, JsonValue>>, definitions: JsonObject, depth: number): JsonValue {
  const properties = Object.entries((node.properties ?? {}) as JsonObject)
  const required = new Set(Array.isArray(node.required) ? (node.required as string[]) : [])
  let spare = depth > DEPTH_MAX ? 0 : OPTIONAL_MAX
  const chosen = properties.filter(([name]) => required.has(name) || spare-- > 0)
  if (depth > DEPTH_MAX * 2) return {}
  return Object.fromEntries(chosen.map(([name, own]) => [name, exampleOf(own, definitions, depth + 1)]))
}

/** All places, and in each what is required and a little more. */
export function argumentsOf(inputSchema: JsonObject): JsonObject {
  const definitions = (inputSchema.$defs ?? {}) as JsonObject
  const places = Object.entries((inputSchema.properties ?? {}) as JsonObject)
  const listed = places.filter(([name]) => name !== 'contentType')
  return Object.fromEntries(listed.map(([name, schema]) => [name, exampleOf(schema, definitions)]))
}
