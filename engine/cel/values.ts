/**
 * What an expression computes with. Host data is read as it is: no conversion, no copy.
 *
 * | CEL | here |
 * |---|---|
 * | int | number if it is a safe integer, else bigint; never both |
 * | double | number, or Double if the number is a safe integer: so a plain number always has one meaning |
 * | uint | Uint |
 * | string, bool, null, bytes | string, boolean, null, Uint8Array |
 * | list | array |
 * | map | plain object (of the host), Map, Fields (read lazily), or TypedMap (literals with keys of other types) |
 * | timestamp, duration | Timestamp, Duration: nanoseconds |
 * | an error | CelError |
 *
 * JSON numbers from the host are therefore ints when they are integers and doubles when not
 * (docs/design/007-cel.md says why, with the measurement).
 */
import { isSecret, type Secret } from '#engine/kit/secret.ts'
import { CelError } from './errors.ts'
import { Double, Uint } from './numbers.ts'

export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Double
  | Uint
  | Uint8Array
  | List
  | PlainMap
  | ReadonlyMap<MapKey, Value>
  | Fields
  | Secret
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | Opaque
  | CelError

/** Interfaces, because a type alias may not refer to itself through its arguments. */
export interface List extends ReadonlyArray<Value> {}
export interface PlainMap {
  readonly [key: string]: Value | undefined
}

/** Keys as a JS Map can compare them; a uint key is stored as its number and named in TypedMap.uints. */
export type MapKey = string | number | bigint | boolean

/** A map of the host that is read field by field. */
export abstract class Fields {
  /** The entry, or undefined when there is none. Must not throw. */
  abstract get(key: string): Value | undefined
  /** All keys, for macros and comparisons. */
  abstract keys(): Iterable<string>
}

/** A map that an expression made, when its keys are not all strings. */
export class TypedMap extends Map<MapKey, Value> {
  /** Keys that were uints: they must come out as uints. */
  uints: Set<MapKey> | null = null
}

/** Nanoseconds since 1970-01-01T00:00:00Z, from year 1 to 9999. */
export class Timestamp {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** Nanoseconds, 64 bits: about 292 years. */
export class Duration {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** The type of a value, as a value. */
export class TypeValue {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

export class Optional {
  /** null: none. */
  readonly held: { readonly value: Value } | null

  constructor(held: { readonly value: Value } | null) {
    this.held = held
  }
}

export const NONE = new Optional(null)

export function some(value: Value): Value {
  return value instanceof CelError ? value : new Optional({ value })
}

/** A value of a library, with its own type (ip, cidr). */
export abstract class Opaque {
  abstract readonly type: string
  abstract equals(other: Opaque): boolean
  abstract toString(): string
}

/**
 * An object as JSON.parse or YAML makes it. Others (dates, class instances) are no CEL values, and a secret
 * is no map that could be looked into.
 */
export function isPlain(value: object): value is PlainMap {
  return hasPlainPrototype(value) && !isSecret(value)
}

/** As isPlain, for callers that read another key than that of a secret. */
export function hasPlainPrototype(value: object): value is PlainMap {
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null
}

/** Name of the value's type in CEL. */
export function typeName(value: Value | undefined): string {
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'number':
      return Number.isSafeInteger(value) ? 'int' : 'double'
    case 'bigint':
      return 'int'
    case 'object':
      return value === null ? 'null_type' : objectType(value)
    default:
      return 'unknown'
  }
}

function objectType(value: object): string {
  if (Array.isArray(value)) return 'list'
  if (value instanceof Map || value instanceof Fields) return 'map'
  if (value instanceof Double) return 'double'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof TypeValue) return 'type'
  if (value instanceof Optional) return 'optional_type'
  if (value instanceof Opaque) return value.type
  if (value instanceof CelError) return 'error'
  if (isSecret(value)) return 'secret'
  return isPlain(value) ? 'map' : 'unknown'
}

/** No function of this name takes values of these types. */
export function noOverload(name: string, ...args: readonly Value[]): CelError {
  return new CelError('noSuchOverload', `no such overload: ${name}(${args.map(typeName).join(', ')})`)
}

/** A value where a bool was wanted. */
export function failure(name: string, value: Value): CelError {
  return value instanceof CelError ? value : noOverload(name, value)
}
