/** One run of a program: what it was given, and what it has left to spend. */
import type { Value } from './values.ts'

export class Frame {
  readonly context: object
  /** Variables of macros, by slot. */
  readonly locals: Value[]
  /** Steps left; below zero, the run is over. */
  budget: number

  constructor(context: object, locals: Value[], budget: number) {
    this.context = context
    this.locals = locals
    this.budget = budget
  }
}

/** A planned expression. Answers errors as values; throws only if a reader of the host does. */
export type Code = (frame: Frame) => Value

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
