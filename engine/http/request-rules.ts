/** What a listener does to requests before routing: the same over every transport and version of HTTP. */
import type { HeaderBlock } from './headers.ts'
import { PATH_DEFAULTS, type PathRules } from './path.ts'

export interface RequestRules {
  readonly paths: PathRules
  /**
   * Fields with "_" in their names. Servers that make variables of fields (CGI, WSGI, Rack, PHP) take "x_role" for
   * "x-role": a field that a policy has removed or set would be there again under its other name.
   */
  readonly headersWithUnderscores: 'keep' | 'drop' | 'reject'
}

/** As nginx and Apache have it, fields with underscores are dropped (Envoy keeps them). */
export const REQUEST_DEFAULTS: RequestRules = { paths: PATH_DEFAULTS, headersWithUnderscores: 'drop' }

const UNDERSCORE = '_'

/** Whether a field has "_" in its name; those that do are dropped with `drops`. */
export function hasUnderscores(block: HeaderBlock, drops: boolean): boolean {
  const { at, text, count } = block
  // Values have them often, names never: one search of the text, and one of the table where it finds any.
  let place = text.indexOf(UNDERSCORE)
  let isFound = false
  for (let i = 0; i < count && place >= 0; i++) {
    const start = at[i * 4]!
    const end = at[i * 4 + 1]!
    if (place < start) place = text.indexOf(UNDERSCORE, start)
    if (place < 0 || place >= end) continue
    isFound = true
    if (drops) block.drop(i)
  }
  return isFound
}
