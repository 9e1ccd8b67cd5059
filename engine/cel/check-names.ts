/** What to say about a name that nobody declared. */
import { nearestWord } from '#engine/kit/nearest.ts'
import type { Roots } from './roots.ts'
import { VARIABLES } from './variables.ts'

/** How many known names are listed when none is near. */
const LISTED_MAX = 16

export function checkNames(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const near = isReadElsewhere([name]) ? null : nearestWord(name, known)
  if (near !== null) return `did you mean ${near}?`
  const shown = known.slice(0, LISTED_MAX).join(', ')
  return `known: ${shown}${known.length > LISTED_MAX ? ', ...' : ''}`
}

/** Whether a gateway has a variable or field of that name, and only this place or this version cannot read it. */
export function isReadElsewhere(path: readonly string[]): boolean {
  let fields: Roots | undefined = VARIABLES
  for (const name of path) {
    if (fields === undefined || !Object.hasOwn(fields, name)) return false
    fields = fields[name]!.fields
  }
  return true
}
