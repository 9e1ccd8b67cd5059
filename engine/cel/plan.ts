/**
 * Tree -> closures. Everything that can be decided from the source is decided here: names, overload
 * candidates, constants, and which of a few fast shapes an operator has.
 */
import type { Bind, Conditional, Expr, Fallback, Ident, Index, ListNode, Logic, MapNode, Select, Unary } from './ast.ts'
import { CelError, noSuchKey } from './errors.ts'
import { type Code, Frame } from './frame.ts'
import { at, atOptional, fieldOf, hasField, isTreacherous, MapBuilder, select, selectOptional } from './maps.ts'
import { negate } from './numbers.ts'
import { planCall } from './plan-call.ts'
import { planFold } from './plan-fold.ts'
import { planBinary } from './plan-operator.ts'
import { constant, dynamic, type Plan, type Planner } from './planner.ts'
import { type Environment, lookup, meaningOf, pathOf, type Scope } from './resolve.ts'
import { type Reader, readerOf, type Variable, wholeOf } from './roots.ts'
import { Fields, failure, NONE, noOverload, Optional, some, TypeValue, type Value } from './values.ts'

export class TreePlanner implements Planner {
  readonly environment: Environment
  /** Slots that a frame needs. */
  slots = 0
  /** Paths of the host that loops read, by slot. */
  readonly #reads = new Map<string, number>()

  constructor(environment: Environment) {
    this.environment = environment
  }

  /** Slots that a frame needs for what loops read. */
  get reads(): number {
    return this.#reads.size
  }

  plan(node: Expr, scope: Scope | null): Plan {
    switch (node.kind) {
      case 'literal':
        return constant(node.value)
      case 'ident':
        return this.#name(node, scope)
      case 'select':
        return this.#select(node, scope)
      case 'index':
        return this.#index(node, scope)
      case 'call':
        return planCall(this, node, scope)
      case 'binary':
        return planBinary(this, node, scope)
      case 'unary':
        return this.#unary(node, scope)
      case 'logic':
        return this.#logic(node, scope)
      case 'conditional':
        return this.#conditional(node, scope)
      case 'list':
        return this.#list(node, scope)
      case 'map':
        return this.#map(node, scope)
      case 'fold':
        return planFold(this, node, scope)
      case 'bind':
        return this.#bind(node, scope)
      case 'fallback':
        return this.#fallback(node, scope)
      case 'struct':
        return constant(new CelError('unbound', `there is no message type ${node.name}`))
    }
  }

  enter(name: string, outer: Scope | null): Scope {
    const slot = outer === null ? 0 : outer.slot + 1
    this.slots = Math.max(this.slots, slot + 1)
    return { name, slot, outer }
  }

  fold(code: Code, operands: readonly Plan[], pure = true): Plan {
    if (!pure || operands.some((operand) => operand.constant === undefined)) return dynamic(code)
    try {
      return constant(code(new Frame([], []).begin(NOTHING, CONSTANT_BUDGET)))
    } catch {
      // Too large or too deep to walk over: the run will say so, if it comes this far.
      return dynamic(code)
    }
  }

  #name(node: Ident, scope: Scope | null): Plan {
    const local = node.absolute ? null : lookup(scope, node.name)
    if (local !== null) {
      const { slot } = local
      return dynamic((frame) => frame.locals[slot]!)
    }
    return this.#variable(node, scope) ?? constant(new CelError('unbound', `undeclared reference to ${node.name}`))
  }

  /** A path that begins with a variable of the host, as far as its fields are declared; else null. */
  #variable(node: Expr, scope: Scope | null): Plan | null {
    const path = pathOf(node)
    const meaning = path === null ? null : meaningOf(path, this.environment)
    if (path === null || meaning === null || meaning.used > path.names.length) return null
    if (meaning.kind === 'type')
      return meaning.used === path.names.length ? constant(new TypeValue(meaning.name)) : null
    let variable: Variable = meaning.variable
    let reader = readerOf(meaning.name, variable, null)
    for (const name of path.names.slice(meaning.used)) {
      const field =
        variable.fields !== undefined && Object.hasOwn(variable.fields, name) ? variable.fields[name] : undefined
      if (field === undefined) return null
      reader = readerOf(name, field, reader)
      variable = field
    }
    const name = path.names.join('.')
    const code = readCode(variable, reader, noSuchKey(name))
    return dynamic(scope === null ? code : this.#once(name, code))
  }

  /** Inside a macro: read at the first use and kept for the run, as a body is decoded and headers are searched. */
  #once(name: string, code: Code): Code {
    const slot = this.#reads.get(name) ?? this.#reads.size
    this.#reads.set(name, slot)
    return (frame) => (frame.reads[slot] ??= code(frame))
  }

  #select(node: Select, scope: Scope | null): Plan {
    const { field, optional, test } = node
    const isLocal = isOfMacro(node, scope)
    const declared = isLocal ? null : this.#variable(node, scope)
    if (declared !== null && test) return dynamic(testCode(declared.code))
    if (declared !== null && optional) return dynamic((frame) => optionally(declared.code(frame)))
    if (declared !== null) return declared
    const operand = this.plan(node.operand, scope)
    const { code } = operand
    if (test || optional) {
      const ask = test ? hasField : selectOptional
      // A variable that is not there now has no fields: that is an answer, and no error.
      const absent = node.operand.kind === 'ident' && !isLocal ? (test ? false : NONE) : null
      const isQuick = test && !isTreacherous(field)
      return this.fold(
        (frame) => {
          const value = code(frame)
          if (isQuick) {
            const isThere = fieldOf(value, field) !== undefined
            // Lazy fields are asked once.
            if (isThere || value instanceof Fields) return isThere
          }
          const isAbsent = absent !== null && value instanceof CelError && value.code === 'noSuchKey'
          return isAbsent ? absent : ask(value, field)
        },
        [operand]
      )
    }
    return this.fold(fieldCode(code, field), [operand])
  }

  #index(node: Index, scope: Scope | null): Plan {
    // The same as a select: a declared field may not be in its variable's value.
    const declared = node.optional || isOfMacro(node, scope) ? null : this.#variable(node, scope)
    if (declared !== null) return declared
    const operand = this.plan(node.operand, scope)
    const index = this.plan(node.index, scope)
    const { code } = operand
    const { constant: key, code: keyCode } = index
    if (node.optional) return this.fold((frame) => atOptional(code(frame), keyCode(frame)), [operand, index])
    if (typeof key !== 'string') return this.fold((frame) => at(code(frame), keyCode(frame)), [operand, index])
    return this.fold(fieldCode(code, key, true), [operand, index])
  }

  #unary(node: Unary, scope: Scope | null): Plan {
    const operand = this.plan(node.operand, scope)
    const { code } = operand
    if (node.op === '-') {
      return this.fold(
        (frame) => {
          const value = code(frame)
          return value instanceof CelError ? value : negate(value)
        },
        [operand]
      )
    }
    return this.fold(
      (frame) => {
        const value = code(frame)
        if (typeof value === 'boolean') return !value
        return value instanceof CelError ? value : noOverload('!', value)
      },
      [operand]
    )
  }

  /** && and ||: one term can decide, on whichever side of an error it stands. */
  #logic(node: Logic, scope: Scope | null): Plan {
    const decisive = node.op === '||'
    const plans: Plan[] = []
    for (const term of node.terms) {
      const plan = this.plan(term, scope)
      if (plan.constant === decisive) return constant(decisive)
      if (plan.constant !== !decisive) plans.push(plan)
    }
    if (plans.length === 0) return constant(!decisive)
    const codes = plans.map((plan) => plan.code)
    if (codes.length === 2) return this.fold(pairCode(decisive, codes[0]!, codes[1]!), plans)
    return this.fold((frame) => {
      let error: Value = !decisive
      for (let i = 0; i < codes.length; i++) {
        const value = codes[i]!(frame)
        if (value === decisive) return decisive
        if (value !== !decisive) error = failure(node.op, value)
      }
      return error
    }, plans)
  }

  #conditional(node: Conditional, scope: Scope | null): Plan {
    const test = this.plan(node.test, scope)
    const yes = this.plan(node.yes, scope)
    const no = this.plan(node.no, scope)
    if (test.constant === true) return yes
    if (test.constant === false) return no
    return this.fold(
      (frame) => {
        const value = test.code(frame)
        if (value === true) return yes.code(frame)
        if (value === false) return no.code(frame)
        return failure('?:', value)
      },
      [test, yes, no]
    )
  }

  #list(node: ListNode, scope: Scope | null): Plan {
    const plans = node.items.map((item) => this.plan(item.value, scope))
    const items = node.items.map(({ optional }, i) => ({ optional, code: plans[i]!.code }))
    return this.fold((frame) => {
      const list: Value[] = []
      for (const { code, optional } of items) {
        const value = code(frame)
        if (value instanceof CelError) return value
        if (!optional) list.push(value)
        else if (!(value instanceof Optional)) return noOverload('[?]', value)
        else if (value.held !== null) list.push(value.held.value)
      }
      return list
    }, plans)
  }

  #map(node: MapNode, scope: Scope | null): Plan {
    const plans = node.entries.flatMap(({ key, value }) => [this.plan(key, scope), this.plan(value, scope)])
    const entries = node.entries.map(({ optional }, i) => {
      return { optional, key: plans[2 * i]!.code, code: plans[2 * i + 1]!.code }
    })
    return this.fold((frame) => {
      const map = new MapBuilder()
      for (const { key, code, optional } of entries) {
        let value = code(frame)
        if (value instanceof CelError) return value
        if (optional) {
          if (!(value instanceof Optional)) return noOverload('{?}', value)
          if (value.held === null) continue
          value = value.held.value
        }
        const error = map.add(key(frame), value)
        if (error !== null) return error
      }
      return map.done()
    }, plans)
  }

  #bind(node: Bind, scope: Scope | null): Plan {
    const value = this.plan(node.value, scope)
    const inner = this.enter(node.name, scope)
    const { slot } = inner
    const body = this.plan(node.body, inner)
    if (node.op === 'bind') {
      // An error is a value like others: only code that reads the name sees it.
      return dynamic((frame) => {
        frame.locals[slot] = value.code(frame)
        return body.code(frame)
      })
    }
    return dynamic((frame) => {
      const optional = value.code(frame)
      if (optional instanceof CelError) return optional
      if (!(optional instanceof Optional)) return noOverload(node.op, optional)
      if (optional.held === null) return NONE
      frame.locals[slot] = optional.held.value
      const result = body.code(frame)
      if (node.op === 'optMap') return some(result)
      return result instanceof Optional || result instanceof CelError ? result : noOverload(node.op, optional, result)
    })
  }

  #fallback(node: Fallback, scope: Scope | null): Plan {
    const codes = node.choices.map((choice) => this.plan(choice, scope).code)
    const { skipsNull } = node
    return dynamic((frame) => {
      let value: Value = null
      for (const code of codes) {
        value = code(frame)
        if (!(value instanceof CelError) && !(skipsNull && value === null)) return value
      }
      return value
    })
  }
}

/** Whether it is no path, or one from a variable of a macro on. */
function isOfMacro(node: Expr, scope: Scope | null): boolean {
  const path = pathOf(node)
  return path === null || (!path.absolute && lookup(scope, path.names[0]!) !== null)
}

const NOTHING = Object.freeze({})
/** Steps for computing a constant: what needs more is left to the run. */
const CONSTANT_BUDGET = 10_000

function readCode(variable: Variable, reader: Reader, missing: CelError): Code {
  if (variable.fields !== undefined && !variable.isOpen)
    return (frame) => wholeOf(frame.context, variable, reader) ?? missing
  return (frame) => {
    const value = reader(frame.context)
    return value === undefined ? missing : (value as Value)
  }
}

function testCode(code: Code): Code {
  return (frame) => {
    const value = code(frame)
    return value instanceof CelError ? (value.code === 'noSuchKey' ? false : value) : true
  }
}

function optionally(value: Value): Value {
  return value instanceof CelError && value.code === 'noSuchKey' ? NONE : some(value)
}

/** `value.field` and `value["field"]` for a name that is known. */
function fieldCode(code: Code, field: string, isIndex = false): Code {
  const missing = noSuchKey(field)
  const rest = isIndex ? (value: Value) => at(value, field) : (value: Value) => select(value, field, missing)
  if (isTreacherous(field)) return (frame) => rest(code(frame))
  return (frame) => {
    const value = code(frame)
    const found = fieldOf(value, field)
    if (found !== undefined) return found
    return value instanceof Fields ? missing : rest(value)
  }
}

function pairCode(decisive: boolean, left: Code, right: Code): Code {
  const op = decisive ? '||' : '&&'
  return (frame) => {
    const a = left(frame)
    if (a === decisive) return decisive
    const b = right(frame)
    if (b === decisive) return decisive
    if (a !== !decisive) return failure(op, a)
    return b === !decisive ? b : failure(op, b)
  }
}
