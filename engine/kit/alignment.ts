/**
 * Where the entries of a list were in the list before: the very same objects. Made for long lists of which little
 * changes: what both have at the start and at the end is found by comparing alone.
 */
import { commonEnds } from './same-list.ts'

export class Alignment<T> {
  /** So many entries at the start are the same in both lists. */
  readonly start: number
  /** And so many at the end. */
  readonly end: number
  readonly #before: readonly T[]
  readonly #next: readonly T[]
  /** Of entries between the two, made when it is asked for. */
  #places: ReadonlyMap<T, number> | null = null

  constructor(before: readonly T[], next: readonly T[]) {
    const { start, end } = commonEnds(before, next)
    this.start = start
    this.end = end
    this.#before = before
    this.#next = next
  }

  /** Index in the list before of the entry with this index now; -1: it was not there. */
  placeOf(index: number): number {
    const { start, end } = this
    if (index < start) return index
    const [before, next] = [this.#before, this.#next]
    if (index >= next.length - end) return index - next.length + before.length
    this.#places ??= new Map(before.slice(start, before.length - end).map((entry, i) => [entry, start + i]))
    return this.#places.get(next[index]!) ?? -1
  }
}
