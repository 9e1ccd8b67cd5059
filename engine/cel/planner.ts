/** What planning one kind of node needs of planning the others (plan.ts). */
import type { Expr } from './ast.ts'
import type { Code } from './frame.ts'
import type { Environment, Scope } from './resolve.ts'
import type { Value } from './values.ts'

export interface Planner {
  readonly environment: Environment
  plan(node: Expr, scope: Scope | null): Plan
  /** A scope with one more variable, and its slot. */
  enter(name: string, outer: Scope | null): Scope
  /** Computes now what depends on nothing; `pure`: it would always be the same. */
  fold(code: Code, operands: readonly Plan[], pure?: boolean): Plan
}

/** What is planned: how to compute it, and its value when that is known already. */
export interface Plan {
  readonly code: Code
  readonly constant: Value | undefined
}

export function constant(value: Value): Plan {
  return { code: () => value, constant: value }
}

export function dynamic(code: Code): Plan {
  return { code, constant: undefined }
}
