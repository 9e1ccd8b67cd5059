/** What to say about a name that nobody declared. */
import { nearestWord } from '#engine/kit/nearest.ts'

/** How many known names are listed when none is near. */
const LISTED_MAX = 16

export function checkNames(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const near = nearestWord(name, known)
  if (near !== null) return `did you mean ${near}?`
  const shown = known.slice(0, LISTED_MAX).join(', ')
  return `known: ${shown}${known.length > LISTED_MAX ? ', ...' : ''}`
}
