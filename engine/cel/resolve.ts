/** Which variable, type or function a name means. */
import type { Call, Expr } from './ast.ts'
import type { Declared } from './functions.ts'
import { functionsNamed, methodsNamed } from './library.ts'
import type { Roots, Variable } from './roots.ts'

/** Variables of macros, innermost first. */
export interface Scope {
  readonly name: string
  readonly slot: number
  readonly outer: Scope | null
}

export function lookup(scope: Scope | null, name: string): Scope | null {
  let found = scope
  while (found !== null && found.name !== name) found = found.outer
  return found
}

/** Names of types, which are values. */
const TYPES = new Set([
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
  'optional_type',
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
  'net.IP',
  'net.CIDR'
])

/** `a.b["c"].d`: names joined by dots and constant indexes, from a variable on. */
export interface Path {
  /** The variable and what follows. */
  readonly names: readonly string[]
  /** nodes[i] ends with names[i]; nodes[0] is the identifier. */
  readonly nodes: readonly Expr[]
  readonly absolute: boolean
}

/** The path that a node is, or null. */
export function pathOf(node: Expr): Path | null {
  const names: string[] = []
  const nodes: Expr[] = []
  let at = node
  for (;;) {
    nodes.push(at)
    if (at.kind === 'ident') {
      names.push(at.name)
      return { names: names.reverse(), nodes: nodes.reverse(), absolute: at.absolute }
    }
    const isInside = at !== node
    if (at.kind === 'select' && !(isInside && (at.test || at.optional))) names.push(at.field)
    else if (at.kind === 'index' && !at.optional && at.index.kind === 'literal' && typeof at.index.value === 'string') {
      names.push(at.index.value)
    } else return null
    at = at.operand
  }
}

export interface Environment {
  readonly roots: Roots
  /** Names are looked up here first, and then one level further out each time; "" for none. */
  readonly container: string
}

export type Meaning =
  /** The first `used` names of the path are this variable. */
  | { readonly kind: 'variable'; readonly variable: Variable; readonly name: string; readonly used: number }
  | { readonly kind: 'type'; readonly name: string; readonly used: number }

/** What the longest possible beginning of a path means, macros' variables aside. */
export function meaningOf(path: Path, environment: Environment): Meaning | null {
  const { roots, container } = environment
  const [first] = path.names as [string]
  if (container === '' && Object.hasOwn(roots, first) && path.names.length === 1) {
    return { kind: 'variable', variable: roots[first]!, name: first, used: 1 }
  }
  for (const prefix of path.absolute ? [''] : prefixes(container)) {
    for (let used = dotted(path); used > 0; used--) {
      const name = prefix + (used === 1 ? first : path.names.slice(0, used).join('.'))
      if (Object.hasOwn(roots, name)) return { kind: 'variable', variable: roots[name]!, name, used }
      if (TYPES.has(name)) return { kind: 'type', name, used }
    }
  }
  return null
}

/** How many names are joined by dots before an index or a test comes. */
function dotted({ nodes }: Path): number {
  let count = 1
  for (const node of nodes.slice(1)) {
    if (node.kind !== 'select' || node.optional || node.test) break
    count++
  }
  return count
}

/** "a.b" -> "a.b.", "a.", "" */
function prefixes(container: string): string[] {
  const parts = container === '' ? [] : container.split('.')
  return [...parts.map((_, i) => `${parts.slice(0, parts.length - i).join('.')}.`), '']
}

export interface Callee {
  readonly overloads: readonly Declared[]
  /** What is evaluated for it: arguments, after the receiver if it is a method. */
  readonly args: readonly Expr[]
  /** As written, for messages. */
  readonly name: string
  readonly isMethod: boolean
}

/** The functions a call may mean: `a.b(c)` is the function a.b if there is one, else the method b. */
export function calleeOf(call: Call, scope: Scope | null): Callee {
  const { target, name, args } = call
  if (target === null) return { overloads: functionsNamed(name), args, name, isMethod: false }
  if (target.kind === 'ident' && lookup(scope, target.name) === null) {
    const full = `${target.name}.${name}`
    const overloads = functionsNamed(full)
    if (overloads.length > 0) return { overloads, args, name: full, isMethod: false }
  }
  return { overloads: methodsNamed(name), args: [target, ...args], name, isMethod: true }
}
