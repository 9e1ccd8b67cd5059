/** Calls: overloads are narrowed to those with the right number of arguments; a run picks by types. */
import type { Call } from './ast.ts'
import { CelError, COST } from './errors.ts'
import type { Code, Frame } from './frame.ts'
import { argType, type Declared, DYN, type Run, takes } from './functions.ts'
import { constant, dynamic, type Plan, type Planner } from './planner.ts'
import { calleeOf, type Scope } from './resolve.ts'
import { readerOf, wholeOf } from './roots.ts'
import { noOverload, type Value } from './values.ts'

export function planCall(planner: Planner, node: Call, scope: Scope | null): Plan {
  if (node.target === null && node.name === 'variables' && node.args.length === 0) return planVariables(planner)
  const { overloads, args, name } = calleeOf(node, scope)
  const fitting = overloads.filter((declared) => takes(declared, args.length))
  const plans = args.map((arg) => planner.plan(arg, scope))
  if (overloads.length === 0) return constant(new CelError('unbound', `unbound function ${name}`))
  if (fitting.length === 0)
    return constant(new CelError('noSuchOverload', `no such overload: ${name} with ${args.length} arguments`))
  const pure = fitting.every((declared) => declared.pure)
  return planner.fold(callCode(name, fitting, plans), plans, pure)
}

/** All variables as one map. */
function planVariables(planner: Planner): Plan {
  const { roots } = planner.environment
  const readers = Object.entries(roots).map(([name, variable]) => ({
    name,
    variable,
    reader: readerOf(name, variable, null)
  }))
  return dynamic((frame) => {
    const map = new Map<string, Value>()
    for (const { name, variable, reader } of readers) {
      const value = wholeOf(frame.context, variable, reader)
      if (value !== undefined) map.set(name, value)
    }
    return map
  })
}

function callCode(name: string, overloads: readonly Declared[], plans: readonly Plan[]): Code {
  const codes = plans.map((plan) => plan.code)
  const only = overloads.length === 1 ? overloads[0]! : null
  if (codes.length === 1) return oneCode(name, overloads, codes[0]!)
  if (only === null || only.variadic || codes.length !== 2) return anyCode(name, overloads, plans)
  const run = prepared(only, plans)
  if (run instanceof CelError) return () => run
  const [a, b] = codes as [Code, Code]
  const isA = argType(only, 0).is
  const isB = argType(only, 1).is
  const isFree = only.steps === 0 && (!only.sized || isShort(only, plans))
  return (frame) => {
    const x = a(frame)
    const y = b(frame)
    if (!isA(x) || !isB(y)) return refuse(name, x, y)
    return isFree ? run(x, y) : pay(frame, only, run, [x, y])
  }
}

/** Whether the one argument whose size counts is known and takes no step. */
function isShort({ sizedBy, stepBits }: Declared, plans: readonly Plan[]): boolean {
  const value = sizedBy === null ? undefined : plans[sizedBy]?.constant
  return typeof value === 'string' && value.length >> stepBits === 0
}

function oneCode(name: string, overloads: readonly Declared[], code: Code): Code {
  const tests = overloads.map((declared): ((value: Value) => boolean) => declared.args[0]!.is)
  const pick = (value: Value): number => tests.findIndex((test) => test(value))
  // No value fits two types but for DYN, and mostly it is of the type of the last time.
  let last = 0
  return (frame) => {
    const value = code(frame)
    const i = tests[last]!(value) ? last : pick(value)
    if (i < 0) return refuse(name, value)
    const declared = overloads[i]!
    if (declared.args[0] !== DYN) last = i
    return declared.sized ? pay(frame, declared, declared.run, [value]) : declared.run(value)
  }
}

/** Any number of arguments and overloads: the first that takes all the values. */
function anyCode(name: string, overloads: readonly Declared[], plans: readonly Plan[]): Code {
  const runs = overloads.map((declared) => prepared(declared, plans))
  return (frame) => {
    const values: Value[] = []
    for (const plan of plans) values.push(plan.code(frame))
    const i = overloads.findIndex((candidate) => values.every((value, j) => argType(candidate, j).is(value)))
    if (i < 0) return refuse(name, ...values)
    const run = runs[i]!
    return run instanceof CelError ? run : pay(frame, overloads[i]!, run, values)
  }
}

/** The function with what it can do for its constant argument done. */
function prepared({ prepare, args, run }: Declared, plans: readonly Plan[]): Run | CelError {
  const value = prepare === null ? undefined : plans[prepare.arg]?.constant
  return prepare === null || value === undefined || !args[prepare.arg]!.is(value) ? run : prepare.make(value)
}

/**
 * Calls, and charges for expensive functions: fixed steps unless they were done ahead, the size of what goes in and
 * out. What is not paid for is not begun: a call can be longer than all the others together.
 */
function pay(frame: Frame, declared: Declared, used: Run, values: readonly Value[]): Value {
  const { steps, sized, sizedBy, stepBits, run } = declared
  if (used === run) frame.budget -= steps
  if (!sized) return used(...values)
  if (sizedBy !== null) spend(frame, values[sizedBy]!, stepBits)
  else for (let i = 0; i < values.length; i++) spend(frame, values[i]!, stepBits)
  if (frame.isOver()) return COST
  const result = used(...values)
  spend(frame, result, stepBits)
  return result
}

function refuse(name: string, ...values: readonly Value[]): Value {
  return values.find((value) => value instanceof CelError) ?? noOverload(name, ...values)
}

/** A step for each 2^stepBits characters, or 8 elements, that a function goes through. */
function spend(frame: Frame, value: Value, stepBits: number): void {
  if (typeof value === 'string') frame.budget -= value.length >> stepBits
  else if (Array.isArray(value)) frame.budget -= value.length >> 3
  else if (value instanceof Uint8Array) frame.budget -= value.length >> stepBits
}
