/** What can be wrong with an expression: a Problem when it is compiled, a CelError (a value) when it runs. */

/** A mistake in the source. Offsets are UTF-16 units into the source. */
export interface Problem {
  readonly offset: number
  readonly length: number
  readonly message: string
  /** How to mend it, when that is known. */
  readonly hint?: string
}

/** Stops the compiler at a mistake; never leaves engine/cel. */
export class Refusal extends Error {
  readonly problem: Problem

  constructor(offset: number, length: number, message: string, hint?: string) {
    super(message)
    this.problem = hint === undefined ? { offset, length, message } : { offset, length, message, hint }
  }
}

/** Line and column of an offset, both from 1; a column counts characters as an editor does (UTF-16 units). */
export function position(source: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 1
  let start = 0
  for (let i = source.indexOf('\n'); i >= 0 && i < offset; i = source.indexOf('\n', i + 1)) {
    line++
    start = i + 1
  }
  return { line, column: offset - start + 1 }
}

/** Characters of a line shown on each side of the mistake. */
const SHOWN_MAX = 60

/**
 * The problem for a person: message with line:column, the line, and a caret under the place.
 *
 *     1:9: request has no field "header"; did you mean "headers"?
 *       request.header['x'] == 'a'
 *               ^^^^^^
 */
export function explain(source: string, problem: Problem): string {
  const { line, column } = position(source, problem.offset)
  const text = source.split('\n')[line - 1]!.replaceAll('\t', ' ')
  const from = Math.max(0, column - 1 - SHOWN_MAX)
  const shown = text.slice(from, column - 1 + SHOWN_MAX)
  const carets = Math.max(1, Math.min(problem.length, shown.length - (column - 1 - from)))
  const pad = ' '.repeat(column - 1 - from)
  const hint = problem.hint === undefined ? '' : `; ${problem.hint}`
  return `${line}:${column}: ${problem.message}${hint}\n  ${shown}\n  ${pad}${'^'.repeat(carets)}`
}

/** Why an evaluation has no result. */
export type ErrorCode =
  | 'noSuchKey' // a field, key or index that is not there
  | 'noSuchOverload' // a function or operator that does not take these types
  | 'unbound' // an undeclared variable or function
  | 'overflow' // an integer outside of 64 bits
  | 'divideByZero'
  | 'range' // a value outside of what its type, or the operation, allows
  | 'invalid' // text that cannot be read as what was asked for
  | 'cost' // more steps than the limit
  | 'time' // longer than the limit
  | 'failed' // fail(), or a reader of the host

/** A failed evaluation: a value like others, passed up and never thrown. */
export class CelError {
  readonly code: ErrorCode
  readonly message: string

  constructor(code: ErrorCode, message: string) {
    this.code = code
    this.message = message
  }
}

export const OVERFLOW = new CelError('overflow', 'integer overflow')
export const DIVIDE_BY_ZERO = new CelError('divideByZero', 'division by zero')
export const COST = new CelError('cost', 'the expression needs more steps than its limit')
/** Longest text an expression may build, in UTF-16 units: concatenation doubles, and doubling is fast. */
export const TEXT_UNITS_MAX = 16 * 1024 * 1024
export const TOO_LONG = new CelError('range', `text longer than ${TEXT_UNITS_MAX} characters`)

export function noSuchKey(key: string): CelError {
  return new CelError('noSuchKey', `no such key: ${key}`)
}
