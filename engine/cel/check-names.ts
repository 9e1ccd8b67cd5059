/** What to say about an undeclared name. */
import { nearestWord } from '#engine/kit/nearest.ts'
import type { Roots } from './roots.ts'
import { VARIABLES } from './variables.ts'

/** How many known names are listed when none is near. */
const LISTED_MAX = 16

export function checkNames(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const near = isReadElsewhere([name]) ? null : nearestWord(name, known)
  if (near !== null) return `did you mean ${near}?`
  const ofProxy = VARIABLES.proxy?.fields ?? {}
  if (known.includes('proxy') && Object.hasOwn(ofProxy, name)) return `did you mean proxy.${name}?`
  const shown = known.slice(0, LISTED_MAX).join(', ')
  const place = LATER[name] === undefined ? '' : `; ${name} ${LATER[name]}`
  return `known: ${shown}${known.length > LISTED_MAX ? ', ...' : ''}${place}`
}

const ANSWERED = 'is there once a backend is asked: in response parts, retry.condition and the access log'
/** Where those variables are that some places do not have yet. */
const LATER: Readonly<Record<string, string | undefined>> = {
  response: ANSWERED,
  backend: ANSWERED,
  llm: ANSWERED,
  mcp: 'is there in mcpAuthorization, in response parts and in the access log',
  llmRequest: ANSWERED
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
