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

  get(key: string): Value | undefined {
    const name = key.toLowerCase()
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
    const names = new Set<string>()
    this.#block.forEach((name) => {
      names.add(name.toLowerCase())
    })
    return names
  }
}
