/**
 * Just enough of TypeScript's grammar to check project rules without a compiler: what is code, what is
 * comment or text, and where functions begin and end. TypeScript 7 has no parser API to call, and a
 * parser package only for this would be one dependency more. biome formats every file, which keeps
 * the guesses below (named where they are made) safe.
 */

export interface Scan {
  /** The source with comments and the insides of strings, templates and regular expressions as blanks. */
  readonly code: string
  /** The source with everything but comments as blanks. Both have the source's length and lines. */
  readonly comments: string
}

/** One function, method or arrow function. Offsets are into the source. */
export interface FunctionRange {
  /** '' for one without a name. */
  readonly name: string
  /** Where its parameter list opens. */
  readonly start: number
  readonly bodyStart: number
  /** Behind its last character. */
  readonly bodyEnd: number
}

/** Words after which a slash begins a regular expression, not a division. */
const BEFORE_REGEX = new Set(
  'await case delete do else extends in instanceof new of return throw typeof void yield'.split(' ')
)
/** Words before a parenthesis that do not name a function. */
const CONTROL = new Set('if for while switch catch with await'.split(' '))
/** Words that end the search for the return type in front of a brace: that brace opens something else. */
const NOT_A_TYPE = new Set('else try finally do return class interface enum import export static default'.split(' '))

const CLOSER_OF: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }
const OPENER_OF: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

/** Separates code from comments and text. Never fails: at worst the rest of a broken file is blank. */
export function scan(source: string): Scan {
  const scanner = new Scanner(source)
  while (scanner.at < source.length) scanner.step()
  return { code: scanner.code.join(''), comments: scanner.comments.join('') }
}

class Scanner {
  at = 0
  readonly code: string[]
  readonly comments: string[]
  readonly #source: string
  /** Open braces inside each template expression that we are in, innermost last. */
  readonly #templates: number[] = []
  /** The last piece of code that is not blank: one character, or a whole word. */
  #last = ''

  constructor(source: string) {
    this.#source = source
    this.code = Array.from({ length: source.length }, (_, i) => (source[i] === '\n' ? '\n' : ' '))
    this.comments = [...this.code]
  }

  step(): void {
    const source = this.#source
    const c = source[this.at]!
    const next = source[this.at + 1]
    if (c === '/' && next === '/') this.#comment(this.#until('\n', this.at))
    else if (c === '/' && next === '*') this.#comment(this.#until('*/', this.at + 2) + 2)
    else if (c === "'" || c === '"') this.#string(c)
    else if (c === '`') this.#template()
    else if (c === '/' && this.#regexMayStart()) this.#regex()
    else if (/[\w$]/.test(c)) this.#word()
    else this.#punctuation(c)
  }

  #until(text: string, from: number): number {
    const found = this.#source.indexOf(text, from)
    return found < 0 ? this.#source.length : found
  }

  #comment(end: number): void {
    for (let i = this.at; i < end && i < this.#source.length; i++) this.comments[i] = this.#source[i]!
    this.at = end
  }

  #keep(c: string): void {
    this.code[this.at++] = c
  }

  #string(quote: string): void {
    const source = this.#source
    this.#keep(quote)
    while (this.at < source.length && source[this.at] !== quote && source[this.at] !== '\n') {
      this.at += source[this.at] === '\\' ? 2 : 1
    }
    if (source[this.at] === quote) this.#keep(quote)
    this.#last = quote
  }

  /** From a backtick, or from the brace that ends an expression inside a template. */
  #template(): void {
    const source = this.#source
    this.#keep(source[this.at]!)
    while (this.at < source.length && source[this.at] !== '`') {
      if (source[this.at] === '$' && source[this.at + 1] === '{') {
        this.at++
        this.#keep('{')
        this.#templates.push(0)
        this.#last = '{'
        return
      }
      this.at += source[this.at] === '\\' ? 2 : 1
    }
    if (this.at < source.length) this.#keep('`')
    this.#last = '`'
  }

  /** Guess: after a value a slash divides. After ")" and "}" it is taken to divide too; after "<" a tag of JSX ends. */
  #regexMayStart(): boolean {
    const last = this.#last
    if (last === '<') return false
    return /^[\w$]/.test(last) ? BEFORE_REGEX.has(last) : !/^[)\]}'"`]$/.test(last)
  }

  #regex(): void {
    const source = this.#source
    this.#keep('/')
    let inClass = false
    while (this.at < source.length && source[this.at] !== '\n') {
      const c = source[this.at]!
      if (c === '/' && !inClass) break
      if (c === '[') inClass = true
      else if (c === ']') inClass = false
      this.at += c === '\\' ? 2 : 1
    }
    if (source[this.at] === '/') this.#keep('/')
    this.#last = ')'
  }

  #word(): void {
    const word = /^[\w$]+/.exec(this.#source.slice(this.at, this.at + 256))![0]
    for (const c of word) this.#keep(c)
    this.#last = word
  }

  #punctuation(c: string): void {
    const templates = this.#templates
    const depth = templates.length - 1
    if (depth >= 0 && c === '}' && templates[depth] === 0) {
      templates.pop()
      this.#template()
      return
    }
    if (depth >= 0 && c === '{') templates[depth]!++
    if (depth >= 0 && c === '}') templates[depth]!--
    this.#keep(c)
    if (c.trim() !== '') this.#last = c
  }
}

/** Line number (from 1) of an offset. */
export function lineOf(source: string, offset: number): number {
  let line = 1
  for (let i = source.indexOf('\n'); i >= 0 && i < offset; i = source.indexOf('\n', i + 1)) line++
  return line
}

/** Every function with a body in `code` (of a Scan), outer ones before those inside them. */
export function functionsOf(code: string): FunctionRange[] {
  const pairs = pairBrackets(code)
  const found: FunctionRange[] = []
  for (let at = code.indexOf('{'); at >= 0; at = code.indexOf('{', at + 1)) {
    const bodyEnd = pairs.get(at)
    if (bodyEnd === undefined) continue
    const open = parametersBefore(code, at, pairs)
    if (open !== null) found.push({ name: nameBefore(code, open), start: open, bodyStart: at, bodyEnd: bodyEnd + 1 })
  }
  for (const arrow of code.matchAll(/=>\s*(?![{\s])/g)) found.push(...expressionArrow(code, arrow, pairs))
  return found.sort((a, b) => a.start - b.start)
}

/** An arrow function without braces: its body ends with the expression. */
function expressionArrow(code: string, arrow: RegExpExecArray, pairs: ReadonlyMap<number, number>): FunctionRange[] {
  const start = arrowParameters(code, arrow.index, pairs)
  if (start === null) return []
  const bodyStart = arrow.index + arrow[0].length
  let at = bodyStart
  while (at < code.length) {
    const c = code[at]!
    if (CLOSER_OF[c] !== undefined) at = pairs.get(at) ?? code.length
    else if (',;)]}'.includes(c)) break
    // Guess: an expression goes on in the next line only if that begins with an operator.
    else if (c === '\n' && !/^\s*[.?:&|+\-*/=<>]/.test(code.slice(at, at + 200))) break
    at++
  }
  return [{ name: nameBefore(code, start), start, bodyStart, bodyEnd: at }]
}

/** Offset of the partner of every bracket, in both directions. */
function pairBrackets(code: string): Map<number, number> {
  const pairs = new Map<number, number>()
  const open: number[] = []
  for (let i = 0; i < code.length; i++) {
    const c = code[i]!
    if (CLOSER_OF[c] !== undefined) open.push(i)
    else if (OPENER_OF[c] !== undefined) {
      const start = open.pop()
      if (start === undefined || code[start] !== OPENER_OF[c]) return pairs
      pairs.set(start, i)
      pairs.set(i, start)
    }
  }
  return pairs
}

/** If the brace at `brace` opens a function's body: where the parameter list opens; else null. */
function parametersBefore(code: string, brace: number, pairs: ReadonlyMap<number, number>): number | null {
  const at = skipBack(code, brace)
  if (code[at] === '>' && code[at - 1] === '=') return arrowParameters(code, at - 1, pairs)
  return code[at] === ')' ? namesFunction(code, pairs.get(at)) : returnType(code, at, pairs)
}

/** Where the parameter list of the arrow `=>` at `arrow` opens; null for a bare `x =>`, which biome rewrites. */
function arrowParameters(code: string, arrow: number, pairs: ReadonlyMap<number, number>): number | null {
  const at = skipBack(code, arrow)
  return code[at] === ')' ? (pairs.get(at) ?? null) : returnType(code, at, pairs)
}

/** Walks back over a return type, `): Promise<Map<string, T>> {`, to the parameter list in front of it. */
function returnType(code: string, from: number, pairs: ReadonlyMap<number, number>): number | null {
  // A brace behind ":", "<", "," and the like opens an object, a type or a block, never a body.
  if (from < 0 || !/[\w$>\])}'"`]/.test(code[from]!)) return null
  let at = from
  while (at >= 0) {
    const c = code[at]!
    if (OPENER_OF[c] !== undefined) at = pairs.get(at) ?? -1
    else if (/[\w$]/.test(c)) {
      const word = wordBefore(code, at + 1)
      if (NOT_A_TYPE.has(word)) return null
      at -= word.length - 1
    } else if (c === ':') {
      const close = skipBack(code, at)
      return code[close] === ')' ? namesFunction(code, pairs.get(close)) : null
    } else if (!/[<>.,|&?'"`]/.test(c) && !(c === '=' && code[at + 1] === '>')) return null
    at = skipBack(code, at)
  }
  return null
}

/** `open` if the parenthesis there is a parameter list and not the head of an if, for and so on. */
function namesFunction(code: string, open: number | undefined): number | null {
  if (open === undefined) return null
  const word = wordBefore(code, skipBack(code, open) + 1)
  if (CONTROL.has(word)) return null
  // class A extends mixin(B) {
  if (word !== '' && wordBefore(code, skipBack(code, skipBack(code, open) - word.length + 1) + 1) === 'extends')
    return null
  return open
}

/** The name in front of a parameter list: of a function or method, or of what an arrow is assigned to. */
function nameBefore(code: string, open: number): string {
  const before = code.slice(Math.max(0, open - 200), open).replace(/<[^<>()]*>$/, '')
  const named = /(?:^|[^\w$])([\w$]+)\s*$/.exec(before)?.[1] ?? ''
  if (named !== '' && named !== 'async' && named !== 'function') return named
  return /([\w$]+)\s*[:=]\s*(?:async\s*)?(?:function\s*)?$/.exec(before)?.[1] ?? ''
}

function wordBefore(code: string, end: number): string {
  return /[\w$]*$/.exec(code.slice(Math.max(0, end - 64), end))![0]
}

/** Offset of the last character before `from` that is not blank; -1 if none. */
function skipBack(code: string, from: number): number {
  let at = from - 1
  while (at >= 0 && /\s/.test(code[at]!)) at--
  return at
}
