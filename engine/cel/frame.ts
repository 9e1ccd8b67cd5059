/** One run of a program: what it was given, and what it has left to spend. */
import type { Value } from './values.ts'
import { isLate } from './walk.ts'

/** Steps between two looks at the clock: 50 us of macros. */
const STEPS_PER_LOOK = 1_000

/** What a frame has no context with, between two runs. */
const NOTHING: object = {}

export class Frame {
  context = NOTHING
  /** Variables of macros, by slot. */
  readonly locals: Value[]
  /** What loops read of the host, by slot: once per run. */
  readonly reads: (Value | undefined)[]
  /** Steps left until the next look at the clock. Below zero: ask `isOver`. */
  budget = 0
  /** Steps left after that; -1: there is no time left for them. */
  #reserve = 0

  constructor(locals: Value[], reads: (Value | undefined)[]) {
    this.locals = locals
    this.reads = reads
  }

  begin(context: object, stepsMax: number): this {
    this.context = context
    this.budget = Math.min(stepsMax, STEPS_PER_LOOK)
    this.#reserve = stepsMax - this.budget
    return this
  }

  /** It keeps nothing of its run. */
  end(): void {
    this.context = NOTHING
  }

  get hadNoTime(): boolean {
    return this.#reserve < 0
  }

  /** Whether steps or time are used up. The run is over then, whatever is answered. */
  isOver(): boolean {
    if (this.budget >= 0) return false
    if (this.#reserve > 0 && isLate()) this.#reserve = -1
    if (this.#reserve <= 0) return true
    const more = Math.min(this.#reserve, STEPS_PER_LOOK - this.budget)
    this.#reserve -= more
    this.budget += more
    return this.budget < 0
  }
}

/** A planned expression. Answers errors as values; throws only if a reader of the host does. */
export type Code = (frame: Frame) => Value
