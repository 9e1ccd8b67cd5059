/** JSON, maps, chance and secrets: what gateways need beside the standard library. */
import { randomInt, randomUUID } from 'node:crypto'
import { CelError } from '#engine/cel/errors.ts'
import { BYTES, type Declared, DOUBLE, DYN, fn, INT, MAP, method, STRING, type } from '#engine/cel/functions.ts'
import { parseJson, writeJson } from '#engine/cel/json.ts'
import { entryOf, keyOf, keysOf, MapBuilder, valueAt } from '#engine/cel/maps.ts'
import { doubleOf } from '#engine/cel/numbers.ts'
import { noOverload, Opaque, type Value } from '#engine/cel/values.ts'
import { isSecret, reveal, type Secret } from '#engine/kit/secret.ts'
import { decodeText } from './conversions.ts'
import { textOf } from './format.ts'

const SECRET = type('secret', (value): value is Secret => isSecret(value))
/** 48 random bits are what randomInt gives at once. */
const CHANCES = 2 ** 48 - 1

/**
 * flatten(map): in a log or trace, one field per entry instead of one field with a map. Only the writer of
 * the log can do that, so the value says so and nothing else.
 */
export class Flattened extends Opaque {
  readonly type = 'flattened'
  readonly value: Value
  /** Maps and lists inside are spread too. */
  readonly isRecursive: boolean

  constructor(value: Value, isRecursive: boolean) {
    super()
    this.value = value
    this.isRecursive = isRecursive
  }

  equals(other: Opaque): boolean {
    return other === this
  }

  toString(): string {
    return String(textOf(this.value))
  }
}

/** Both maps; where both have a key, the second one's value. */
function merge(a: Value, b: Value): Value {
  const map = new MapBuilder()
  for (const key of keysOf(a)!) {
    const newer = entryOf(b, keyOf(key)!)
    map.add(key, newer === undefined ? valueAt(a, key) : newer)
  }
  for (const key of keysOf(b)!) if (entryOf(a, keyOf(key)!) === undefined) map.add(key, valueAt(b, key))
  return map.done()
}

/** Bytes (bodies are bytes or text) as text first. */
function ofBytes(read: (text: string) => Value): (bytes: Uint8Array) => Value {
  return (bytes) => {
    const text = decodeText(bytes)
    return typeof text === 'string' ? read(text) : text
  }
}

/** A field of a JSON text by its path: "a.b.0.c". */
function jsonField(text: string, path: string): Value {
  let value = parseJson(text)
  for (const part of path.split('.')) {
    if (value instanceof CelError) return value
    const next = Array.isArray(value) ? (value[Number(part)] as Value | undefined) : entryOf(value, part)
    value = next === undefined ? new CelError('noSuchKey', `no such field: ${path}`) : next
  }
  return value
}

/** The claims of a JWT, without any check of who signed it. */
function unvalidatedJwtPayload(token: string): Value {
  const payload = token.replace(/^bearer /i, '').split('.')[1]
  return payload === undefined
    ? new CelError('invalid', 'not a JWT')
    : parseJson(Buffer.from(payload, 'base64url').toString())
}

export const JSON_FUNCTIONS: readonly Declared[] = [
  fn('json', [STRING], DYN, parseJson),
  fn('json', [BYTES], DYN, ofBytes(parseJson)),
  fn('jsonField', [STRING, STRING], DYN, jsonField),
  fn('toJson', [DYN], STRING, writeJson),
  fn('to_json', [DYN], STRING, writeJson),
  method('toJson', [DYN], STRING, writeJson),
  fn('merge', [MAP, MAP], MAP, merge),
  method('merge', [MAP, MAP], MAP, merge),
  fn('flatten', [DYN], DYN, (value) => new Flattened(value, false), { isConstant: true }),
  fn('flattenRecursive', [DYN], DYN, (value) => new Flattened(value, true), { isConstant: true }),
  fn('fail', [], DYN, () => new CelError('failed', 'fail()'), { impure: true }),
  fn('fail', [STRING], DYN, (message) => new CelError('failed', message), { impure: true, isConstant: true }),
  fn('uuid', [], STRING, () => randomUUID(), { impure: true }),
  fn('random', [], DOUBLE, () => doubleOf(randomInt(CHANCES) / CHANCES), { impure: true }),
  fn('random', [INT], INT, (limit) => below(limit), { impure: true }),
  fn('unvalidatedJwtPayload', [STRING], MAP, unvalidatedJwtPayload),
  method('unredacted', [SECRET], STRING, (secret) => reveal(secret)),
  method('unredacted', [STRING], STRING, (text) => text, { isConstant: true }),
  fn('string', [SECRET], STRING, () => '<redacted>')
]

/** A random int from 0 to limit - 1. */
function below(limit: number | bigint): Value {
  return limit > 0 && limit <= CHANCES ? randomInt(Number(limit)) : noOverload('random', limit)
}
