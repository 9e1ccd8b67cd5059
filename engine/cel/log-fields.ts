/** What expressions of the access log give, as fields of its line (spec 2.6, LogTracingAttributes). */
import type { FieldSink } from '#engine/contract/access-log.ts'
import { isSecret } from '#engine/kit/secret.ts'
import type { Facts } from './exchange.ts'
import type { Expression } from './expression.ts'
import { CelError, toJson, type Value } from './index.ts'
import { Flattened } from './lib/json.ts'
import { isList, isMap, keysOf, valueAt } from './maps.ts'
import { Optional } from './values.ts'

/** Fields that one flatten() may become, and levels of flattenRecursive(). */
const SPREAD_MAX = 64
const DEPTH_MAX = 8
const KEY_CHARS_MAX = 64
const REDACTED = '<redacted>'

/** Fields of a map that hold credentials, whoever names the map. One that is named itself is meant. */
const SENSITIVE = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key', 'api-key'],
  ...['password', 'secret', 'client_secret', 'access_token', 'refresh_token', 'id_token']
])

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
  return value instanceof Flattened ? spread(name, value, into) : put(name, value, into)
}

function put(name: string, value: Value, into: FieldSink): boolean {
  const plain = plainOf(value)
  if (plain === null && value instanceof Optional) return true
  return plain !== undefined && into.add(name, plain)
}

/** What a field can hold: maps and lists are JSON text. Undefined when there is none. */
function plainOf(value: Value): string | number | boolean | null | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value
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
    const text = isSensitive(key) ? JSON.stringify(REDACTED) : jsonText(valueAt(value, key), depth + 1)
    return text === undefined ? undefined : `${JSON.stringify(String(key))}:${text}`
  })
  return joined(entries, '{', '}')
}

function joined(parts: readonly (string | undefined)[], open: string, close: string): string | undefined {
  return parts.includes(undefined) ? undefined : `${open}${parts.join(',')}${close}`
}

function isSensitive(key: Value): boolean {
  return typeof key === 'string' && SENSITIVE.has(key.toLowerCase())
}

/** flatten(): one field per entry. What is no map and no list stays one field. */
function spread(name: string, { value, isRecursive }: Flattened, into: FieldSink): boolean {
  let left = SPREAD_MAX
  const visit = (at: string, item: Value, depth: number): boolean => {
    const isSpread = (depth === 0 || isRecursive) && depth < DEPTH_MAX
    if (isSpread && isList(item)) return item.every((one, i) => visit(`${at}.${i}`, one, depth + 1))
    if (isSpread && isMap(item)) {
      return keysOf(item)!.every((key) =>
        visit(`${at}.${keyText(key)}`, isSensitive(key) ? REDACTED : valueAt(item, key), depth + 1)
      )
    }
    return left-- > 0 && put(at, item, into)
  }
  return visit(name, value, 0)
}

/** Keys may be a client's (headers, claims): what could end a name or a line is replaced. */
function keyText(key: Value): string {
  return String(key)
    .slice(0, KEY_CHARS_MAX)
    .replace(/[^A-Za-z0-9_.@/-]/g, '_')
}
