/** Expressions of a configuration: checked where they are written, compiled where they run. */

import { z } from '#engine/schema/schema.ts'
import type { Facts } from './exchange.ts'
import { type Compiled, compile, explain, type Program, type Roots, type Wanted } from './index.ts'

/** A compiled expression over an exchange. */
export type Expression = Program<Facts>

/** Spec 2.1 CELExpression: length 1..16384; a mistake is reported with its place in the expression. */
export const expression = (roots: Roots<Facts>, result: Wanted = 'any') =>
  z
    .string()
    .min(1)
    .max(16_384)
    .superRefine((source, context) => {
      const compiled = compile(source, { roots, result })
      if (compiled.ok) return
      for (const problem of compiled.problems) {
        context.addIssue({ code: 'custom', message: `expression ${explain(source, problem)}` })
      }
    })
    .meta({ description: 'A CEL expression' })

/** Compiles what `expression` has accepted with the same roots. */
export function compileExpression(source: string, roots: Roots<Facts>, result: Wanted = 'any'): Expression {
  const compiled: Compiled<Facts> = compile(source, { roots, result })
  if (compiled.ok) return compiled.program
  throw new Error(`expression ${explain(source, compiled.problems[0]!)}`)
}
