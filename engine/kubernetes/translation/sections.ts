/** A configuration value that is put together from parts, and which object each place of it came from. */
import type { Path } from '#engine/schema/placed.ts'
import { placeText } from './conditions.ts'
import type { ObjectPlace, PartOrigin } from './parts.ts'

export class Sections {
  readonly #all: { readonly at: Path; readonly origins: readonly PartOrigin[] }[] = []

  /** What stands at `at` came from there. */
  add(at: Path, origins: readonly PartOrigin[]): void {
    if (origins.length > 0) this.#all.push({ at, origins })
  }

  /** As the nearest known place around it says. */
  placeOf(path: Path): ObjectPlace | null {
    let best: ObjectPlace | null = null
    let length = -1
    for (const { at, origins } of this.#all) {
      if (!beginsWith(path, at)) continue
      const inside = path.slice(at.length)
      for (const [inner, { key, path: from }] of origins) {
        const total = at.length + inner.length
        if (total < length || !beginsWith(inside, inner)) continue
        length = total
        best = { key, path: [...from, ...inside.slice(inner.length)] }
      }
    }
    return best
  }

  textOf(path: Path): string {
    const place = this.placeOf(path)
    return place === null ? 'another place' : placeText(place)
  }
}

const beginsWith = (path: Path, start: Path): boolean =>
  start.length <= path.length && start.every((key, i) => String(key) === String(path[i]))
