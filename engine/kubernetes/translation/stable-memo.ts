/** Results that are made of objects, and stay the same objects while they are equal. */

import { share } from '#engine/ir/share.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { Memo, type Objects } from '#engine/kubernetes/objects/objects.ts'

/** A Memo of plain data, made by one function of their names. */
export class StableMemo<T> {
  readonly #make: (name: string, objects: Objects) => T
  readonly #known = new Map<string, { readonly made: T; readonly kept: T }>()
  #memo = new Memo<T>()

  constructor(make: (name: string, objects: Objects) => T) {
    this.#make = make
  }

  /** How many names are known. */
  get size(): number {
    return this.#known.size
  }

  of(name: string, objects: Objects): T {
    const made = this.#memo.of(name, objects, (tracked) => this.#make(name, tracked))
    const known = this.#known.get(name)
    if (known !== undefined && known.made === made) return known.kept
    const kept = share(known?.kept, made)
    this.#known.set(name, { made, kept })
    return kept
  }

  /** Null: all objects. Gives the names of what has to be made anew. */
  changed(keys: Iterable<ObjectKey> | null): Set<string> {
    if (keys !== null) return this.#memo.changed(keys)
    this.#memo = new Memo()
    return new Set(this.#known.keys())
  }

  /** Makes anew what has these names, and gives the names of those that are other ones now. */
  refresh(names: Iterable<string>, objects: Objects): string[] {
    return [...names].filter((name) => {
      const known = this.#known.get(name)
      return this.of(name, objects) !== known?.kept
    })
  }

  forget(name: string): void {
    this.#known.delete(name)
    this.#memo.forget(name)
  }

  /** Forgets what has none of these names. */
  retain(names: { has(name: string): boolean }): void {
    for (const name of this.#known.keys()) {
      if (!names.has(name)) this.forget(name)
    }
  }
}
