/** How many recorded exchanges of a provider came through: provider -> format of chat, or endpoint -> how many. */
export class Tally {
  readonly #counts = new Map<string, Map<string, number>>()

  add(provider: string, what: string, count = 1): void {
    const counts = this.#counts.get(provider) ?? new Map<string, number>()
    this.#counts.set(provider, counts)
    counts.set(what, (counts.get(what) ?? 0) + count)
  }

  addAll(other: Tally): void {
    for (const [provider, counts] of other.#counts) for (const [what, count] of counts) this.add(provider, what, count)
  }

  /** In the order of their names. */
  toJSON(): Readonly<Record<string, Readonly<Record<string, number>>>> {
    const sorted = <T>(map: ReadonlyMap<string, T>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(sorted(this.#counts).map(([name, counts]) => [name, Object.fromEntries(sorted(counts))]))
  }
}
