/** What the routes of one listener were made of, counted: of thousands of routes those are looked at that change. */
import type { KnownBackend } from './backend-compiler.ts'
import type { CompiledPolicy } from './policy-cache.ts'

/** A policy of a route or of its references, or a backend. */
export type RoutePart = CompiledPolicy | KnownBackend

/** What is counted of a route; `parts` has each once. */
export interface Counted {
  readonly parts: readonly RoutePart[]
  /** It is the same wherever it stands. */
  readonly isMovable: boolean
}

/** One for the configurations of a listener that follow each other. A build that is refused leaves no trace. */
export class UsedParts {
  readonly #counts = new Map<RoutePart, number>()
  #immovable = 0
  /** By the build under way. */
  #changes = new Map<RoutePart, number>()
  #immovableChange = 0

  /** A build begins, with the routes that the one before had, but for `gone`. */
  begin(gone: readonly Counted[]): void {
    this.#changes = new Map()
    this.#immovableChange = 0
    for (const route of gone) this.#count(route, -1)
  }

  add(route: Counted): void {
    this.#count(route, 1)
  }

  /** Whether a route depends on where it stands. */
  get hasImmovable(): boolean {
    return this.#immovable + this.#immovableChange > 0
  }

  /** Parts of routes that are there. */
  *all(): Iterable<RoutePart> {
    for (const [part, count] of this.#counts) if (count + (this.#changes.get(part) ?? 0) > 0) yield part
    for (const part of this.#changes.keys()) if (!this.#counts.has(part)) yield part
  }

  /** What was built is in force. */
  keep(): void {
    for (const [part, change] of this.#changes) {
      const count = (this.#counts.get(part) ?? 0) + change
      if (count === 0) this.#counts.delete(part)
      else this.#counts.set(part, count)
    }
    this.#immovable += this.#immovableChange
    this.begin([])
  }

  #count({ parts, isMovable }: Counted, change: 1 | -1): void {
    for (const part of parts) this.#changes.set(part, (this.#changes.get(part) ?? 0) + change)
    if (!isMovable) this.#immovableChange += change
  }
}
