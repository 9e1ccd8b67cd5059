/** Did you mean: the known word that a mistyped one was probably meant to be. */
import { nearestWord } from '#engine/kit/nearest.ts'
import { realName } from '#engine/schema/names.ts'

/** The nearest of `words`, or null when none is near: a third of the letters may differ. */
export function nearest(word: string, words: readonly string[]): string | null {
  const real = realName(word)
  return words.includes(real) ? real : nearestWord(word, words)
}

/** Of a sentence. */
const LISTED_MAX = 32
/** Unknown names of one configuration that are compared with the known ones. */
const COMPARED_MAX = 64

/** "a, b, c"; of very many the first ones. */
export function listed(words: readonly string[]): string {
  const shown = words.slice(0, LISTED_MAX).join(', ')
  return words.length > LISTED_MAX ? `${shown} and ${words.length - LISTED_MAX} more` : shown
}

/** `nearest` for the unknown names of one configuration: thousands of them are not compared with thousands. */
export class Suggestions {
  #compared = 0

  nearest(word: string, words: readonly string[]): string | null {
    return ++this.#compared > COMPARED_MAX ? null : nearest(word, words)
  }
}

/** What to say about an unknown word: what was probably meant, and everything that is allowed. */
export function wordHint(word: string, words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined
  const near = nearest(word, words)
  // Neutral words are understood, and not proposed.
  const allowed = `allowed: ${words.filter((known) => realName(known) === known).join(', ')}`
  return near === null ? allowed : `did you mean "${near}"? ${allowed}`
}
