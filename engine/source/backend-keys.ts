/** The keys by which backends are described, as the registered kinds have them. */
import { fullName, type z } from '#engine/schema/schema.ts'
import type { KindKey, Kinds } from './kinds.ts'

type Shape = Record<string, z.ZodOptional>

export function keysOf(kinds: Kinds, schemaOf: (key: KindKey) => z.ZodOptional | undefined): Shape {
  const all = kinds.keys.map((key) => [key.name, schemaOf(key)] as const)
  return Object.fromEntries(all.flatMap(([key, schema]) => (schema === undefined ? [] : [[key, schema]])))
}

/** Of a reference: an address, then the name of a backend, then what else may be written in place. */
export function withName(shape: Shape): Shape {
  const backend = fullName().optional().describe('Name of one of the backends at the top of the file.')
  const [first, ...others] = Object.entries(shape)
  return Object.fromEntries([...(first === undefined ? [] : [first]), ['backend', backend], ...others])
}
