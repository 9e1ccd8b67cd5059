/** A bounded map that forgets what has not been used for longest. */
export class Lru<K, V> {
  readonly #max: number
  /** A Map iterates in order of insertion: the first key is the one used longest ago. */
  readonly #entries = new Map<K, V>()

  /** `max`: entries kept, at least 1. */
  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  /** In order of use, the one that will be forgotten next first. */
  values(): IterableIterator<V> {
    return this.#entries.values()
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  /** Returns what has been forgotten for it, if anything. */
  set(key: K, value: V): V | undefined {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#max) return undefined
    for (const [oldest, forgotten] of this.#entries) {
      this.#entries.delete(oldest)
      return forgotten
    }
    return undefined
  }
}
