/** Headers of an exchange as a map that finds names when they are asked for. */
import type { HeaderBlock } from '#engine/http/headers.ts'
import { Fields, type Value } from './values.ts'

/** Names in any case. One line is a string, several are a list: to join them is for the expression to say. */
export class HeaderFields extends Fields {
  readonly #block: HeaderBlock

  constructor(block: HeaderBlock) {
    super()
    this.#block = block
  }

  /** Lines by name, made when all names are asked for: each of a thousand would be looked for among a thousand. */
  #lines: Map<string, Value> | null = null

  get(key: string): Value | undefined {
    const name = key.toLowerCase()
    if (this.#lines !== null) return this.#lines.get(name)
    const block = this.#block
    const first = block.find(name, 0)
    // Nothing was added and there is no second line: by far the most headers.
    if (block.added === null && (first < 0 || block.find(name, first + 1) < 0)) {
      return first < 0 ? undefined : block.value(first)
    }
    const lines: string[] = []
    block.forEach((found, value) => {
      if (found.length === name.length && found.toLowerCase() === name) lines.push(value)
    })
    return lines.length > 1 ? lines : lines[0]
  }

  keys(): Iterable<string> {
    this.#lines ??= this.#byName()
    return this.#lines.keys()
  }

  #byName(): Map<string, Value> {
    const lines = new Map<string, string | string[]>()
    this.#block.forEach((field, value) => {
      const name = field.toLowerCase()
      const before = lines.get(name)
      if (before === undefined) lines.set(name, value)
      else if (typeof before === 'string') lines.set(name, [before, value])
      else before.push(value)
    })
    return lines
  }
}
