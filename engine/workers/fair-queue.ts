/** A bounded queue that callers share: each has its turn, and whoever has most waiting makes room for the others. */

interface Waiting<T> {
  readonly item: T
  readonly drop: (item: T) => void
}

export class FairQueue<T> {
  readonly #max: number
  /** Callers in the order of their turns. */
  readonly #callers = new Map<string, Waiting<T>[]>()
  #length = 0

  constructor(max: number) {
    this.#max = max
  }

  get length(): number {
    return this.#length
  }

  /** `drop` is called when it has to go, at once when nobody has more waiting than `caller`. */
  add(caller: string, item: T, drop: (item: T) => void): void {
    if (this.#length >= this.#max && !this.#makeRoom(caller)) {
      drop(item)
      return
    }
    const own = this.#callers.get(caller)
    if (own === undefined) this.#callers.set(caller, [{ item, drop }])
    else own.push({ item, drop })
    this.#length++
  }

  /** The next one of the caller whose turn it is. */
  take(): T | undefined {
    const [next] = this.#callers
    if (next === undefined) return undefined
    const [caller, own] = next
    const { item } = own.shift()!
    this.#length--
    this.#callers.delete(caller)
    if (own.length > 0) this.#callers.set(caller, own)
    return item
  }

  /** Drops the last one of the caller with the most, if that is more than `caller` would have then. */
  #makeRoom(caller: string): boolean {
    let most: Waiting<T>[] = []
    for (const own of this.#callers.values()) if (own.length > most.length) most = own
    if (most.length <= (this.#callers.get(caller)?.length ?? 0) + 1) return false
    const { item, drop } = most.pop()!
    this.#length--
    drop(item)
    return true
  }
}
