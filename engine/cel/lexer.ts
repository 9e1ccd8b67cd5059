/** Source text -> tokens, one at a time. */
import { Refusal } from './errors.ts'
import { numberLiteral, stringLiteral } from './literals.ts'
import type { Value } from './values.ts'

export type TokenKind = 'end' | 'ident' | 'field' | 'literal' | 'op'

/** How tightly the operators of two operands bind; 0: no such operator. */
const BINDING: ReadonlyMap<string, number> = new Map([
  ['||', 1],
  ['&&', 2],
  ['==', 3],
  ['!=', 3],
  ['<', 3],
  ['<=', 3],
  ['>', 3],
  ['>=', 3],
  ['in', 3],
  ['+', 4],
  ['-', 4],
  ['*', 5],
  ['/', 5],
  ['%', 5]
])

/** By character code: the operator that it is alone, and the one that it is when another character follows. */
const SINGLE_OPS: (string | undefined)[] = []
const DOUBLE_OPS: ({ readonly second: number; readonly text: string } | undefined)[] = []
for (const text of '!<>+-*/%?:.,()[]{}') SINGLE_OPS[text.charCodeAt(0)] = text
for (const text of ['&&', '||', '==', '!=', '<=', '>=']) {
  DOUBLE_OPS[text.charCodeAt(0)] = { second: text.charCodeAt(1), text }
}

/** Words that are no names at all, not even after a dot. */
const WORDS: Readonly<Record<string, Value>> = Object.assign(Object.create(null) as object, {
  true: true,
  false: false,
  null: null
})

export class Lexer {
  readonly source: string
  kind: TokenKind = 'end'
  /** Offsets of the current token. */
  start = 0
  end = 0
  /** Operator, or name without backticks. */
  text = ''
  /** How tightly the operator binds; 0 for other tokens. */
  binding = 0
  /** Value of a literal. */
  value: Value = null
  /** End of the token before the current one. */
  lastEnd = 0

  constructor(source: string) {
    this.source = source
    this.next()
  }

  /** Moves to the next token. Throws a Refusal where there is none. */
  next(): void {
    const { source } = this
    this.lastEnd = this.end
    this.binding = 0
    const start = skipBlank(source, this.end)
    this.start = start
    if (start >= source.length) {
      this.kind = 'end'
      this.end = start
      this.text = ''
      return
    }
    const c = source.charCodeAt(start)
    if (isLetter(c)) this.#word(start)
    else if (isDigit(c) || (c === 46 && isDigit(source.charCodeAt(start + 1)))) this.#take(numberLiteral(source, start))
    else if (c === 34 || c === 39) this.#take(stringLiteral(source, start, start))
    else if (c === 96) this.#backtick(start)
    else this.#operator(start)
  }

  #take(literal: { readonly value: Value; readonly end: number }): void {
    this.kind = 'literal'
    this.value = literal.value
    this.text = ''
    this.end = literal.end
  }

  #word(start: number): void {
    const { source } = this
    let end = start + 1
    while (isLetter(source.charCodeAt(end)) || isDigit(source.charCodeAt(end))) end++
    const quote = source.charCodeAt(end)
    if ((quote === 34 || quote === 39) && end - start <= 2 && isPrefix(source, start, end)) {
      this.#take(stringLiteral(source, start, end))
      return
    }
    const text = source.slice(start, end)
    this.end = end
    this.text = text
    const word = WORDS[text]
    if (word !== undefined) {
      this.kind = 'literal'
      this.value = word
    } else if (text === 'in') {
      this.kind = 'op'
      this.binding = 3
    } else this.kind = 'ident'
  }

  /** `name with-any.of/these` in backticks: a field, never a variable. */
  #backtick(start: number): void {
    const end = this.source.indexOf('`', start + 1)
    const text = this.source.slice(start + 1, end < 0 ? start + 1 : end)
    if (end < 0) throw new Refusal(start, 1, 'a field in backticks without its closing backtick')
    if (!/^[\w.\-/ ]+$/.test(text)) {
      throw new Refusal(start, end + 1 - start, 'a field in backticks has letters, digits, _ . - / and blanks only')
    }
    this.kind = 'field'
    this.text = text
    this.end = end + 1
  }

  #operator(start: number): void {
    const code = this.source.charCodeAt(start)
    const double = DOUBLE_OPS[code]
    const text = double?.second === this.source.charCodeAt(start + 1) ? double?.text : SINGLE_OPS[code]
    if (text === undefined) {
      const hints: Readonly<Record<string, string>> = { '=': 'write ==', '&': 'write &&', '|': 'write ||' }
      const shown = String.fromCodePoint(this.source.codePointAt(start)!)
      throw new Refusal(start, shown.length, `unexpected character ${JSON.stringify(shown)}`, hints[shown])
    }
    this.binding = BINDING.get(text) ?? 0
    this.kind = 'op'
    this.text = text
    this.end = start + text.length
  }
}

/** r, b and both, in either case and order. */
function isPrefix(source: string, start: number, end: number): boolean {
  const word = source.slice(start, end).toLowerCase()
  return word === 'r' || word === 'b' || word === 'rb' || word === 'br'
}

/** White space and comments (// to the end of the line). */
function skipBlank(source: string, from: number): number {
  let i = from
  for (;;) {
    const c = source.charCodeAt(i)
    if (c === 32 || (c >= 9 && c <= 13 && c !== 11)) i++
    else if (c === 47 && source.charCodeAt(i + 1) === 47) {
      while (i < source.length && source.charCodeAt(i) !== 10) i++
    } else return i
  }
}

function isLetter(c: number): boolean {
  return (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || c === 95
}

function isDigit(c: number): boolean {
  return c >= 48 && c <= 57
}
