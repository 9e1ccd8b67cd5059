/** The tree of an expression. Every node knows where it stands in the source, in UTF-16 units. */
import type { Value } from './values.ts'

interface Node {
  /** Offset of its first character. */
  readonly at: number
  /** Offset after its last character. */
  readonly end: number
  /** Nodes on the longest way down, itself included: bounds every recursion over the tree. */
  readonly height: number
}

export interface Literal extends Node {
  readonly kind: 'literal'
  readonly value: Value
}

export interface Ident extends Node {
  readonly kind: 'ident'
  readonly name: string
  /** Written with a leading dot: never a variable of a macro, never inside the container. */
  readonly absolute: boolean
}

/** `operand.field`, `operand.?field`, and with `test` the macro has(operand.field). */
export interface Select extends Node {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  readonly fieldAt: number
  readonly optional: boolean
  readonly test: boolean
}

/** `operand[index]` and `operand[?index]`. */
export interface Index extends Node {
  readonly kind: 'index'
  readonly operand: Expr
  readonly index: Expr
  readonly optional: boolean
}

export interface Call extends Node {
  readonly kind: 'call'
  readonly target: Expr | null
  readonly name: string
  readonly nameAt: number
  readonly args: readonly Expr[]
}

export type BinaryOp = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | '+' | '-' | '*' | '/' | '%'

export interface Binary extends Node {
  readonly kind: 'binary'
  readonly op: BinaryOp
  readonly opAt: number
  readonly left: Expr
  readonly right: Expr
}

export interface Unary extends Node {
  readonly kind: 'unary'
  readonly op: '!' | '-'
  readonly operand: Expr
}

/** A chain of && or of ||: one node for all its terms, so that a long list of cases is not a deep tree. */
export interface Logic extends Node {
  readonly kind: 'logic'
  readonly op: '&&' | '||'
  readonly terms: readonly Expr[]
}

export interface Conditional extends Node {
  readonly kind: 'conditional'
  readonly test: Expr
  readonly yes: Expr
  readonly no: Expr
}

export interface ListNode extends Node {
  readonly kind: 'list'
  readonly items: readonly { readonly value: Expr; readonly optional: boolean }[]
}

export interface MapNode extends Node {
  readonly kind: 'map'
  readonly entries: readonly { readonly key: Expr; readonly value: Expr; readonly optional: boolean }[]
}

/** `Name{field: value}`. Parsed so that it can be refused by name: there are no message types here. */
export interface Struct extends Node {
  readonly kind: 'struct'
  readonly name: string
}

export type FoldOp =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'
  | 'mapValues'
  | 'filterKeys'
  | 'sortBy'

/** A macro that visits every element of `range`. */
export interface Fold extends Node {
  readonly kind: 'fold'
  readonly op: FoldOp
  readonly range: Expr
  /** The element of a list, the key of a map. */
  readonly first: string
  /** With two variables: `first` is the index or key, this one the element or value. */
  readonly second: string | null
  readonly where: Expr | null
  readonly body: Expr
}

export type BindOp = 'bind' | 'optMap' | 'optFlatMap'

/** cel.bind(name, value, body), value.with(name, body), value.optMap(name, body), value.optFlatMap(name, body). */
export interface Bind extends Node {
  readonly kind: 'bind'
  readonly op: BindOp
  readonly name: string
  readonly value: Expr
  readonly body: Expr
}

/** default(value, other) and coalesce(a, b, ...): the first that is there; errors count as not there. */
export interface Fallback extends Node {
  readonly kind: 'fallback'
  readonly choices: readonly Expr[]
  /** null counts as not there. */
  readonly skipsNull: boolean
}

export type Expr =
  | Literal
  | Ident
  | Select
  | Index
  | Call
  | Binary
  | Unary
  | Logic
  | Conditional
  | ListNode
  | MapNode
  | Struct
  | Fold
  | Bind
  | Fallback

/** A node without its height, which `grow` finds. */
export type Bare<T extends Expr> = T extends Expr ? Omit<T, 'height'> : never

/** The nodes directly below, in the order of the source. */
export function childrenOf(node: Bare<Expr>): readonly Expr[] {
  switch (node.kind) {
    case 'literal':
    case 'ident':
    case 'struct':
      return []
    case 'select':
    case 'unary':
      return [node.operand]
    case 'index':
      return [node.operand, node.index]
    case 'call':
      return node.target === null ? node.args : [node.target, ...node.args]
    case 'binary':
      return [node.left, node.right]
    case 'logic':
      return node.terms
    case 'conditional':
      return [node.test, node.yes, node.no]
    case 'list':
      return node.items.map(({ value }) => value)
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value])
    case 'fold':
      return node.where === null ? [node.range, node.body] : [node.range, node.where, node.body]
    case 'bind':
      return [node.value, node.body]
    case 'fallback':
      return node.choices
  }
}

/** The greatest height of the nodes directly below; 0 when there are none. */
export function heightBelow(node: Bare<Expr>): number {
  return childrenOf(node).reduce((height, child) => Math.max(height, child.height), 0)
}

/** `a.b.c` as text, or null when the node is anything else than names and dots. */
export function qualifiedName(node: Expr): string | null {
  if (node.kind === 'ident') return node.name
  if (node.kind !== 'select' || node.optional || node.test) return null
  const operand = qualifiedName(node.operand)
  return operand === null ? null : `${operand}.${node.field}`
}
