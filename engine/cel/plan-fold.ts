/** Macros that visit elements. Each visit costs a step; a run without steps left is over. */
import type { Fold } from './ast.ts'
import { CelError, COST } from './errors.ts'
import type { Code, Frame } from './frame.ts'
import { sortBy } from './lib/lists.ts'
import { isList, isMap, keysOf, MapBuilder, valueAt } from './maps.ts'
import { dynamic, type Plan, type Planner } from './planner.ts'
import type { Scope } from './resolve.ts'
import { failure, type List, noOverload, type Value } from './values.ts'

/** What a fold is made of, planned. */
interface Parts {
  readonly op: Fold['op']
  readonly first: number
  /** -1 without a second variable. */
  readonly second: number
  readonly where: Code | null
  readonly body: Code
}

/** Visits one element; undefined to go on, or the result of the whole fold. */
type Visit = (frame: Frame) => Value | undefined

export function planFold(planner: Planner, node: Fold, scope: Scope | null): Plan {
  const range = planner.plan(node.range, scope).code
  let inner = planner.enter(node.first, scope)
  const first = inner.slot
  if (node.second !== null) inner = planner.enter(node.second, inner)
  const where = node.where === null ? null : planner.plan(node.where, inner).code
  const body = planner.plan(node.body, inner).code
  const parts = { op: node.op, first, second: node.second === null ? -1 : inner.slot, where, body }
  switch (node.op) {
    case 'all':
    case 'exists':
      return dynamic(anyCode(range, parts))
    case 'existsOne':
      return dynamic(existsOneCode(range, parts))
    case 'map':
    case 'filter':
    case 'transformList':
    case 'sortBy':
      return dynamic(listCode(range, parts))
    default:
      return dynamic(mapCode(range, parts))
  }
}

/** Sets the variables to each element in turn. */
function each(frame: Frame, range: Value, { op, first, second }: Parts, visit: Visit): Value | undefined {
  const { locals } = frame
  if (range instanceof CelError) return range
  if (isList(range)) {
    // Macros that make maps of one variable want a map.
    if (op === 'mapValues' || op === 'filterKeys') return noOverload(op, range)
    for (let i = 0; i < range.length; i++) {
      if (--frame.budget < 0 && frame.isOver()) return COST
      if (second < 0) locals[first] = range[i]!
      else {
        locals[first] = i
        locals[second] = range[i]!
      }
      const done = visit(frame)
      if (done !== undefined) return done
    }
    return undefined
  }
  if (!isMap(range)) return noOverload(op, range)
  for (const key of keysOf(range)!) {
    if (--frame.budget < 0 && frame.isOver()) return COST
    locals[first] = op === 'mapValues' ? valueAt(range, key) : key
    if (second >= 0) locals[second] = valueAt(range, key)
    const done = visit(frame)
    if (done !== undefined) return done
  }
  return undefined
}

/** all and exists: one element can decide, whatever errors the others are. */
function anyCode(range: Code, parts: Parts): Code {
  const { op, body, first, second } = parts
  const decisive = op === 'exists'
  return (frame) => {
    const values = range(frame)
    let result: Value = !decisive
    if (isList(values) && second < 0) {
      // The common case, without a closure per run.
      const { locals } = frame
      for (let i = 0; i < values.length; i++) {
        if (--frame.budget < 0 && frame.isOver()) return COST
        locals[first] = values[i]!
        const value = body(frame)
        if (value === decisive) return decisive
        if (value !== !decisive && result === !decisive) result = failure(op, value)
      }
      return result
    }
    const done = each(frame, values, parts, () => {
      const value = body(frame)
      if (value === decisive) return decisive
      if (value !== !decisive && result === !decisive) result = failure(op, value)
      return undefined
    })
    return done ?? result
  }
}

function existsOneCode(range: Code, parts: Parts): Code {
  return (frame) => {
    let count = 0
    const done = each(frame, range(frame), parts, () => {
      const value = parts.body(frame)
      if (typeof value !== 'boolean') return failure('existsOne', value)
      if (value) count++
      return undefined
    })
    return done ?? count === 1
  }
}

/** map, filter, transformList and sortBy. */
function listCode(range: Code, parts: Parts): Code {
  const { op, where, body, first } = parts
  return (frame) => {
    const values = range(frame)
    const out: Value[] = []
    const done = each(frame, values, parts, () => {
      if (where !== null) {
        const kept = where(frame)
        if (typeof kept !== 'boolean') return failure(op, kept)
        if (!kept) return undefined
      }
      const value = body(frame)
      if (op === 'filter') {
        if (typeof value !== 'boolean') return failure(op, value)
        if (value) out.push(frame.locals[first]!)
        return undefined
      }
      if (value instanceof CelError) return value
      out.push(value)
      return undefined
    })
    if (done !== undefined) return done
    return op === 'sortBy' ? sorted(frame, values, out) : out
  }
}

function sorted(frame: Frame, values: Value, keys: List): Value {
  frame.budget -= keys.length
  if (frame.isOver()) return COST
  return isList(values) ? sortBy(values, keys) : noOverload('sortBy', values)
}

/** transformMap, transformMapEntry, mapValues and filterKeys. */
function mapCode(range: Code, parts: Parts): Code {
  const { op, where, body } = parts
  return (frame) => {
    const values = range(frame)
    const keys = isList(values) ? null : keysOf(values)
    const out = new MapBuilder()
    let i = 0
    const done = each(frame, values, parts, () => {
      const key = keys === null ? i : keys[i]!
      i++
      if (where !== null) {
        const kept = where(frame)
        if (typeof kept !== 'boolean') return failure(op, kept)
        if (!kept) return undefined
      }
      const value = body(frame)
      if (value instanceof CelError) return value
      return add(op, out, key, value, values) ?? undefined
    })
    return done ?? out.done()
  }
}

function add(op: Fold['op'], out: MapBuilder, key: Value, value: Value, range: Value): Value | null {
  if (op === 'filterKeys') {
    if (typeof value !== 'boolean') return failure(op, value)
    return value ? out.add(key, valueAt(range, key)) : null
  }
  if (op !== 'transformMapEntry') return out.add(key, value)
  if (!isMap(value)) return noOverload(op, value)
  for (const inner of keysOf(value)!) {
    const error = out.add(inner, valueAt(value, inner))
    if (error !== null) return error
  }
  return null
}
