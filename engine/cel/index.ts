/**
 * The entry of engine/cel: source text -> a program that is run many times.
 *
 *     const compiled = compile('jwt.sub == "alice"', { roots, result: 'bool' })
 *     if (!compiled.ok) throw ... explain(source, compiled.problems[0])
 *     if (compiled.program.run(context) === true) ...
 */
import { check } from './check.ts'
import { type Cost, STEPS_MAX } from './cost.ts'
import { CelError, COST, type Problem, Refusal } from './errors.ts'
import { Frame } from './frame.ts'
import type { TypeName } from './functions.ts'
import { Needs } from './needs.ts'
import { parse } from './parser.ts'
import { TreePlanner } from './plan.ts'
import type { Roots } from './roots.ts'
import type { Value } from './values.ts'
import { Late, startWalks } from './walk.ts'

export type { Cost } from './cost.ts'
export { CelError, type ErrorCode, explain, type Problem, position } from './errors.ts'
export { HeaderFields } from './headers.ts'
export { toJson } from './json.ts'
export type { Needs } from './needs.ts'
export { Double, Uint } from './numbers.ts'
export type { Roots, Variable } from './roots.ts'
export { Duration, Fields, Timestamp, typeName, type Value } from './values.ts'
export { pick, VARIABLES } from './variables.ts'

/** What a caller can do with the result. */
export type Wanted = 'any' | 'bool' | 'string' | 'number'

export interface CompileOptions<C extends object> {
  /** What may be read, and how. */
  readonly roots: Roots<C>
  /** Refuses an expression whose type is known to be another; dyn passes, and the caller checks the value. */
  readonly result?: Wanted
  /** Steps per run (cost.ts); more is an error of code "cost". */
  readonly stepsMax?: number
  /** Names are looked up in this namespace first. */
  readonly container?: string
  /** Unknown names and clashing types are errors of the run, not of the configuration. */
  readonly isLenient?: boolean
}

export interface Program<C extends object> {
  readonly source: string
  /** dyn when only a run can tell. */
  readonly type: TypeName
  readonly needs: Needs
  readonly cost: Cost
  /** The value, or a CelError; never throws. The same program may run inside itself. */
  run(context: C): Value
}

export type Compiled<C extends object> =
  | { readonly ok: true; readonly program: Program<C> }
  /** All problems, in the order of the source. */
  | { readonly ok: false; readonly problems: readonly Problem[] }

const WANTED: Readonly<Record<Wanted, readonly TypeName[]>> = {
  any: [],
  bool: ['bool'],
  string: ['string'],
  number: ['int', 'uint', 'double']
}

/** Parses, checks and plans `source`. Never throws for a mistake in it. */
export function compile<C extends object>(source: string, options: CompileOptions<C>): Compiled<C> {
  try {
    return compileChecked(source, options)
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problems: [error.problem] }
    throw error
  }
}

function compileChecked<C extends object>(source: string, options: CompileOptions<C>): Compiled<C> {
  const { roots, result = 'any', stepsMax = STEPS_MAX, container = '', isLenient = false } = options
  // A program is given the C of its own options only, so its readers may take any object.
  const environment = { roots: roots as Roots, container }
  const tree = parse(source)
  const { type, problems, paths, cost } = check(tree, environment, isLenient)
  if (problems.length > 0) return { ok: false, problems: problems.toSorted((a, b) => a.offset - b.offset) }
  const wanted = WANTED[result]
  const place = { offset: tree.at, length: tree.end - tree.at }
  if (type !== 'dyn' && wanted.length > 0 && !wanted.includes(type)) {
    return { ok: false, problems: [{ ...place, message: `the result is ${type}, and ${result} is wanted here` }] }
  }
  startWalks()
  const planner = new TreePlanner(environment)
  const plan = planner.plan(tree, null)
  if (plan.constant instanceof CelError && !isLenient) {
    return { ok: false, problems: [{ ...place, message: `this always fails: ${plan.constant.message}` }] }
  }
  const { code } = plan
  const { slots, reads } = planner
  const frames = new Frames(slots, reads)
  const run = (context: C): Value => {
    const frame = frames.take().begin(context, stepsMax)
    startWalks()
    try {
      const value = code(frame)
      if (!frame.isOver()) return value
      return frame.hadNoTime ? tooLate(new Late()) : COST
    } catch (error) {
      if (error instanceof Late) return tooLate(error)
      // Readers belong to the host and a run is on the hot path of a request: what breaks there ends here.
      return new CelError('failed', error instanceof Error ? error.message : String(error))
    } finally {
      frames.give(frame)
    }
  }
  return { ok: true, program: { source, type, needs: new Needs(paths), cost, run } }
}

/** Frames of one program. Without macros all runs have the same one: it would be garbage of each rule and request. */
class Frames {
  readonly #slots: number
  readonly #reads: number
  #spare: Frame | null = null

  constructor(slots: number, reads: number) {
    this.#slots = slots
    this.#reads = reads
  }

  take(): Frame {
    const spare = this.#spare
    this.#spare = null
    return spare ?? new Frame(new Array<Value>(this.#slots), new Array<Value>(this.#reads))
  }

  give(frame: Frame): void {
    frame.end()
    if (this.#slots === 0 && this.#reads === 0) this.#spare = frame
  }
}

function tooLate({ message }: Late): CelError {
  return new CelError('time', message)
}
