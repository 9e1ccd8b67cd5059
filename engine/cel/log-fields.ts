/** What expressions of the access log give, as fields of its line (docs/specification.md#access-log). */
import type { FieldSink } from '#engine/contract/access-log.ts'
import { isSecret } from '#engine/kit/secret.ts'
import { isSensitive, REDACTED, redactText, redactUrl } from '#engine/kit/sensitive.ts'
import type { Facts } from './exchange.ts'
import type { Expression } from './expression.ts'
import { CelError, toJson, type Value } from './index.ts'
import { Flattened } from './lib/json.ts'
import { isList, isMap, keysOf, valueAt } from './maps.ts'
import { Optional } from './values.ts'
import { startWalks } from './walk.ts'

/** Fields that one flatten() may become, and levels of flattenRecursive(). */
const SPREAD_MAX = 64
const DEPTH_MAX = 8
const KEY_CHARS_MAX = 64

/** A configured field. */
export interface LogField {
  readonly name: string
  readonly program: Expression
}

/** Returns how many had no value that can be written. */
export function writeFields(fields: readonly LogField[], ex: Facts, into: FieldSink): number {
  let failed = 0
  for (const field of fields) if (!writeField(field, ex, into)) failed++
  return failed
}

/** False: it has no value that can be written, or the line has no room for it. */
export function writeField({ name, program }: LogField, ex: Facts, into: FieldSink): boolean {
  const value = program.run(ex)
  startWalks()
  try {
    return value instanceof Flattened ? spread(name, value, into) : put(name, value, into)
  } catch {
    return false // More parts than a walk may visit: no line has room for it.
  }
}

function put(name: string, value: Value, into: FieldSink): boolean {
  const plain = plainOf(value)
  if (plain === null && value instanceof Optional) return true
  return plain !== undefined && into.add(name, plain)
}

/** What a field can hold: maps and lists are JSON text. Undefined when there is none. */
export function plainOf(value: Value): string | number | boolean | null | undefined {
  // A text that is named itself is meant, but for what a client has put into its address.
  if (typeof value === 'string') return value.includes('?') ? redactUrl(value) : value
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  if (value instanceof CelError) return undefined
  if (isSecret(value)) return REDACTED
  if (value instanceof Flattened) return plainOf(value.value)
  const text = jsonText(value, 0)
  if (text === undefined || isMap(value) || isList(value)) return text
  // Numbers, times, bytes and types of libraries: their JSON is a scalar.
  return JSON.parse(text) as string | number | boolean | null
}

/** JSON in which no credential stands; undefined where some part has no JSON. */
function jsonText(value: Value, depth: number): string | undefined {
  if (depth > DEPTH_MAX) return undefined
  if (isSecret(value)) return JSON.stringify(REDACTED)
  if (value instanceof CelError) return undefined
  if (typeof value === 'string') return JSON.stringify(redactText(value))
  if (isList(value))
    return joined(
      value.map((item) => jsonText(item, depth + 1)),
      '[',
      ']'
    )
  if (!isMap(value)) {
    const text = toJson(value)
    return typeof text === 'string' ? text : undefined
  }
  const entries = keysOf(value)!.map((key) => {
    const text = jsonText(shownAt(value, key), depth + 1)
    return text === undefined ? undefined : `${JSON.stringify(String(key))}:${text}`
  })
  return joined(entries, '{', '}')
}

function joined(parts: readonly (string | undefined)[], open: string, close: string): string | undefined {
  return parts.includes(undefined) ? undefined : `${open}${parts.join(',')}${close}`
}

/** What may be shown of an entry, from any map. Counts of tokens are no secrets: numbers are never hidden. */
function shownAt(map: Value, key: Value): Value {
  const value = valueAt(map, key)
  const isHidden =
    typeof key === 'string' && isSensitive(key) && typeof value !== 'number' && typeof value !== 'boolean'
  return isHidden ? REDACTED : value
}

/** flatten(): one field per entry. What is no map and no list stays one field. */
function spread(name: string, { value, isRecursive }: Flattened, into: FieldSink): boolean {
  let left = SPREAD_MAX
  const visit = (at: string, item: Value, depth: number): boolean => {
    const isSpread = (depth === 0 || isRecursive) && depth < DEPTH_MAX
    if (isSpread && isList(item)) return item.every((one, i) => visit(`${at}.${i}`, one, depth + 1))
    if (isSpread && isMap(item)) {
      return keysOf(item)!.every((key) => visit(`${at}.${keyText(key)}`, shownAt(item, key), depth + 1))
    }
    return left-- > 0 && put(at, depth > 0 && typeof item === 'string' ? redactText(item) : item, into)
  }
  return visit(name, value, 0)
}

/** Keys may be a client's (headers, claims): what could end a name or a line is replaced. */
function keyText(key: Value): string {
  return String(key)
    .slice(0, KEY_CHARS_MAX)
    .replace(/[^A-Za-z0-9_.@/-]/g, '_')
}
