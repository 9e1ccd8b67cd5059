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

/**
 * Programs by their roots, and by wanted result and source. A thread meets each expression when it is
 * checked, when its policy is built, and again with every reload: a program has no state, so that once is
 * enough (15 us each; 3,000 of them are a third of the time that a configuration takes to load).
 */
const programs = new WeakMap<Roots<Facts>, Lru<string, Compiled<Facts> & { readonly ok: true }>>()
/** 1,000 routes with 10 expressions each, and half as many that a reload replaces. */
const PROGRAMS_MAX = 16_384
/** Longer ones are rare, and would make of the bound above no bound in bytes. */
const KEPT_LENGTH_MAX = 1_024

function compileOnce(source: string, roots: Roots<Facts>, result: Wanted): Compiled<Facts> {
  let known = programs.get(roots)
  if (known === undefined) {
    known = new Lru(PROGRAMS_MAX)
    programs.set(roots, known)
  }
  const key = `${result} ${source}`
  const before = known.get(key)
  if (before !== undefined) return before
  const compiled = compile(source, { roots, result })
  if (compiled.ok && source.length <= KEPT_LENGTH_MAX) known.set(key, compiled)
  return compiled
}

/** Compiles what `expression` has accepted with the same roots. */
export function compileExpression(source: string, roots: Roots<Facts>, result: Wanted = 'any'): Expression {
  const compiled = compileOnce(source, roots, result)
  if (compiled.ok) return compiled.program
  throw new Error(`expression ${explain(source, compiled.problems[0]!)}`)
}
