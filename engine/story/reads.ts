/** Expressions of a policy with what they have read of one request. */
import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression } from '#engine/cel/expression.ts'
import { showReads } from '#engine/cel/show-reads.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HookOwner } from '#engine/contract/route.ts'

/** More of one policy are not shown. */
const SHOWN_MAX = 16

export function readsOf({ expressions }: HookOwner, ex: Exchange): string[] {
  if (expressions === undefined) return []
  const all = expressions()
  const shown = all.slice(0, SHOWN_MAX).flatMap((source) => readOf(source, ex) ?? [])
  return all.length > SHOWN_MAX ? [...shown, `${all.length - SHOWN_MAX} more`] : shown
}

/** Null: it is about the answer, or reads nothing. */
function readOf(source: string, ex: Exchange): string | null {
  const program = compiled(source)
  if (program === null || program.needs.paths.length === 0) return null
  return showReads(program, REQUEST_ROOTS, ex, compiled(source, 'bool') === null)
}

/** Null: there is no such expression. */
function compiled(source: string, type?: 'bool'): Expression | null {
  try {
    return compileExpression(source, REQUEST_ROOTS, type)
  } catch {
    // A configuration that is in force has no expression that does not compile: this one reads what comes later, or
    // makes a value of another type.
    return null
  }
}
