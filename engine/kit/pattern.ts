/**
 * The only import of the regular expression engine for untrusted text. RE2 runs in time linear in the input, so a
 * hostile path cannot hold a worker (JavaScript's own engine backtracks).
 */
import { RE2JS } from 're2js'
import { deterministic } from './deterministic.ts'
import { Lru } from './lru.ts'

export interface Pattern {
  /** Whether the expression matches the whole text. */
  matches(text: string): boolean
  /** Whether the expression matches somewhere in the text. */
  finds(text: string): boolean
  /**
   * The text with every match replaced; in `by`, $1 or \1 is a group, $$ and \\ are the signs themselves.
   * Null when the result might have more than `unitsMax` UTF-16 units. `onMatch` may throw: each match takes time
   * linear in what follows it, and all of them together do not.
   */
  replaceAll(text: string, by: string, unitsMax: number, onMatch?: () => void): string | null
}

/** One instruction of a compiled expression, as RE2's compiler numbers them. */
interface Instruction {
  readonly op: number
  readonly out: number
  /** The other way of a fork. */
  readonly arg: number
  matchRune(rune: number): boolean
}

/** An expression as a machine: what a search in text that is still arriving needs (scan/live.ts). */
export interface Machine {
  readonly inst: readonly Instruction[]
  readonly start: number
}

/** Operations of `Instruction`; all others read one character. */
export const OPS = { alt: 1, altMatch: 2, capture: 3, emptyWidth: 4, fail: 5, match: 6, nop: 7 } as const

/** The first match at or behind `from`, as [start, end) in UTF-16 units; null when there is none. */
export type Find = (text: string, from: number) => readonly [number, number] | null

/** How to find matches one after the other, and the machine that does. Throws like compilePattern. */
export function searchOf(source: string): { readonly find: Find; readonly machine: Machine } {
  const pattern = RE2JS.compile(source)
  const machine: Machine = pattern.re2Input.prog
  const find: Find = (text, from) => {
    const matcher = pattern.matcher(text)
    return matcher.find(from) ? [matcher.start(), matcher.end()] : null
  }
  return { find, machine }
}

/** By source: each is compiled when it is checked, when its route is built, and again with every reload. */
const known = new Lru<string, Pattern>(4_096)

/** Compiles an expression of RE2 syntax; throws an Error that says what is wrong with it. */
export function compilePattern(source: string): Pattern {
  const before = known.get(source)
  if (before !== undefined) return before
  const fast = deterministic(source)
  const pattern = fast === null ? new Re2(RE2JS.compile(source)) : new Deterministic(source, fast)
  known.set(source, pattern)
  return pattern
}

class Re2 implements Pattern {
  readonly #pattern: RE2JS

  constructor(pattern: RE2JS) {
    this.#pattern = pattern
  }

  matches(text: string): boolean {
    return this.#pattern.matches(text)
  }

  finds(text: string): boolean {
    return this.#pattern.test(text)
  }

  replaceAll(text: string, by: string, unitsMax: number, onMatch?: () => void): string | null {
    const counter = this.#pattern.matcher(text)
    let count = 0
    while (counter.find()) {
      count++
      if (text.length + count * by.length > unitsMax) return null
      onMatch?.()
    }
    // Groups are parts of matches, and matches are parts of the text: "$1" for each two characters at most.
    const groups = /[$\\]/.test(by) ? (by.length >> 1) * text.length : 0
    if (text.length + count * by.length + groups > unitsMax) return null
    return this.#pattern.matcher(text).replaceAll(by.replace(/\\(\d)/g, '$$$1').replaceAll('\\\\', '\\'))
  }
}

/** Searches with JavaScript's engine, in a twentieth of the time (700 ns -> 40 ns for a path); RE2 does the rest. */
class Deterministic implements Pattern {
  readonly #source: string
  readonly #fast: RegExp
  /** Made when it is needed: compiling takes 100 us and more. */
  #re2: Re2 | null = null

  constructor(source: string, fast: RegExp) {
    this.#source = source
    this.#fast = fast
  }

  matches(text: string): boolean {
    return this.#full().matches(text)
  }

  finds(text: string): boolean {
    return this.#fast.test(text)
  }

  replaceAll(text: string, by: string, unitsMax: number, onMatch?: () => void): string | null {
    return this.#full().replaceAll(text, by, unitsMax, onMatch)
  }

  #full(): Re2 {
    this.#re2 ??= new Re2(RE2JS.compile(this.#source))
    return this.#re2
  }
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
