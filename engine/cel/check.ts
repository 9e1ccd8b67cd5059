/**
 * What is wrong with a tree before it ever runs: undeclared names, wrong numbers of arguments, types
 * that cannot fit. Types are those of values, without parameters: whatever comes out of a list, a map
 * or JSON is dyn, and dyn fits everywhere. On its way it notes what an expression needs and costs.
 */

import { nearestWord } from '#engine/kit/nearest.ts'
import type { Binary, Call, Expr, Fold, Index, Select } from './ast.ts'
import { checkForms } from './check-forms.ts'
import { checkNames, isReadElsewhere } from './check-names.ts'
import { binaryType } from './check-operator.ts'
import { CostMeter } from './cost.ts'
import { CelError, type Problem } from './errors.ts'
import { argType, type Declared, type TypeName, takes } from './functions.ts'
import { functionNames, functionsNamed, methodNames, methodsNamed } from './library.ts'
import { macroNames } from './macros.ts'
import { calleeOf, type Environment, lookup, meaningOf, type Path, pathOf, type Scope } from './resolve.ts'
import type { Variable } from './roots.ts'
import { typeName } from './values.ts'

/** What a checked tree is known to be. */
export interface Checked {
  readonly type: TypeName
  readonly problems: readonly Problem[]
  /** Paths that it reads, each from its variable on; [] for all variables. */
  readonly paths: readonly (readonly string[])[]
  readonly cost: CostMeter
}

/** Checks a tree. `isLenient`: names and types are left to the run, needs and cost are found all the same. */
export function check(tree: Expr, environment: Environment, isLenient: boolean): Checked {
  const checker = new Checker(environment)
  const type = checker.type(tree, null)
  const problems = isLenient ? [] : [...checker.problems, ...checkForms(tree, environment)]
  return { type, problems, paths: checker.paths, cost: checker.cost }
}

class Checker {
  readonly problems: Problem[] = []
  readonly paths: (readonly string[])[] = []
  readonly cost = new CostMeter()
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** The type of a node, dyn after a problem in it. */
  type(node: Expr, scope: Scope | null): TypeName {
    this.cost.step()
    switch (node.kind) {
      case 'literal':
        return valueType(node.value)
      case 'ident':
      case 'select':
        return this.#path(node, scope)
      case 'index':
        return this.#index(node, scope)
      case 'call':
        return this.#call(node, scope)
      case 'binary':
        return this.#binary(node, scope)
      case 'unary':
        return this.#unary(node.op, node.operand, scope)
      case 'logic':
        for (const term of node.terms) this.#want('bool', term, scope, `${node.op} takes bools`)
        return 'bool'
      case 'conditional': {
        this.#want('bool', node.test, scope, 'the condition before ? is a bool')
        return common([this.type(node.yes, scope), this.type(node.no, scope)])
      }
      case 'list':
        for (const { value, optional } of node.items) {
          if (optional) this.#want('optional', value, scope, 'an element after ? is an optional')
          else this.type(value, scope)
        }
        return 'list'
      case 'map':
        return this.#map(node, scope)
      case 'fold':
        return this.#fold(node, scope)
      case 'bind': {
        const value = this.type(node.value, scope)
        const body = this.type(node.body, inside(node.name, node.op === 'bind' ? value : 'dyn', scope))
        return node.op === 'bind' ? body : 'optional'
      }
      case 'fallback':
        return common(node.choices.map((choice) => this.type(choice, scope)))
      case 'struct':
        return this.#problem(
          node.at,
          node.end,
          `there is no message type ${node.name}`,
          'maps are written {"name": value}'
        )
    }
  }

  #problem(from: number, to: number, message: string, hint?: string): TypeName {
    const place = { offset: from, length: Math.max(1, to - from), message }
    this.problems.push(hint === undefined ? place : { ...place, hint })
    return 'dyn'
  }

  #want(wanted: TypeName, node: Expr, scope: Scope | null, message: string): void {
    const found = this.type(node, scope)
    if (found !== wanted && found !== 'dyn') this.#problem(node.at, node.end, `${message}, not ${article(found)}`)
  }

  /** A name, or fields from a name on. */
  #path(node: Expr, scope: Scope | null): TypeName {
    const path = pathOf(node)
    if (path === null) return this.#selectOf(node as Select, scope)
    const local = path.absolute ? null : (lookup(scope, path.names[0]!) as Typed | null)
    if (local !== null) return path.nodes.length === 1 ? local.type : this.#selectType(node, local.type)
    const meaning = meaningOf(path, this.#environment)
    if (meaning === null) return this.#unknown(path)
    if (meaning.kind === 'type') return meaning.used === path.names.length ? 'type' : 'dyn'
    this.paths.push([meaning.name, ...path.names.slice(meaning.used)])
    return this.#fields(meaning.variable, path, meaning.used)
  }

  /** Fields of a variable, as far as they are declared. */
  #fields(root: Variable, path: Path, used: number): TypeName {
    let variable = root
    for (let i = used; i < path.names.length; i++) {
      const { fields, type } = variable
      const name = path.names[i]!
      const node = path.nodes[i]!
      const field = fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined
      if (fields === undefined || (field === undefined && variable.isOpen))
        return this.#selectType(path.nodes.at(-1)!, i === path.names.length - 1 ? type : 'dyn')
      if (field === undefined) {
        const from = node.kind === 'select' ? node.fieldAt : node.at
        const known = Object.keys(fields)
        const owner = path.names.slice(0, i).join('.')
        const isElsewhere = isReadElsewhere(path.names.slice(0, i + 1))
        const near = isElsewhere ? null : nearestWord(name, known)
        const hint = near === null ? `it has ${known.join(', ')}` : `did you mean ${JSON.stringify(near)}?`
        const message = isElsewhere
          ? `${owner}.${name} cannot be read here`
          : `${owner} has no field ${JSON.stringify(name)}`
        return this.#problem(from, node.end, message, hint)
      }
      variable = field
    }
    const last = path.nodes.at(-1)!
    if (last.kind === 'select' && last.test) return 'bool'
    return last.kind === 'select' && last.optional ? 'optional' : variable.type
  }

  #unknown(path: Path): TypeName {
    const [name] = path.names as [string]
    const { at, end } = path.nodes[0]!
    const hint = checkNames(name, Object.keys(this.#environment.roots))
    if (isReadElsewhere([name])) return this.#problem(at, end, `${name} cannot be read here`, hint)
    // `x-env: prod` in the file is an expression and no text.
    const quoted =
      path.nodes.length === 1 && hint?.startsWith('known') ? `a text needs quotes of its own; ${hint}` : hint
    return this.#problem(at, end, `no variable is called ${name}`, quoted)
  }

  #selectOf(node: Select, scope: Scope | null): TypeName {
    return this.#selectType(node, this.type(node.operand, scope))
  }

  /** What a field of a value of this type is. */
  #selectType(node: Expr, operand: TypeName): TypeName {
    if (operand !== 'dyn' && operand !== 'map' && operand !== 'optional') {
      const from = node.kind === 'select' ? node.fieldAt : node.at
      if (node.kind === 'select') return this.#problem(from, node.end, `${article(operand)} has no fields`)
    }
    if (node.kind === 'select' && node.test) return 'bool'
    return operand === 'optional' || (node.kind === 'select' && node.optional) ? 'optional' : 'dyn'
  }

  #index(node: Index, scope: Scope | null): TypeName {
    if (pathOf(node) !== null) return this.#path(node, scope)
    const operand = this.type(node.operand, scope)
    const index = this.type(node.index, scope)
    if (!['dyn', 'map', 'list', 'optional'].includes(operand)) {
      return this.#problem(node.at, node.end, `${article(operand)} cannot be indexed`)
    }
    if (operand === 'list' && !['dyn', 'int', 'uint', 'double'].includes(index)) {
      return this.#problem(node.index.at, node.index.end, `the index of a list is an int, not ${article(index)}`)
    }
    return operand === 'optional' || node.optional ? 'optional' : 'dyn'
  }

  #binary(node: Binary, scope: Scope | null): TypeName {
    const left = this.type(node.left, scope)
    const found = this.problems.length
    const right = this.type(node.right, scope)
    const [problem] = this.problems.slice(found)
    const name = problem === undefined ? null : hyphened(node)
    // `headers.x-team` is a subtraction: that there is no variable `team` is not what is wrong with it.
    if (name !== null) this.problems[found] = { ...problem!, hint: `- is minus; a name with - is written ["${name}"]` }
    const result = binaryType(node.op, left, right)
    if (result.type !== null) return result.type
    return this.#problem(node.opAt, node.opAt + node.op.length, result.message)
  }

  #unary(op: '!' | '-', operand: Expr, scope: Scope | null): TypeName {
    if (op === '!') {
      this.#want('bool', operand, scope, '! takes a bool')
      return 'bool'
    }
    const found = this.type(operand, scope)
    if (['dyn', 'int', 'double'].includes(found)) return found
    return this.#problem(operand.at, operand.end, `- takes an int or a double, not ${article(found)}`)
  }

  #map(node: Expr & { kind: 'map' }, scope: Scope | null): TypeName {
    for (const { key, value, optional } of node.entries) {
      const found = this.type(key, scope)
      if (!['dyn', 'string', 'int', 'uint', 'bool'].includes(found)) {
        this.#problem(key.at, key.end, `a key of a map cannot be ${article(found)}`)
      }
      if (optional) this.#want('optional', value, scope, 'a value after ? is an optional')
      else this.type(value, scope)
    }
    return 'map'
  }

  #fold(node: Fold, scope: Scope | null): TypeName {
    const range = this.type(node.range, scope)
    const needsMap = node.op === 'mapValues' || node.op === 'filterKeys'
    if (!['dyn', 'map', ...(needsMap ? [] : ['list'])].includes(range)) {
      const wanted = needsMap ? 'a map' : 'a list or a map'
      this.#problem(node.range.at, node.range.end, `${node.op}() visits ${wanted}, not ${article(range)}`)
    }
    const count = node.range.kind === 'list' ? node.range.items.length : null
    let inner = inside(node.first, node.second !== null && range === 'list' ? 'int' : 'dyn', scope)
    if (node.second !== null) inner = inside(node.second, 'dyn', inner)
    return this.cost.loop(count, () => {
      if (node.where !== null) this.#want('bool', node.where, inner, `the filter of ${node.op}() is a bool`)
      const isTest = ['all', 'exists', 'existsOne', 'filter', 'filterKeys'].includes(node.op)
      if (isTest) this.#want('bool', node.body, inner, `the test of ${node.op}() is a bool`)
      else this.type(node.body, inner)
      if (node.op === 'all' || node.op === 'exists' || node.op === 'existsOne') return 'bool'
      return needsMap || node.op.startsWith('transformMap') ? 'map' : 'list'
    })
  }

  #call(node: Call, scope: Scope | null): TypeName {
    if (node.target === null && node.name === 'variables' && node.args.length === 0) {
      this.paths.push([])
      return 'map'
    }
    const { overloads, args, name, isMethod } = calleeOf(node, scope)
    if (overloads.length === 0) return this.#unknownFunction(node, scope)
    const types = args.map((arg) => this.type(arg, scope))
    const from = node.nameAt
    const to = from + node.name.length
    const fitting = overloads.filter((declared) => takes(declared, args.length))
    if (fitting.length === 0) return this.#problem(from, to, `${name}() takes ${counts(overloads, isMethod)}`)
    const possible = fitting.filter((declared) => types.every((found, i) => fits(found, argType(declared, i).name)))
    if (possible.length === 0) {
      return this.#problem(from, to, `${name}() does not take (${types.join(', ')})`, forms(fitting, name, isMethod))
    }
    this.#constants(possible, args)
    if (possible.some(({ sized, sizedBy }) => sized && sizedBy === null))
      this.cost.scan(possible.some(({ prepare }) => prepare !== null))
    return common(possible.map((declared) => declared.result.name))
  }

  /** Constants that a function can do nothing with: patterns. */
  #constants(overloads: readonly Declared[], args: readonly Expr[]): void {
    for (const { prepare, args: wanted } of overloads) {
      const arg = prepare === null ? undefined : args[prepare.arg]
      if (prepare === null || arg?.kind !== 'literal' || !wanted[prepare.arg]!.is(arg.value)) continue
      const made = prepare.make(arg.value)
      if (made instanceof CelError) this.#problem(arg.at, arg.end, made.message)
    }
  }

  #unknownFunction(node: Call, scope: Scope | null): TypeName {
    const { target, name, nameAt } = node
    // What stands before and between is checked all the same.
    const owner = target?.kind === 'ident' && lookup(scope, target.name) === null ? target.name : null
    const isNamespace = owner !== null && functionNames().some((known) => known.startsWith(`${owner}.`))
    if (target !== null && !isNamespace) this.type(target, scope)
    // A first argument that is a name may be the variable of a mistyped macro: the others would complain of it.
    if (node.args[0]?.kind !== 'ident') for (const arg of node.args) this.type(arg, scope)
    const end = nameAt + name.length
    if (macroNames().includes(name)) {
      return this.#problem(
        nameAt,
        end,
        `wrong arguments for ${name}()`,
        'as in list.all(x, x > 0), map.all(k, v, v > 0)'
      )
    }
    if (target === null && methodsNamed(name).length > 0) {
      return this.#problem(nameAt, end, `${name} is not a function`, `write it after a value: value.${name}(...)`)
    }
    if (target !== null && functionsNamed(name).length > 0) {
      return this.#problem(nameAt, end, `${name} is not a method`, `write ${name}(value)`)
    }
    const known = target === null ? [...functionNames(), ...macroNames()] : [...methodNames(), ...macroNames()]
    if (!isNamespace) return this.#problem(nameAt, end, `no function is called ${name}`, checkNames(name, known))
    const inNamespace = functionNames().filter((full) => full.startsWith(`${owner}.`))
    return this.#problem(
      nameAt,
      end,
      `no function is called ${owner}.${name}`,
      checkNames(`${owner}.${name}`, inNamespace)
    )
  }
}

/** Scopes of the checker carry types; slots belong to the planner. */
interface Typed extends Scope {
  readonly type: TypeName
}

function inside(name: string, type: TypeName, outer: Scope | null): Scope {
  const scope: Typed = { name, slot: 0, outer, type }
  return scope
}

function fits(found: TypeName, wanted: TypeName): boolean {
  return found === wanted || found === 'dyn' || wanted === 'dyn'
}

function common(types: readonly TypeName[]): TypeName {
  const [first = 'dyn'] = types
  return types.every((type) => type === first) ? first : 'dyn'
}

function article(type: TypeName): string {
  return /^[aeiou]/.test(type) && type !== 'uint' ? `an ${type}` : `a ${type}`
}

function counts(overloads: readonly Declared[], isMethod: boolean): string {
  const numbers = [...new Set(overloads.map((declared) => declared.args.length - (isMethod ? 1 : 0)))].sort()
  return `${numbers.join(' or ')} argument${numbers.length === 1 && numbers[0] === 1 ? '' : 's'}`
}

function forms(overloads: readonly Declared[], name: string, isMethod: boolean): string {
  const shown = overloads.slice(0, 4).map(({ args }) => {
    const types = args.map((arg) => arg.name)
    return isMethod ? `${types[0]}.${name}(${types.slice(1).join(', ')})` : `${name}(${types.join(', ')})`
  })
  return `it takes ${shown.join(', ')}${overloads.length > 4 ? ', ...' : ''}`
}

const VALUE_TYPES: Readonly<Record<string, TypeName>> = { null_type: 'null' }

function valueType(value: Parameters<typeof typeName>[0]): TypeName {
  const name = typeName(value)
  return VALUE_TYPES[name] ?? (name as TypeName)
}

/** `a.x-b` without blanks: the name that may have been meant, x-b. */
function hyphened({ op, opAt, left, right }: Binary): string | null {
  if (op !== '-' || left.kind !== 'select' || right.kind !== 'ident') return null
  return left.end === opAt && right.at === opAt + 1 ? `${left.field}-${right.name}` : null
}
