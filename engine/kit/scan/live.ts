/**
 * Where matches may have begun in text that is still arriving. The machine of an expression (RE2's own program) runs
 * over each character once, from every place at once; of two runs in the same state only the one that began earlier is
 * kept, so there are never more runs than instructions. What is asserted without reading (\b, ^, $) is taken as
 * true: a match may be thought possible that is not, never the other way round.
 */
import { type Machine, OPS } from '#engine/kit/pattern.ts'
import type { SearchText } from './search-text.ts'

const ASCII = 128

/** The first match at or behind `from`, as [start, end) in UTF-16 units; null when there is none. */
export type Search = (text: SearchText, from: number) => readonly [number, number] | null

/** What is searched for, and what stands in its place when it is masked. */
export interface Rule {
  readonly find: Search
  /** Every place where `find` may find something is one where it says that a match may begin. */
  readonly live: () => Liveness
  readonly mask: string
  /** A number with a fraction does not match, nor does a part of it. */
  readonly isInteger: boolean
}

/** One reading instruction: what it reads, and where that leads. */
interface State {
  /** One byte per ASCII character. */
  readonly ascii: Uint8Array
  readonly reads: (rune: number) => boolean
  /** Made when it is first needed. */
  next: Closure | null
  readonly out: number
}

/** What is reached without reading. */
interface Closure {
  /** Indices of reading instructions. */
  readonly states: readonly number[]
  readonly accepts: boolean
}

/** A machine prepared for running: shared by all texts. */
export class Shape {
  readonly #machine: Machine
  readonly states: readonly (State | null)[]
  readonly first: Closure
  /** ASCII characters that a match can begin with. */
  readonly firstAscii: Uint8Array

  constructor(machine: Machine) {
    this.#machine = machine
    this.states = machine.inst.map(({ op, out }, i) => {
      if (op <= OPS.nop) return null
      const reads = (rune: number) => machine.inst[i]!.matchRune(rune)
      return { ascii: Uint8Array.from({ length: ASCII }, (_, c) => Number(reads(c))), reads, next: null, out }
    })
    this.first = this.#closure(machine.start)
    this.firstAscii = Uint8Array.from({ length: ASCII }, (_, c) =>
      Number(this.first.states.some((pc) => this.states[pc]!.ascii[c] === 1))
    )
  }

  next(state: State): Closure {
    state.next ??= this.#closure(state.out)
    return state.next
  }

  #closure(from: number): Closure {
    const { inst } = this.#machine
    const seen = new Set<number>()
    const states: number[] = []
    const pending = [from]
    let accepts = false
    while (pending.length > 0) {
      const pc = pending.pop()!
      if (seen.has(pc)) continue
      seen.add(pc)
      const { op, out, arg } = inst[pc]!
      if (op === OPS.match) accepts = true
      else if (op > OPS.nop) states.push(pc)
      else if (op === OPS.alt || op === OPS.altMatch) pending.push(arg, out)
      else if (op !== OPS.fail) pending.push(out)
    }
    return { states, accepts }
  }
}

/** Where matches of one rule may have begun. Positions are the caller's. */
export interface Liveness {
  /** Beginning of the earliest of what might have matched since `take`; -1: there is none. */
  readonly accepted: number
  read(rune: number, position: number): void
  /** Where the earliest match begins that more text could begin, end or change; `fed` when there is none. */
  earliest(fed: number): number
  /**
   * What began before `position` has been looked at. `next`: a match that begins there or later, or -1: its run may
   * have been dropped for one that began earlier, and that an assertion or the match before it has undone since.
   */
  take(position: number, next: number): void
  /** Forgets what has begun. */
  reset(): void
}

/** One shape over one text. */
export class Live implements Liveness {
  readonly #shape: Shape
  readonly #seen: Int32Array
  #states: number[] = []
  /** Where the run in the state of the same index began: ascending. */
  #starts: number[] = []
  #nextStates: number[] = []
  #nextStarts: number[] = []
  #round = 0
  /** Beginnings of what might have matched since `take`: the earliest and the latest; -1: none. */
  accepted = -1
  #latest = -1
  /** Beginning of what might have matched with the last character as its end; -1: none. */
  #atEnd = -1

  constructor(shape: Shape) {
    this.#shape = shape
    this.#seen = new Int32Array(shape.states.length)
  }

  read(rune: number, position: number): void {
    this.#atEnd = -1
    if (this.#states.length === 0 && rune < ASCII && this.#shape.firstAscii[rune] === 0) return
    this.#round++
    this.#nextStates.length = 0
    this.#nextStarts.length = 0
    for (let i = 0; i < this.#states.length; i++) this.#step(this.#states[i]!, rune, this.#starts[i]!)
    for (const pc of this.#shape.first.states) this.#step(pc, rune, position)
    const [states, starts] = [this.#states, this.#starts]
    this.#states = this.#nextStates
    this.#starts = this.#nextStarts
    this.#nextStates = states
    this.#nextStarts = starts
  }

  #step(pc: number, rune: number, start: number): void {
    const state = this.#shape.states[pc]!
    if (rune < ASCII ? state.ascii[rune] === 0 : !state.reads(rune)) return
    const { states, accepts } = this.#shape.next(state)
    if (accepts) this.#accept(start)
    for (const next of states) {
      if (this.#seen[next] === this.#round) continue
      this.#seen[next] = this.#round
      this.#nextStates.push(next)
      this.#nextStarts.push(start)
    }
  }

  #accept(start: number): void {
    if (this.accepted < 0 || start < this.accepted) this.accepted = start
    if (this.#atEnd < 0 || start < this.#atEnd) this.#atEnd = start
    if (start > this.#latest) this.#latest = start
  }

  earliest(fed: number): number {
    const run = this.#starts.length === 0 ? fed : this.#starts[0]!
    // Behind the end of a match one character is awaited: what follows may be asserted (\b, $).
    return this.#atEnd >= 0 && this.#atEnd < run ? this.#atEnd : run
  }

  take(position: number, next: number): void {
    this.accepted = this.#latest >= position ? position : next
  }

  reset(): void {
    this.#states.length = 0
    this.#starts.length = 0
    this.#atEnd = -1
  }
}
