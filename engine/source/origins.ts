/** Where values came from that a source has put elsewhere. */
import { type Path, pathText } from '#engine/schema/placed.ts'

export class Origins {
  /** By the text of the path where the value stands now. */
  readonly #known = new Map<string, Path>()

  /** What stands at `at`, with all below it, was written at `from`. The last that says it of a path holds. */
  add(at: Path, from: Path): void {
    this.#known.set(pathText(at), from)
  }

  /** Where that was written which stands at `path`: as the nearest known place around it says. */
  of(path: Path): Path {
    for (let length = path.length; length >= 0; length--) {
      const found = this.#known.get(pathText(path.slice(0, length)))
      if (found !== undefined) return [...found, ...path.slice(length)]
    }
    return path
  }
}
