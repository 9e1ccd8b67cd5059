/**
 * A bounded queue with round-robin between owners. An owner is a path of names (an address, then a connection of it):
 * turns go round the names of the first level, and within one round those of the next. When the queue is full, the
 * owner with most entries loses its newest. Entries of one owner keep their order.
 */

/** One name, and what waits below it: further names, or items. */
class Branch<T> {
  size = 0
  /** In the order of their turns. */
  readonly below = new Map<string, Branch<T>>()
  readonly items: T[] = []
}

/** Lower ones first. */
export type Rank = (name: string) => number

export class RoundRobinQueue<T> {
  readonly #max: number
  readonly #root = new Branch<T>()
  readonly #paths = new Map<T, readonly string[]>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#paths.size
  }

  /** Those of the first level that wait, in the order of their turns. */
  get names(): Iterable<string> {
    return this.#root.below.keys()
  }

  /** In no order of turns. */
  [Symbol.iterator](): Iterator<T> {
    return this.#paths.keys()
  }

  /** `item` stands last of its owner. Returns what has to go for it, maybe itself; null: nothing. */
  add(item: T, path: readonly string[]): T | null {
    let at = this.#root
    at.size++
    for (const name of path) {
      let next = at.below.get(name)
      if (next === undefined) {
        next = new Branch()
        at.below.set(name, next)
      }
      at = next
      at.size++
    }
    at.items.push(item)
    this.#paths.set(item, path)
    return this.size > this.#max ? this.#dropOne(path) : null
  }

  /** Among those that have as much as the newcomer, it is the newcomer that goes. */
  #dropOne(newcomer: readonly string[]): T {
    let at = this.#root
    for (const name of newcomer) {
      let most = at.below.get(name)
      for (const branch of at.below.values()) if (most === undefined || branch.size > most.size) most = branch
      at = most!
    }
    const dropped = at.items.at(-1)!
    this.remove(dropped)
    return dropped
  }

  /**
   * The item whose turn it is; its owner stands last then. `rank`: of names, before turns count. `may`: false leaves
   * it where it is, and no owner has a turn.
   */
  next(rank?: Rank, may?: (item: T) => boolean): T | undefined {
    let at = this.#root
    while (at.below.size > 0) at = firstOf(at.below, rank)
    const item = at.items[0]
    if (item === undefined || may?.(item) === false) return undefined
    this.#leave(item, true)
    return item
  }

  /** Whether it was waiting. */
  remove(item: T): boolean {
    return this.#leave(item, false)
  }

  #leave(item: T, isTurn: boolean): boolean {
    const path = this.#paths.get(item)
    if (path === undefined) return false
    this.#paths.delete(item)
    let at = this.#root
    at.size--
    for (const name of path) {
      const { below } = at
      at = below.get(name)!
      at.size--
      if (isTurn || at.size === 0) below.delete(name)
      if (isTurn && at.size > 0) below.set(name, at)
    }
    at.items.splice(at.items.indexOf(item), 1)
    return true
  }
}

function firstOf<T>(below: ReadonlyMap<string, Branch<T>>, rank: Rank | undefined): Branch<T> {
  let first: Branch<T> | null = null
  let lowest = Number.POSITIVE_INFINITY
  for (const [name, branch] of below) {
    if (rank === undefined) return branch
    const own = rank(name)
    if (first !== null && own >= lowest) continue
    first = branch
    lowest = own
  }
  return first!
}
