/**
 * Source text -> tree: precedence climbing over the grammar of the CEL specification (langdef.md), with
 * optional fields, indexes and elements. Macros become nodes of their own while their call is read.
 */
import { type Bare, type BinaryOp, type Expr, heightBelow, type ListNode, type MapNode, qualifiedName } from './ast.ts'
import { CelError, Refusal } from './errors.ts'
import { Lexer } from './lexer.ts'
import { MIN_INT_MAGNITUDE } from './literals.ts'
import { expandMacro } from './macros.ts'
import { comparable, negate } from './numbers.ts'

/** Characters of an expression (specification, CELExpression). */
export const SOURCE_UNITS_MAX = 16_384
/** Levels of a tree: every pass over it, and every run, recurses this deep at most. */
export const HEIGHT_MAX = 250

/** Reserved by the language: no variable or function, but a fine field or method. */
const RESERVED = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' ')
)

/** The tree of `source`. Throws a Refusal at the first mistake. */
export function parse(source: string): Expr {
  if (source.length > SOURCE_UNITS_MAX) {
    throw new Refusal(SOURCE_UNITS_MAX, 1, `longer than ${SOURCE_UNITS_MAX} characters`)
  }
  const parser = new Parser(source)
  return parser.whole()
}

/** What other languages write for an operator. */
const OPERATORS: Readonly<Record<string, string>> = { and: '&&', or: '||', is: '==' }

class Parser {
  readonly #lexer: Lexer
  #depth = 0

  constructor(source: string) {
    this.#lexer = new Lexer(source)
  }

  whole(): Expr {
    if (this.#atEnd()) throw new Refusal(0, 1, 'an empty expression')
    const expr = this.#expr()
    if (!this.#atEnd()) this.#unexpected('an operator or the end')
    return expr
  }

  /** Expr = ConditionalOr ["?" ConditionalOr ":" Expr] */
  #expr(): Expr {
    if (++this.#depth > HEIGHT_MAX) this.#tooDeep(this.#lexer.start)
    let expr = this.#binary(this.#unary(), 1)
    if (this.#lexer.text === '?' && this.#lexer.kind === 'op') {
      this.#lexer.next()
      const yes = this.#binary(this.#unary(), 1)
      this.#expect(':')
      const no = this.#expr()
      expr = this.#grow({ kind: 'conditional', at: expr.at, end: no.end, test: expr, yes, no })
    }
    this.#depth--
    return expr
  }

  /** Operators that bind at least as tightly as `least`, all of them left-associative. */
  #binary(first: Expr, least: number): Expr {
    let left = first
    for (;;) {
      const { binding, text, start } = this.#lexer
      if (binding < least) return left
      this.#lexer.next()
      let right = this.#unary()
      while (this.#lexer.binding > binding) right = this.#binary(right, this.#lexer.binding)
      const { at } = left
      const { end } = right
      if (text === '&&' || text === '||') {
        // A chain: `left` is of this very operator only if this loop made it, or parentheses did.
        const terms = left.kind === 'logic' && left.op === text ? [...left.terms, right] : [left, right]
        left = this.#grow({ kind: 'logic', at, end, op: text, terms })
      } else left = this.#grow({ kind: 'binary', at, end, op: text as BinaryOp, opAt: start, left, right })
    }
  }

  #unary(): Expr {
    const { kind, text, start } = this.#lexer
    if (kind !== 'op' || (text !== '!' && text !== '-')) return this.#postfix(this.#primary())
    if (++this.#depth > HEIGHT_MAX) this.#tooDeep(start)
    this.#lexer.next()
    const operand = this.#unaryOperand()
    this.#depth--
    const { end } = operand
    if (text === '-' && operand.kind === 'literal' && comparable(operand.value) !== undefined) {
      // The smallest int has no positive twin: sign and digits are one literal.
      const value = operand.value === MIN_INT_MAGNITUDE ? -MIN_INT_MAGNITUDE : negate(operand.value)
      if (!(value instanceof CelError)) return this.#grow({ kind: 'literal', at: start, end, value })
    }
    return this.#grow({ kind: 'unary', at: start, end, op: text, operand })
  }

  /** The operand of a sign, which alone may be the magnitude of the smallest int. */
  #unaryOperand(): Expr {
    if (this.#lexer.kind !== 'literal' || this.#lexer.value !== MIN_INT_MAGNITUDE) return this.#unary()
    const { start, end, value } = this.#lexer
    this.#lexer.next()
    return this.#grow({ kind: 'literal', at: start, end, value })
  }

  #primary(): Expr {
    const { kind, text, start, end, value } = this.#lexer
    if (kind === 'literal') {
      if (value === MIN_INT_MAGNITUDE) throw new Refusal(start, end - start, 'integer larger than 64 bits')
      this.#lexer.next()
      return this.#grow({ kind: 'literal', at: start, end, value })
    }
    if (kind === 'ident') return this.#name(start, false)
    if (kind === 'op') {
      if (text === '(') {
        this.#lexer.next()
        const inner = this.#expr()
        this.#expect(')')
        return inner
      }
      if (text === '[') return this.#list()
      if (text === '{') return this.#map()
      if (text === '.') {
        this.#lexer.next()
        return this.#name(start, true)
      }
    }
    return this.#unexpected('a value')
  }

  /** A variable, or a function with its arguments. */
  #name(at: number, absolute: boolean): Expr {
    const { kind, text: name, start, end } = this.#lexer
    if (kind !== 'ident') this.#unexpected('a name')
    if (RESERVED.has(name)) throw new Refusal(start, end - start, `${name} is a reserved word`)
    this.#lexer.next()
    if (!this.#at('(')) return this.#grow({ kind: 'ident', at, end, name, absolute })
    const args = this.#arguments()
    return this.#call({ kind: 'call', at, end: this.#lexer.lastEnd, target: null, name, nameAt: start, args })
  }

  #postfix(first: Expr): Expr {
    let expr = first
    for (;;) {
      if (this.#lexer.kind !== 'op') return expr
      const { text } = this.#lexer
      if (text === '.') expr = this.#member(expr)
      else if (text === '[') expr = this.#index(expr)
      else if (text === '{' && qualifiedName(expr) !== null) expr = this.#struct(expr)
      else return expr
    }
  }

  /** `.field`, `.?field`, `.method(...)` */
  #member(operand: Expr): Expr {
    this.#lexer.next()
    const optional = this.#skip('?')
    const { kind, text: field, start: fieldAt, end } = this.#lexer
    if (kind !== 'ident' && kind !== 'field') this.#unexpected('a field')
    this.#lexer.next()
    const { at } = operand
    if (kind === 'ident' && !optional && this.#at('(')) {
      const args = this.#arguments()
      const call = { kind: 'call', at, end: this.#lexer.lastEnd, target: operand, name: field, nameAt: fieldAt, args }
      return this.#call(call as Bare<Expr> & { kind: 'call' })
    }
    return this.#grow({ kind: 'select', at, end, operand, field, fieldAt, optional, test: false })
  }

  #index(operand: Expr): Expr {
    this.#lexer.next()
    const optional = this.#skip('?')
    const index = this.#expr()
    this.#expect(']')
    return this.#grow({ kind: 'index', at: operand.at, end: this.#lexer.lastEnd, operand, index, optional })
  }

  #arguments(): Expr[] {
    this.#lexer.next()
    const args: Expr[] = []
    while (!this.#at(')')) {
      args.push(this.#expr())
      if (!this.#skip(',')) break
      if (this.#at(')')) this.#unexpected('an argument')
    }
    this.#expect(')')
    return args
  }

  #list(): Expr {
    const at = this.#lexer.start
    const items: { value: Expr; optional: boolean }[] = []
    this.#lexer.next()
    while (!this.#at(']')) {
      const optional = this.#skip('?')
      items.push({ value: this.#expr(), optional })
      if (!this.#skip(',')) break
    }
    this.#expect(']')
    return this.#grow({ kind: 'list', at, end: this.#lexer.lastEnd, items } satisfies Bare<ListNode>)
  }

  #map(): Expr {
    const at = this.#lexer.start
    const entries: { key: Expr; value: Expr; optional: boolean }[] = []
    this.#lexer.next()
    while (!this.#at('}')) {
      const optional = this.#skip('?')
      const key = this.#expr()
      this.#expect(':')
      entries.push({ key, value: this.#expr(), optional })
      if (!this.#skip(',')) break
    }
    this.#expect('}')
    return this.#grow({ kind: 'map', at, end: this.#lexer.lastEnd, entries } satisfies Bare<MapNode>)
  }

  #struct(type: Expr): Expr {
    this.#lexer.next()
    while (!this.#at('}')) {
      this.#skip('?')
      if (this.#lexer.kind !== 'ident' && this.#lexer.kind !== 'field') this.#unexpected('a field')
      this.#lexer.next()
      this.#expect(':')
      this.#expr()
      if (!this.#skip(',')) break
    }
    this.#expect('}')
    return this.#grow({ kind: 'struct', at: type.at, end: this.#lexer.lastEnd, name: qualifiedName(type)! })
  }

  /** The call, or what the macro of this name makes of it. */
  #call(bare: Bare<Expr> & { kind: 'call' }): Expr {
    return expandMacro(bare, this.#grow) ?? this.#grow(bare)
  }

  /** Gives a node its height. An arrow, because macros are handed it. */
  readonly #grow = <T extends Expr>(bare: Bare<T>): T => {
    const height = heightBelow(bare as Bare<Expr>)
    if (height >= HEIGHT_MAX) this.#tooDeep(bare.at)
    // The one place where a node is not yet read-only: copying it here was a third of the parser's time.
    const node = bare as unknown as { height: number }
    node.height = height + 1
    return node as unknown as T
  }

  #atEnd(): boolean {
    return this.#lexer.kind === 'end'
  }

  #at(op: string): boolean {
    return this.#lexer.kind === 'op' && this.#lexer.text === op
  }

  #skip(op: string): boolean {
    if (!this.#at(op)) return false
    this.#lexer.next()
    return true
  }

  #expect(op: string): void {
    if (!this.#skip(op)) this.#unexpected(`"${op}"`)
  }

  #unexpected(wanted: string): never {
    const { kind, start, end, source } = this.#lexer
    const found = kind === 'end' ? 'the end' : JSON.stringify(source.slice(start, end))
    const operator = OPERATORS[source.slice(start, end)]
    const hint = operator === undefined ? undefined : `write ${operator}`
    throw new Refusal(start, Math.max(1, end - start), `expected ${wanted}, found ${found}`, hint)
  }

  #tooDeep(at: number): never {
    throw new Refusal(at, 1, `nested deeper than ${HEIGHT_MAX} levels`)
  }
}
