/** Names of models that an account may use: exact ones, and patterns with stars. */

export class ModelNames {
  /** Without stars, in order. */
  readonly exact: readonly string[]
  readonly #known: ReadonlySet<string>
  readonly #patterns: readonly (readonly string[])[]

  constructor(names: readonly string[]) {
    this.exact = names.filter((name) => !name.includes('*'))
    this.#known = new Set(this.exact)
    this.#patterns = names.filter((name) => name.includes('*')).map((name) => name.split('*'))
  }

  has(model: string): boolean {
    return this.#known.has(model) || this.#patterns.some((pieces) => fits(pieces, model))
  }
}

/** `pieces`: what stands between the stars. Each is found as early as possible, so nothing is tried twice. */
function fits(pieces: readonly string[], text: string): boolean {
  const [first, last] = [pieces[0]!, pieces.at(-1)!]
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
