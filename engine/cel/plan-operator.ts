/** Comparison, arithmetic and `in`, each with the shapes that rules mostly have: a value and a constant. */
import type { Binary, BinaryOp, Expr } from './ast.ts'
import { equal, equals, ordered } from './compare.ts'
import { CelError, COST, TEXT_UNITS_MAX, TOO_LONG } from './errors.ts'
import type { Code, Frame } from './frame.ts'
import { entryOf, isList, isMap, keyOf } from './maps.ts'
import { type ArithmeticOp, arithmetic } from './numbers.ts'
import type { Plan, Planner } from './planner.ts'
import type { Scope } from './resolve.ts'
import { durationOf, timestampOf } from './time.ts'
import { Duration, type List, type MapKey, noOverload, Optional, Timestamp, type Value } from './values.ts'

export function planBinary(planner: Planner, node: Binary, scope: Scope | null): Plan {
  if (node.op === '+') return planSum(planner, node, scope)
  const left = planner.plan(node.left, scope)
  const right = planner.plan(node.right, scope)
  return planner.fold(codeOf(node.op, left, right), [left, right])
}

/** a + b + c: from left to right in one closure. */
function planSum(planner: Planner, node: Binary, scope: Scope | null): Plan {
  const terms: Expr[] = []
  let first: Expr = node
  while (first.kind === 'binary' && first.op === '+') {
    terms.push(first.right)
    first = first.left
  }
  const plans = [first, ...terms.reverse()].map((term) => planner.plan(term, scope))
  const codes = plans.map((plan) => plan.code)
  return planner.fold((frame) => {
    let total = codes[0]!(frame)
    for (let i = 1; i < codes.length; i++) total = sum(frame, total, codes[i]!(frame))
    return total
  }, plans)
}

function codeOf(op: BinaryOp, left: Plan, right: Plan): Code {
  const { code: a } = left
  const { code: b } = right
  switch (op) {
    case '==':
      return equalCode(left, right)
    case '!=': {
      const same = equalCode(left, right)
      return (frame) => {
        const value = same(frame)
        return typeof value === 'boolean' ? !value : value
      }
    }
    case 'in':
      return right.constant !== undefined && isList(right.constant) ? inListCode(a, right.constant) : inCode(a, b)
    case '<':
    case '<=':
    case '>':
    case '>=':
      return orderCode(op, left, right)
    default:
      return (frame) => compute(op, a(frame), b(frame))
  }
}

/** With a string or a number that is known: one comparison of JavaScript. */
function equalCode(left: Plan, right: Plan): Code {
  const [{ code }, { constant }] = left.constant === undefined ? [left, right] : [right, left]
  if (typeof constant === 'string' || typeof constant === 'boolean' || constant === null) {
    return (frame) => {
      const value = code(frame)
      return value === constant || (value instanceof CelError ? value : false)
    }
  }
  if (typeof constant === 'number' && !Number.isNaN(constant)) {
    return (frame) => {
      const value = code(frame)
      return typeof value === 'number' ? value === constant : equals(value, constant)
    }
  }
  const { code: a } = left
  const { code: b } = right
  return (frame) => equals(a(frame), b(frame))
}

function orderCode(op: '<' | '<=' | '>' | '>=', left: Plan, right: Plan): Code {
  const { code: a } = left
  const { code: b, constant } = right
  if (typeof constant !== 'number') return (frame) => ordered(op, a(frame), b(frame))
  // One closure for each, not one that calls a second: a call costs more than the comparison.
  const otherwise = (value: Value) => ordered(op, value, constant)
  const codes: Record<typeof op, Code> = {
    '<': (frame) => {
      const value = a(frame)
      return typeof value === 'number' ? value < constant : otherwise(value)
    },
    '<=': (frame) => {
      const value = a(frame)
      return typeof value === 'number' ? value <= constant : otherwise(value)
    },
    '>': (frame) => {
      const value = a(frame)
      return typeof value === 'number' ? value > constant : otherwise(value)
    },
    '>=': (frame) => {
      const value = a(frame)
      return typeof value === 'number' ? value >= constant : otherwise(value)
    }
  }
  return codes[op]
}

/** In a list that is known: a look into a Set, for elements that have keys. */
function inListCode(code: Code, list: List): Code {
  const keys = new Set<MapKey>()
  const others: Value[] = []
  for (const item of list) {
    const key = keyOf(item)
    if (key === undefined) others.push(item)
    else if (!Number.isNaN(key)) keys.add(key)
  }
  return (frame) => {
    const value = code(frame)
    if (typeof value === 'string') return keys.has(value)
    if (value instanceof CelError) return value
    const key = keyOf(value)
    return key === undefined ? others.some((item) => equal(item, value)) : keys.has(key)
  }
}

function inCode(a: Code, b: Code): Code {
  return (frame) => {
    const value = a(frame)
    if (value instanceof CelError) return value
    const container = b(frame)
    return container instanceof CelError ? container : isIn(frame, value, container)
  }
}

function isIn(frame: Frame, value: Value, container: Value): Value {
  if (isList(container)) {
    frame.budget -= container.length >> 3
    if (frame.isOver()) return COST
    for (const item of container) if (equal(item, value)) return true
    return false
  }
  if (container instanceof Optional) return container.held === null ? false : isIn(frame, value, container.held.value)
  if (!isMap(container)) return noOverload('in', value, container)
  const key = keyOf(value)
  return key !== undefined && entryOf(container, key) !== undefined
}

function sum(frame: Frame, left: Value, right: Value): Value {
  if (typeof left === 'string' && typeof right === 'string') {
    const text = left + right
    if (text.length > TEXT_UNITS_MAX) return TOO_LONG
    frame.budget -= text.length >> 8
    return frame.isOver() ? COST : text
  }
  if (isList(left) && isList(right)) {
    frame.budget -= (left.length + right.length) >> 3
    return frame.isOver() ? COST : left.concat(right)
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    if (left.length + right.length > TEXT_UNITS_MAX) return TOO_LONG
    frame.budget -= (left.length + right.length) >> 8
    return frame.isOver() ? COST : new Uint8Array(Buffer.concat([left, right]))
  }
  return compute('+', left, right)
}

function compute(op: ArithmeticOp, a: Value, b: Value): Value {
  if (a instanceof CelError) return a
  if (b instanceof CelError) return b
  const number = arithmetic(op, a, b)
  if (number !== null) return number
  if (op === '+') {
    if (a instanceof Timestamp && b instanceof Duration) return timestampOf(a.nanos + b.nanos)
    if (a instanceof Duration && b instanceof Timestamp) return timestampOf(a.nanos + b.nanos)
    if (a instanceof Duration && b instanceof Duration) return durationOf(a.nanos + b.nanos)
  } else if (op === '-') {
    if (a instanceof Timestamp && b instanceof Timestamp) return durationOf(a.nanos - b.nanos)
    if (a instanceof Timestamp && b instanceof Duration) return timestampOf(a.nanos - b.nanos)
    if (a instanceof Duration && b instanceof Duration) return durationOf(a.nanos - b.nanos)
  }
  return noOverload(op, a, b)
}
