/**
 * The one door to the expression engine for text that strangers send. RE2 runs in time linear in the
 * input, so a hostile path cannot make a worker think (JavaScript's own engine backtracks).
 */
import { RE2JS } from 're2js'

export interface Pattern {
  /** Whether the expression matches the whole text. */
  matches(text: string): boolean
}

/** Compiles an expression of RE2 syntax; throws an Error that says what is wrong with it. */
export function compilePattern(source: string): Pattern {
  return RE2JS.compile(source)
}

/** What is wrong with the expression, or null: for schemas, which collect problems. */
export function patternProblem(source: string): string | null {
  try {
    compilePattern(source)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
