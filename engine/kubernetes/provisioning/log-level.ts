/**
 * Directives in env-filter syntax (`logging.level` of GatewayParameters) -> those that a process takes. What it cannot
 * carry out is refused: env-filter has filters by spans and their fields, and the process has no spans in its log.
 */
const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const
const LEVELS_TEXT = LEVELS.join(', ')
const TARGET = /^[A-Za-z0-9_:.-]+$/
const DIRECTIVES_MAX = 64

export type Directives = { readonly level: string } | { readonly message: string }

export function directivesOf(text: string): Directives {
  // Fields of spans have commas between them.
  const span = /[^,]*\[.*/.exec(text)
  if (span !== null)
    return { message: `${shown(span[0])} filters by span, which the gateway has not: use TARGET=LEVEL` }
  const directives = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (directives.length === 0) return { message: `must have a level: ${LEVELS_TEXT}` }
  if (directives.length > DIRECTIVES_MAX) return { message: `must have at most ${DIRECTIVES_MAX} directives` }
  const made: string[] = []
  for (const directive of directives) {
    const at = directive.indexOf('=')
    const target = directive.slice(0, Math.max(at, 0)).trim()
    const level = levelOf(directive.slice(at + 1).trim())
    if (level === null || (at >= 0 && !TARGET.test(target))) {
      // A word alone would be a target with all its lines to env-filter, which hides a misspelt level.
      return { message: `${shown(directive)} must be LEVEL or TARGET=LEVEL; levels: ${LEVELS_TEXT}` }
    }
    made.push(at < 0 ? level : `${target}=${level}`)
  }
  return { level: made.join(',') }
}

/** Levels are numbers, too: 0 is off, 5 is trace. */
function levelOf(text: string): string | null {
  if (/^[0-5]$/.test(text)) return LEVELS[Number(text)]!
  return LEVELS.find((level) => level === text.toLowerCase()) ?? null
}

const shown = (text: string) => JSON.stringify(text.slice(0, 64))
