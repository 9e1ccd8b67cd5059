/** Patterns of model names: an exact name, or one star at its beginning or end, or the star alone. */

/** What belongs to the name that fits best: the exact one, else the longest pattern, else the first of those. */
export class ModelPatterns<T> {
  readonly #exact = new Map<string, T>()
  /** Longest first. */
  readonly #patterns: { readonly text: string; readonly isPrefix: boolean; readonly value: T }[] = []

  constructor(entries: Iterable<readonly [name: string, value: T]>) {
    for (const [name, value] of entries) {
      const isPrefix = name.endsWith('*')
      if (isPrefix) this.#patterns.push({ text: name.slice(0, -1), isPrefix, value })
      else if (name.startsWith('*')) this.#patterns.push({ text: name.slice(1), isPrefix, value })
      else if (!this.#exact.has(name)) this.#exact.set(name, value)
    }
    this.#patterns.sort((a, b) => b.text.length - a.text.length)
  }

  /** As they were listed, patterns with their stars. */
  get names(): readonly string[] {
    const patterns = this.#patterns.map(({ text, isPrefix }) => (isPrefix ? `${text}*` : `*${text}`))
    return [...this.#exact.keys(), ...patterns]
  }

  find(name: string): T | undefined {
    const exact = this.#exact.get(name)
    if (exact !== undefined) return exact
    for (const { text, isPrefix, value } of this.#patterns) {
      if (isPrefix ? name.startsWith(text) : name.endsWith(text)) return value
    }
    return undefined
  }

  /** What of `name` the star of the pattern stands for that fits it best; empty for an exact name. */
  starOf(name: string): string {
    if (this.#exact.has(name)) return ''
    const pattern = this.#patterns.find(({ text, isPrefix }) =>
      isPrefix ? name.startsWith(text) : name.endsWith(text)
    )
    if (pattern === undefined) return ''
    const { text, isPrefix } = pattern
    return isPrefix ? name.slice(text.length) : name.slice(0, name.length - text.length)
  }
}

/** `to` with what the star of `pattern` stands for in `name`, which fits it, in place of its own star. */
export function starFilled(to: string, pattern: string, name: string): string {
  return to.replace('*', () => new ModelPatterns([[pattern, null]]).starOf(name))
}
