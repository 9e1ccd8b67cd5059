/** Calls that are no calls: their arguments are not evaluated once, in order, before they run. */
import type { Bare, BindOp, Call, Expr, FoldOp } from './ast.ts'
import { Refusal } from './errors.ts'

type Grow = <T extends Expr>(bare: Bare<T>) => T
type BareCall = Bare<Call>

/** Macros on a value that visit its elements: how many arguments with one variable, and with two. */
interface FoldShape {
  readonly op: FoldOp
  /** Argument counts without the variables: [body] or [filter, body]. */
  readonly one: readonly number[]
  readonly two: readonly number[]
}

const FOLDS = table<FoldShape>({
  all: { op: 'all', one: [1], two: [1] },
  exists: { op: 'exists', one: [1], two: [1] },
  existsOne: { op: 'existsOne', one: [1], two: [1] },
  exists_one: { op: 'existsOne', one: [1], two: [1] },
  map: { op: 'map', one: [1, 2], two: [] },
  filter: { op: 'filter', one: [1], two: [] },
  sortBy: { op: 'sortBy', one: [1], two: [] },
  mapValues: { op: 'mapValues', one: [1], two: [] },
  filterKeys: { op: 'filterKeys', one: [1], two: [] },
  transformList: { op: 'transformList', one: [], two: [1, 2] },
  transformMap: { op: 'transformMap', one: [], two: [1, 2] },
  transformMapEntry: { op: 'transformMapEntry', one: [], two: [1, 2] }
})

/** Macros on a value that give it a name: value.with(x, body). */
const BINDS = table<BindOp>({ with: 'bind', optMap: 'optMap', optFlatMap: 'optFlatMap' })

/** Macros in the form of functions, by their full name. */
const FUNCTIONS = table<(call: BareCall, grow: Grow) => Expr>({
  has: expandHas,
  default: (call, grow) => {
    arity(call, 2, 'default(value, other)')
    return grow({ kind: 'fallback', at: call.at, end: call.end, choices: call.args, skipsNull: false })
  },
  coalesce: (call, grow) => {
    if (call.args.length === 0) arity(call, 1, 'coalesce(value, ...)')
    return grow({ kind: 'fallback', at: call.at, end: call.end, choices: call.args, skipsNull: true })
  },
  'cel.bind': (call, grow) => {
    arity(call, 3, 'cel.bind(name, value, body)')
    const [name, value, body] = call.args as [Expr, Expr, Expr]
    return grow({ kind: 'bind', at: call.at, end: call.end, op: 'bind', name: variable(name), value, body })
  },
  'cel.block': expandBlock,
  'cel.index': (call, grow) => hidden(call, grow, 1),
  'cel.iterVar': (call, grow) => hidden(call, grow, 2)
})

/** What the call is as a macro, or null when it is an ordinary call. Throws a Refusal at wrong arguments. */
export function expandMacro(call: BareCall, grow: Grow): Expr | null {
  const { target, name, args } = call
  if (target === null) return FUNCTIONS[name]?.(call, grow) ?? null
  const asFunction = target.kind === 'ident' ? FUNCTIONS[`${target.name}.${name}`] : undefined
  if (asFunction !== undefined) return asFunction(call, grow)
  const bind = BINDS[name]
  if (bind !== undefined && args.length === 2) {
    const [named, body] = args as [Expr, Expr]
    return grow({ kind: 'bind', at: call.at, end: call.end, op: bind, name: variable(named), value: target, body })
  }
  const fold = FOLDS[name]
  return fold === undefined ? null : expandFold(call, target, fold, grow)
}

/** Whether a call of this name would be a macro if its arguments fitted: for hints. */
export function macroNames(): string[] {
  return [...Object.keys(FOLDS), ...Object.keys(BINDS), ...Object.keys(FUNCTIONS)].filter((name) => !/\./.test(name))
}

function expandFold(call: BareCall, range: Expr, shape: FoldShape, grow: Grow): Expr | null {
  const { args, at, end } = call
  const count = args.length
  const hasTwo = shape.two.includes(count - 2)
  // map(x, filter, body) and a macro with two variables both have three arguments: only one of them exists per name.
  if (!hasTwo && !shape.one.includes(count - 1)) return null
  const variables = hasTwo ? 2 : 1
  const first = variable(args[0]!)
  const second = hasTwo ? variable(args[1]!) : null
  if (first === second) throw new Refusal(args[1]!.at, first.length, `the name ${first} is given twice`)
  const where = count - variables === 2 ? args[variables]! : null
  return grow({ kind: 'fold', at, end, op: shape.op, range, first, second, where, body: args[count - 1]! })
}

function expandHas(call: BareCall, grow: Grow): Expr {
  arity(call, 1, 'has(value.field)')
  const [arg] = call.args as [Expr]
  if (arg.kind !== 'select' || arg.test) throw new Refusal(arg.at, arg.end - arg.at, 'has() asks for a field: has(a.b)')
  const { operand, field, fieldAt, optional } = arg
  return grow({ kind: 'select', at: call.at, end: call.end, operand, field, fieldAt, optional, test: true })
}

/** cel.block([a, b, ...], body): each element may read those before it as cel.index(n). Optimisers write this. */
function expandBlock(call: BareCall, grow: Grow): Expr {
  arity(call, 2, 'cel.block([value, ...], body)')
  const [values, body] = call.args as [Expr, Expr]
  if (values.kind !== 'list') throw new Refusal(values.at, values.end - values.at, 'cel.block() takes a list of values')
  let inner = body
  for (let i = values.items.length - 1; i >= 0; i--) {
    const { value } = values.items[i]!
    inner = grow({ kind: 'bind', at: call.at, end: call.end, op: 'bind', name: `@index:${i}`, value, body: inner })
  }
  return inner
}

/** A variable that no source can name. */
function hidden(call: BareCall, grow: Grow, count: number): Expr {
  arity(call, count, `cel.${call.name} with ${count} number(s)`)
  const numbers = call.args.map((arg) => (arg.kind === 'literal' ? String(arg.value) : ''))
  if (numbers.includes('')) throw new Refusal(call.at, call.end - call.at, `cel.${call.name} takes numbers`)
  const name = `@${call.name}:${numbers.join(':')}`
  return grow({ kind: 'ident', at: call.at, end: call.end, name, absolute: false })
}

function variable(arg: Expr): string {
  if (arg.kind === 'ident' && !arg.absolute) return arg.name
  throw new Refusal(arg.at, arg.end - arg.at, 'expected a simple name for the variable')
}

function arity(call: BareCall, count: number, form: string): void {
  if (call.args.length === count) return
  throw new Refusal(call.nameAt, call.name.length, `wrong number of arguments; the form is ${form}`)
}

/** A table without the names that every object has. */
function table<T>(entries: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.assign(Object.create(null) as object, entries)
}
