/**
 * How a library declares functions: one entry each, with the types of its arguments. The planner checks
 * types before it calls `run`, so `run` gets what it declares; it returns a CelError and never throws.
 */
import { CelError } from './errors.ts'
import { isList, isMap } from './maps.ts'
import { type Double, type Int, isDouble, isInt, Uint } from './numbers.ts'
import { Duration, type List, Optional, Timestamp, TypeValue, type Value } from './values.ts'

export type TypeName =
  | 'dyn'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null'
  | 'list'
  | 'map'
  | 'timestamp'
  | 'duration'
  | 'type'
  | 'optional'
  | 'ip'
  | 'cidr'
  | 'secret'

export interface Type<T extends Value = Value> {
  readonly name: TypeName
  readonly is: (value: Value) => value is T
}

export function type<T extends Value>(name: TypeName, is: (value: Value) => value is T): Type<T> {
  return { name, is }
}

/** Any value but an error. */
export const DYN = type('dyn', (value): value is Exclude<Value, CelError> => !(value instanceof CelError))
export const BOOL = type('bool', (value) => typeof value === 'boolean')
export const INT: Type<Int> = type('int', isInt)
export const UINT = type('uint', (value) => value instanceof Uint)
export const DOUBLE: Type<number | Double> = type('double', isDouble)
export const STRING = type('string', (value) => typeof value === 'string')
export const BYTES = type('bytes', (value) => value instanceof Uint8Array)
export const LIST: Type<List> = type('list', isList)
export const MAP = type('map', (value): value is Value => isMap(value))
export const TIMESTAMP = type('timestamp', (value) => value instanceof Timestamp)
export const DURATION = type('duration', (value) => value instanceof Duration)
export const TYPE = type('type', (value) => value instanceof TypeValue)
export const OPTIONAL = type('optional', (value) => value instanceof Optional)

type Values<A extends readonly Type[]> = { [I in keyof A]: A[I] extends Type<infer T> ? T : never }

export type Run = (...args: Value[]) => Value

/** One overload. */
export interface Declared {
  /** Full name; a method's first argument is its receiver. */
  readonly name: string
  readonly isMethod: boolean
  readonly args: readonly Type[]
  readonly result: Type
  readonly run: Run
  /** Takes any number of further arguments of the last type. */
  readonly variadic: boolean
  /** false: another result every time, never computed ahead. */
  readonly pure: boolean
  /** Work grows with the size of arguments or result, which counts towards the cost: unless a trait says otherwise. */
  readonly sized: boolean
  /** The only argument whose size counts; null: all of them. */
  readonly sizedBy: number | null
  /** Characters that one step pays for, as a power of two. */
  readonly stepBits: number
  /** Steps that one call adds to the cost of a run, when it costs more than most. */
  readonly steps: number
  /** Work for a constant argument, done once: gives the `run` to use instead, without `steps`. */
  readonly prepare: { readonly arg: number; readonly make: (constant: Value) => Run | CelError } | null
}

export interface Traits {
  readonly variadic?: true
  readonly impure?: true
  /** The same work whatever the size of its arguments: growth.test.ts measures it. */
  readonly isConstant?: true
  readonly sizedBy?: number
  readonly stepBits?: number
  readonly steps?: number
  readonly prepare?: Declared['prepare']
}

/** 256 characters: most functions go through them at memory speed. */
const STEP_BITS = 8

/** Types of values of any size. */
const UNBOUNDED: ReadonlySet<TypeName> = new Set(['dyn', 'string', 'bytes', 'list', 'map'])
const isUnbounded = ({ name }: Type): boolean => UNBOUNDED.has(name)

function declare<const A extends readonly Type[]>(
  name: string,
  isMethod: boolean,
  args: A,
  result: Type,
  run: (...args: Values<A>) => Value,
  traits: Traits
): Declared {
  return {
    name,
    isMethod,
    args,
    result,
    // Its arguments have been checked against `args` when it is called.
    run: run as unknown as Run,
    variadic: traits.variadic === true,
    pure: traits.impure !== true,
    sized: traits.isConstant !== true && (args.some(isUnbounded) || result === LIST),
    sizedBy: traits.sizedBy ?? null,
    stepBits: traits.stepBits ?? STEP_BITS,
    steps: traits.steps ?? 0,
    prepare: traits.prepare ?? null
  }
}

/** `name(a, b)` */
export function fn<const A extends readonly Type[]>(
  name: string,
  args: A,
  result: Type,
  run: (...args: Values<A>) => Value,
  traits: Traits = {}
): Declared {
  return declare(name, false, args, result, run, traits)
}

/** `a.name(b)` */
export function method<const A extends readonly Type[]>(
  name: string,
  args: A,
  result: Type,
  run: (...args: Values<A>) => Value,
  traits: Traits = {}
): Declared {
  return declare(name, true, args, result, run, traits)
}

/** `name(a, b)` and `a.name(b)` */
export function both<const A extends readonly Type[]>(
  name: string,
  args: A,
  result: Type,
  run: (...args: Values<A>) => Value,
  traits: Traits = {}
): Declared[] {
  return [fn(name, args, result, run, traits), method(name, args, result, run, traits)]
}

/** Whether `count` arguments fit. */
export function takes(declared: Declared, count: number): boolean {
  return declared.variadic ? count >= declared.args.length : count === declared.args.length
}

/** The declared type of argument number `i`. */
export function argType(declared: Declared, i: number): Type {
  return declared.args[Math.min(i, declared.args.length - 1)] ?? DYN
}

/** Text that cannot be read as what a function wants. */
export function invalid(message: string): CelError {
  return new CelError('invalid', message)
}
