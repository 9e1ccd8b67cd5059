/**
 * Values of all types, each once, found in time linear in their size. Not by JavaScript's hash of numbers, which has no
 * seed: 32,768 hostile ints take 1.9 s to go into one Set, and as texts, whose hash has one, 5 ms.
 */
import { isList, isMap, keysOf, valueAt } from './maps.ts'
import { comparable } from './numbers.ts'
import { Duration, Opaque, Optional, Timestamp, TypeValue, type Value } from './values.ts'
import { VISIT_BITS, visit } from './walk.ts'

export class ValueSet {
  readonly #texts = new Set<string>()
  readonly #others = new Set<string>()
  /** What equals nothing but itself. */
  readonly #objects = new Map<object, number>()

  /** False: it was there. */
  add(value: Value): boolean {
    if (typeof value === 'string') return this.#texts.size < this.#texts.add(value).size
    const name = this.#nameOf(value)
    return name === null || this.#others.size < this.#others.add(name).size
  }

  has(value: Value): boolean {
    if (typeof value === 'string') return this.#texts.has(value)
    const name = this.#nameOf(value)
    return name !== null && this.#others.has(name)
  }

  /** The same text for values that are equal, and another for others; null for what equals nothing: NaN is in it. */
  #nameOf(value: Value): string | null {
    const pieces: string[] = []
    return this.#write(value, pieces) ? pieces.join('') : null
  }

  #write(value: Value, into: string[]): boolean {
    visit()
    const number = comparable(value)
    if (number !== undefined) return !Number.isNaN(number) && into.push(numberName(number)) > 0
    if (typeof value === 'string') {
      visit(value.length >> VISIT_BITS)
      into.push(`s${value.length}:`, value)
    } else if (isList(value)) return this.#writeList(value, into)
    else if (typeof value !== 'object' || value === null) into.push(`${String(value)};`)
    else if (isMap(value)) return this.#writeMap(value, into)
    else if (value instanceof Optional) {
      into.push(value.held === null ? 'none;' : 'some:')
      return value.held === null || this.#write(value.held.value, into)
    } else into.push(this.#nameOfObject(value))
    return true
  }

  #writeList(list: readonly Value[], into: string[]): boolean {
    into.push(`l${list.length}:`)
    return list.every((item) => this.#write(item, into))
  }

  #writeMap(map: Value, into: string[]): boolean {
    const entries: string[] = []
    for (const key of keysOf(map)!) {
      const entry: string[] = []
      if (!this.#write(key, entry) || !this.#write(valueAt(map, key), entry)) return false
      entries.push(entry.join(''))
    }
    entries.sort()
    into.push(`m${entries.length}:`, entries.join(''))
    return true
  }

  #nameOfObject(value: object): string {
    if (value instanceof Uint8Array) {
      visit(value.length >> VISIT_BITS)
      return `x${value.length}:${Buffer.from(value.buffer, value.byteOffset, value.length).toString('latin1')}`
    }
    if (value instanceof Timestamp) return `t${value.nanos};`
    if (value instanceof Duration) return `d${value.nanos};`
    if (value instanceof TypeValue) return `type:${value.name};`
    if (value instanceof Opaque) return `${value.type}:${value.toString()};`
    const known = this.#objects.get(value) ?? this.#objects.size
    this.#objects.set(value, known)
    return `object${known};`
  }
}

/** Whole numbers in full, whatever their type: 1, 1u and 1.0 are equal. */
function numberName(value: number | bigint): string {
  return `n${typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value) ? BigInt(value) : value};`
}
