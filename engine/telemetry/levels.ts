/** Which log lines are wanted, in the env-filter syntax: "info", "warn,request=off", "upstream=debug". */

const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type Threshold = (typeof LEVELS)[number]
export type Level = Exclude<Threshold, 'off'>

/** What counts for targets that no directive names. */
const DEFAULT: Threshold = 'info'
const DIRECTIVES_MAX = 64

interface Directive {
  /** '' for every target. */
  readonly target: string
  readonly threshold: number
}

export class Levels {
  /** The text it was parsed from. */
  readonly text: string
  /** Longest target first: the most specific directive decides. */
  readonly #directives: readonly Directive[]

  constructor(text: string, directives: readonly Directive[]) {
    this.text = text
    this.#directives = directives
  }

  /** Whether lines of `level` from `target` are wanted. "a" also covers "a.b" and "a::b". */
  wants(level: Level, target: string): boolean {
    const directive = this.#directives.find((d) => covers(d.target, target))
    return LEVELS.indexOf(level) <= (directive?.threshold ?? LEVELS.indexOf(DEFAULT))
  }
}

/**
 * Parses directives: comma-separated, each `level` or `target=level`; a later one of the same target wins.
 * Throws an Error that names the directive at fault. A bare word that is no level is refused, where
 * env-filter would take a misspelt "inof" for a target and silence everything else.
 */
export function parseLevels(text: string): Levels {
  const parts = text.split(',')
  if (parts.length > DIRECTIVES_MAX) throw new Error(`log level: more than ${DIRECTIVES_MAX} directives`)
  const byTarget = new Map<string, Directive>()
  for (const part of parts) {
    const at = part.indexOf('=')
    const target = at < 0 ? '' : part.slice(0, at).trim()
    const name = part
      .slice(at + 1)
      .trim()
      .toLowerCase()
    const threshold = (LEVELS as readonly string[]).indexOf(name)
    if (threshold < 0 || (at >= 0 && !/^[\w.:-]+$/.test(target))) {
      throw new Error(
        `log level: "${part.trim().slice(0, 64)}" is not LEVEL or TARGET=LEVEL; levels: ${LEVELS.join(', ')}`
      )
    }
    byTarget.set(target, { target, threshold })
  }
  const directives = [...byTarget.values()].sort((a, b) => b.target.length - a.target.length)
  return new Levels(text, directives)
}

function covers(directive: string, target: string): boolean {
  if (directive === '' || directive === target) return true
  return target.startsWith(directive) && (target[directive.length] === '.' || target[directive.length] === ':')
}
