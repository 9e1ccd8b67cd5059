/** Reading lists and maps, whatever they are made of. */
import { SECRET_KEY } from '#engine/kit/secret.ts'
import { CelError, noSuchKey } from './errors.ts'
import { Double, type Int, isInt, Uint } from './numbers.ts'
import {
  Fields,
  hasPlainPrototype,
  isPlain,
  type List,
  type MapKey,
  NONE,
  Optional,
  some,
  TypedMap,
  typeName,
  type Value
} from './values.ts'
import { visit } from './walk.ts'

/** The value as a key of a JS Map, or undefined when no map has such a key. */
export function keyOf(value: Value): MapKey | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
    case 'number':
      return value
    default:
      if (value instanceof Double) return value.value
      if (value instanceof Uint) return value.value <= MAX_SAFE ? Number(value.value) : value.value
      return undefined
  }
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

export function isList(value: Value): value is List {
  return Array.isArray(value)
}

export function isMap(value: Value): boolean {
  return (
    typeof value === 'object' && value !== null && (value instanceof Map || value instanceof Fields || isPlain(value))
  )
}

/** Whether reading this property proves nothing (every object inherits it) or tells too much (of a secret). */
export function isTreacherous(name: string): boolean {
  return name in Object.prototype || name === SECRET_KEY
}

/** The entry of a map, or undefined when it has none or is no map. */
export function entryOf(map: Value, key: MapKey): Value | undefined {
  if (typeof map !== 'object' || map === null) return undefined
  if (isPlain(map)) return typeof key === 'string' && Object.hasOwn(map, key) ? map[key] : undefined
  if (map instanceof Map) return map.get(key) as Value | undefined
  if (map instanceof Fields) return typeof key === 'string' ? map.get(key) : undefined
  return undefined
}

/** As entryOf, for a key that is not treacherous. */
export function fieldOf(map: Value, key: string): Value | undefined {
  if (typeof map !== 'object' || map === null) return undefined
  if (hasPlainPrototype(map)) return map[key]
  if (map instanceof Map) return map.get(key) as Value | undefined
  return map instanceof Fields ? map.get(key) : undefined
}

/** A look at a key is an eighth of a visit. */
const KEY_BITS = 3

/** Keys of a map; null for another value. Part of a walk: it throws when the walks of a run have been long enough. */
export function keysOf(map: Value): Value[] | null {
  const keys = listKeys(map)
  if (keys !== null) visit(keys.length >> KEY_BITS)
  return keys
}

function listKeys(map: Value): Value[] | null {
  if (typeof map !== 'object' || map === null) return null
  if (map instanceof TypedMap && map.uints !== null) {
    const { uints } = map
    return Array.from(map.keys(), (key) => (uints.has(key) ? new Uint(BigInt(key as number)) : key))
  }
  if (map instanceof Map) return Array.from(map.keys() as Iterable<MapKey>)
  if (map instanceof Fields) return Array.from(map.keys())
  return isPlain(map) ? Object.keys(map) : null
}

/** Entries of a map; -1 for another value. */
export function sizeOfMap(map: Value): number {
  if (map instanceof Map) return map.size
  return keysOf(map)?.length ?? -1
}

/** The value of a key that `keysOf` gave. */
export function valueAt(map: Value, key: Value): Value {
  const value = entryOf(map, keyOf(key)!)
  return value === undefined ? noSuchKey(String(key)) : value
}

/** `operand.field`; `missing` is the error for a map without it. Optionals answer with optionals. */
export function select(operand: Value, field: string, missing: CelError): Value {
  const value = entryOf(operand, field)
  if (value !== undefined) return value
  if (operand instanceof CelError) return operand
  if (operand instanceof Optional) return selectOptional(operand, field)
  if (isMap(operand)) return missing
  return new CelError('noSuchOverload', `${typeName(operand)} has no fields, so no .${field}`)
}

/** `operand.?field` */
export function selectOptional(operand: Value, field: string): Value {
  if (operand instanceof Optional) return operand.held === null ? NONE : selectOptional(operand.held.value, field)
  if (operand instanceof CelError) return operand
  const value = entryOf(operand, field)
  if (value !== undefined) return some(value)
  return isMap(operand) ? NONE : new CelError('noSuchOverload', `${typeName(operand)} has no fields, so no .?${field}`)
}

/** has(operand.field) */
export function hasField(operand: Value, field: string): Value {
  if (operand instanceof CelError) return operand
  if (operand instanceof Optional) return operand.held === null ? false : hasField(operand.held.value, field)
  if (entryOf(operand, field) !== undefined) return true
  return isMap(operand) ? false : new CelError('noSuchOverload', `has() of a field of ${typeName(operand)}`)
}

/** `operand[index]` */
export function at(operand: Value, index: Value): Value {
  if (operand instanceof CelError) return operand
  if (index instanceof CelError) return index
  if (operand instanceof Optional) return atOptional(operand, index)
  if (isList(operand)) return element(operand, index)
  if (!isMap(operand)) return new CelError('noSuchOverload', `${typeName(operand)} cannot be indexed`)
  const key = keyOf(index)
  const value = key === undefined ? undefined : entryOf(operand, key)
  return value === undefined ? noSuchKey(key === undefined ? typeName(index) : String(key)) : value
}

/** `operand[?index]` */
export function atOptional(operand: Value, index: Value): Value {
  if (operand instanceof Optional) return operand.held === null ? NONE : atOptional(operand.held.value, index)
  const value = at(operand, index)
  return value instanceof CelError && value.code === 'noSuchKey' ? NONE : some(value)
}

function element(list: List, index: Value): Value {
  const key = isInt(index) || index instanceof Double || index instanceof Uint ? keyOf(index) : undefined
  if (key === undefined || (typeof key === 'number' && !Number.isInteger(key))) {
    return new CelError('noSuchOverload', `a list has no index of type ${typeName(index)}`)
  }
  const value = list[Number(key as Int)]
  return value === undefined ? noSuchKey(`index ${key} of a list of ${list.length}`) : value
}

/** Builds what a map literal or a macro makes: all keys strings is the common case, and costs a plain Map. */
export class MapBuilder {
  readonly #map = new TypedMap()

  /** Adds an entry; an error for a bad or repeated key. */
  add(key: Value, value: Value): CelError | null {
    const stored = keyOf(key)
    if (stored === undefined || key instanceof Double || (typeof key === 'number' && !Number.isSafeInteger(key))) {
      return key instanceof CelError ? key : new CelError('range', `a map cannot have a key of type ${typeName(key)}`)
    }
    const map = this.#map
    if (map.has(stored)) return new CelError('range', `repeated key: ${stored}`)
    map.set(stored, value)
    if (key instanceof Uint) {
      map.uints ??= new Set()
      map.uints.add(stored)
    }
    return null
  }

  done(): Value {
    return this.#map
  }
}
