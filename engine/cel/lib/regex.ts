/** Regular expressions of RE2 syntax: linear in the text, whatever the pattern. */

import { CelError, TEXT_UNITS_MAX, TOO_LONG } from '#engine/cel/errors.ts'
import { BOOL, both, type Declared, fn, invalid, method, type Run, STRING } from '#engine/cel/functions.ts'
import type { Value } from '#engine/cel/values.ts'
import { checkTime } from '#engine/cel/walk.ts'
import { Lru } from '#engine/kit/lru.ts'
import { compilePattern, type Pattern } from '#engine/kit/pattern.ts'

/** Patterns by source: a constant one is asked for twice while its expression is compiled, others by every run. */
const RECENT = new Lru<string, Pattern>(64)
/** Units of a pattern: compiling costs time and memory in proportion, more with counted repetitions. */
const PATTERN_UNITS_MAX = 1024

function compile(source: string): Pattern | CelError {
  if (source.length > PATTERN_UNITS_MAX) return invalid(`a pattern longer than ${PATTERN_UNITS_MAX} characters`)
  try {
    return compilePattern(source)
  } catch (error) {
    return invalid(`not a pattern of RE2: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function patternOf(source: string): Pattern | CelError {
  const known = RECENT.get(source)
  if (known !== undefined) return known
  const pattern = compile(source)
  if (!(pattern instanceof CelError)) RECENT.set(source, pattern)
  return pattern
}

function matches(text: string, source: string): Value {
  const pattern = patternOf(source)
  return pattern instanceof CelError ? pattern : pattern.finds(text)
}

function prepareMatches(source: Value): Run | CelError {
  const pattern = patternOf(source as string)
  return pattern instanceof CelError ? pattern : (text) => pattern.finds(text as string)
}

function replaceWith(pattern: Pattern, text: string, by: string): Value {
  return pattern.replaceAll(text, by, TEXT_UNITS_MAX, checkTime) ?? TOO_LONG
}

function regexReplace(text: string, source: string, by: string): Value {
  const pattern = patternOf(source)
  return pattern instanceof CelError ? pattern : replaceWith(pattern, text, by)
}

function prepareReplace(source: Value): Run | CelError {
  const pattern = patternOf(source as string)
  return pattern instanceof CelError ? pattern : (text, _, by) => replaceWith(pattern, text as string, by as string)
}

/** Steps of a pattern that is not known before the run: it may have to be compiled, which takes 100 us and more. */
const COMPILE_STEPS = 500

const MATCHES = { steps: COMPILE_STEPS, prepare: { arg: 1, make: prepareMatches } } as const
/** A match costs about a microsecond, and there may be one per character: 20 steps where `matches` needs none. */
const REPLACE_BITS = 3
const REPLACE = {
  stepBits: REPLACE_BITS,
  steps: COMPILE_STEPS,
  prepare: { arg: 1, make: prepareReplace }
} as const

export const REGEX: readonly Declared[] = [
  ...both('matches', [STRING, STRING], BOOL, matches, MATCHES),
  fn('regexReplace', [STRING, STRING, STRING], STRING, regexReplace, REPLACE),
  method('regexReplace', [STRING, STRING, STRING], STRING, regexReplace, REPLACE)
]
