/** JSON in and out. */
import { CelError } from './errors.ts'
import { isMap, keysOf, valueAt } from './maps.ts'
import { isDouble, numberOf, Uint } from './numbers.ts'
import { formatDuration, formatTimestamp } from './time.ts'
import { Duration, Opaque, Optional, Timestamp, type Value } from './values.ts'
import { startWalks, visit } from './walk.ts'

const NOT_JSON = new CelError('invalid', 'not JSON')
/** Levels of a value that is written as JSON. */
const DEPTH_MAX = 256

/** Texts up to this length are remembered: one body is often read by several rules of a route. */
const REMEMBERED_UNITS_MAX = 256 * 1024
let lastText: string | null = null
let lastValue: Value = null

/** The value of a JSON text. Numbers are ints when they are integers, doubles when not. */
export function parseJson(text: string): Value {
  // Two references to one string compare at once; a text that only looks alike costs one comparison.
  if (text === lastText) return lastValue
  let value: Value
  try {
    value = JSON.parse(text) as Value
  } catch {
    return NOT_JSON
  }
  if (text.length <= REMEMBERED_UNITS_MAX) {
    lastText = text
    lastValue = value
  }
  return value
}

/**
 * A value as JSON text: bytes as base64, times and other types as their text, secrets not at all. Part of a
 * run: it throws when the walks of the run have been long enough.
 */
export function writeJson(value: Value): Value {
  const plain = jsonOf(value, 0)
  return plain instanceof CelError ? plain : JSON.stringify(plain)
}

/** As writeJson, for a result after its run; never throws. */
export function toJson(value: Value): Value {
  startWalks()
  try {
    return writeJson(value)
  } catch (error) {
    return new CelError('range', error instanceof Error ? error.message : String(error))
  }
}

/** The value as JSON.stringify can write it. */
function jsonOf(value: Value, depth: number): CelError | Exclude<unknown, CelError> {
  visit()
  if (depth > DEPTH_MAX) return new CelError('range', `nested deeper than ${DEPTH_MAX} levels`)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'bigint') return rawNumber(value)
  if (value instanceof Uint) return rawNumber(value.value)
  if (isDouble(value)) return Number.isFinite(numberOf(value)) ? numberOf(value) : String(numberOf(value))
  if (typeof value === 'number') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Timestamp) return formatTimestamp(value)
  if (value instanceof Duration) return formatDuration(value)
  if (value instanceof Opaque) return value.toString()
  if (value instanceof Optional) return value.held === null ? null : jsonOf(value.held.value, depth + 1)
  if (Array.isArray(value)) return listOf(value, depth)
  return isMap(value) ? mapOf(value, depth) : new CelError('invalid', 'a value that JSON has no form for')
}

/** Integers beyond 2^53 lose digits as numbers of JSON: they become text, as in protobuf's mapping. */
function rawNumber(value: bigint): number | string {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : String(value)
}

function listOf(list: readonly Value[], depth: number): unknown {
  const out: unknown[] = []
  for (const item of list) {
    const plain = jsonOf(item, depth + 1)
    if (plain instanceof CelError) return plain
    out.push(plain)
  }
  return out
}

function mapOf(map: Value, depth: number): unknown {
  const out = Object.create(null) as Record<string, unknown>
  for (const key of keysOf(map)!) {
    const plain = jsonOf(valueAt(map, key), depth + 1)
    if (plain instanceof CelError) return plain
    out[key instanceof Uint ? String(key.value) : String(key)] = plain
  }
  return out
}
