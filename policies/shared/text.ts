import { CelError, toJson, type Value } from '#engine/cel/index.ts'

/** A result as text: numbers and booleans as they are written, maps and lists as JSON; null for a failure. */
export function textOf(value: Value): string | null {
  if (typeof value === 'string') return value
  if (value instanceof CelError) return null
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  const json = toJson(value)
  return typeof json === 'string' ? json : null
}
