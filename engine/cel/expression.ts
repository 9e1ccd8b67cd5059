/** Expressions of a configuration: checked where they are written, compiled where they run. */

import { Lru } from '#engine/kit/lru.ts'
import { enforcedAs, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { z } from '#engine/schema/schema.ts'
import type { Facts } from './exchange.ts'
import { type Compiled, compile, explain, type Program, type Roots, type Wanted } from './index.ts'

/** A compiled expression over an exchange. */
export type Expression = Program<Facts>

/** docs/specification.md#leaf-types: 1..16384 characters; a mistake is reported with its place in the expression. */
export const expression = (roots: Roots<Facts>, result: Wanted = 'any') =>
  z
    .string()
    .check(z.minLength(1), z.maxLength(16_384))
    .superRefine((source, context) => {
      const compiled = compileOnce(source, roots, result)
      if (compiled.ok) return
      for (const problem of compiled.problems) {
        context.addIssue({ code: 'custom', message: `expression ${explain(source, problem)}` })
      }
    }, enforcedAs(ONLY_GATEWAY))
    .meta({ description: 'A CEL expression' })

type Good = Compiled<Facts> & { readonly ok: true }

/**
 * Programs by their roots, and by wanted result and source. A thread meets each expression when it is
 * checked, when its policy is built, and again with every reload: a program has no state, so that once is
 * enough (15 us each; 3,000 of them are a third of the time that a configuration takes to load).
 */
const programs = new WeakMap<Roots<Facts>, Kept>()
/** 1,000 routes with 10 expressions each, and half as many that a reload replaces. */
const PROGRAMS_MAX = 16_384
/** Longer ones would make of the bound above no bound in bytes: they have one of their own. */
const SHORT_LENGTH_MAX = 1_024
/** Of all long sources together: one policy as long as an API server takes it, which takes 0.3 s to compile. */
const LONG_CHARS_MAX = 1_500_000

interface Kept {
  readonly short: Lru<string, Good>
  readonly long: Map<string, Good>
}

/** Sources of all that is kept in any `long`, the one that was kept first is forgotten first. */
const longOnes = new Map<Good, { readonly of: Map<string, Good>; readonly key: string }>()
let longChars = 0

function keepLong(of: Map<string, Good>, key: string, good: Good): void {
  of.set(key, good)
  longOnes.set(good, { of, key })
  longChars += key.length
  for (const [oldest, place] of longOnes) {
    if (longChars <= LONG_CHARS_MAX) return
    longOnes.delete(oldest)
    place.of.delete(place.key)
    longChars -= place.key.length
  }
}

function knownOf(roots: Roots<Facts>): Kept {
  const known = programs.get(roots) ?? { short: new Lru(PROGRAMS_MAX), long: new Map() }
  programs.set(roots, known)
  return known
}

function compileOnce(source: string, roots: Roots<Facts>, result: Wanted): Compiled<Facts> {
  const { short, long } = knownOf(roots)
  const isShort = source.length <= SHORT_LENGTH_MAX
  const key = `${result} ${source}`
  const before = isShort ? short.get(key) : long.get(key)
  if (before !== undefined) return before
  const compiled = compile(source, { roots, result })
  if (!compiled.ok) return compiled
  if (isShort) short.set(key, compiled)
  else keepLong(long, key, compiled)
  return compiled
}

/** Compiles what `expression` has accepted with the same roots. */
export function compileExpression(source: string, roots: Roots<Facts>, result: Wanted = 'any'): Expression {
  const compiled = compileOnce(source, roots, result)
  if (compiled.ok) return compiled.program
  throw new Error(`expression ${explain(source, compiled.problems[0]!)}`)
}
