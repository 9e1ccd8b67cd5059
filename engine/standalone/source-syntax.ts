/**
 * YAML syntax errors in terms of the configuration, at the place that is to be mended. The parser reports where it
 * could not go on: for an unclosed quote or bracket this is a line far behind.
 */
import { Lexer } from 'yaml'
import type { Problem } from './problems.ts'

/** After the first few, syntax errors are consequences of each other. */
const SYNTAX_ERRORS_MAX = 10

/** What the yaml package reports; `pos`: offsets of the begin and the end. */
interface SyntaxFault {
  readonly code: string
  readonly message: string
  readonly pos: readonly [number, number]
}

interface SyntaxProblem {
  readonly offset: number
  readonly message: string
  readonly hint?: string
}

/** In the order of the file. `masked`: the text as the parser read it (expand.ts). */
export function syntaxProblems(masked: string, faults: readonly SyntaxFault[]): Problem[] {
  // An alias without a name has a problem with a path: the reader of values says it.
  const all = faults.filter(({ code, message }) => code !== 'BAD_ALIAS' || !message.startsWith('Alias cannot'))
  const [first] = all
  if (first === undefined) return []
  if (first.code === 'RESOURCE_EXHAUSTION') return [{ path: [], offset: first.pos[0], message: 'is nested too deeply' }]
  const reached = all.find(({ message }) => message.startsWith('Missing closing')) ?? first
  const { quote, brackets } = openIn(masked, reached.pos[0])
  const problems: SyntaxProblem[] = []
  for (const fault of all.slice(0, SYNTAX_ERRORS_MAX)) {
    // What is behind a quote or a bracket that is open is read as something that it is not.
    if (quote !== null && fault.pos[0] >= quote) {
      problems.push(unclosedQuote(masked, quote))
      break
    }
    const bracket = /end with a [\]}]$/.test(fault.message) ? brackets.pop() : undefined
    problems.push(bracket === undefined ? sayOf(masked, fault) : unclosedBracket(masked, bracket))
    if (bracket !== undefined) break
  }
  return problems.map((problem) => ({ path: [], ...problem }))
}

/**
 * What is open where the parser could not go on: the offset of a quote that is very probably not closed where it should
 * be (null: none), and those of the brackets, outermost first.
 */
function openIn(masked: string, fault: number): { readonly quote: number | null; readonly brackets: number[] } {
  const brackets: number[] = []
  let offset = 0
  for (const token of new Lexer().lex(masked)) {
    // Marks of the lexer (U+0002, U+0018, U+001F) have no place in the text, and what follows the last is a scalar.
    if (MARK.test(token)) continue
    if (offset > fault) break
    if (token === '{' || token === '[') brackets.push(offset)
    else if (token === '}' || token === ']') brackets.pop()
    else if (/^["']/.test(token) && isCarriedOn(token, masked.charAt(offset + token.length))) {
      return { quote: offset, brackets }
    }
    offset += token.length
  }
  return { quote: null, brackets }
}

const MARK = /^[\u0002\u0018\u001f]$/
/** Whether a quoted scalar ends without its quote, or at one that was meant to begin another; `next` is behind it. */
function isCarriedOn(token: string, next: string): boolean {
  const isClosed = token.length > 1 && token.endsWith(token.charAt(0))
  return !isClosed || (token.includes('\n') && /[^\s,\]}:#]/.test(next))
}

function unclosedQuote(masked: string, offset: number): SyntaxProblem {
  const mark = masked.charAt(offset)
  const inside = mark === '"' ? '\\"' : "''"
  return {
    offset,
    message: `the quote (${mark}) that stands here is not closed`,
    hint: `put ${mark} at the end of the text; a quote inside of it is written ${inside}`
  }
}

function unclosedBracket(masked: string, offset: number): SyntaxProblem {
  const open = masked.charAt(offset)
  const close = open === '{' ? '}' : ']'
  return {
    offset,
    message: `the ${open} that stands here is not closed`,
    hint: `put ${close} where it ends, and begin the lines inside of it further right than the line it stands on`
  }
}

function sayOf(masked: string, fault: SyntaxFault): SyntaxProblem {
  const [offset] = fault.pos
  const line = restOfLine(masked, offset)
  // A text such as "hello: world": YAML takes its first word for a key.
  if (
    (fault.code === 'BLOCK_AS_IMPLICIT_KEY' || fault.code === 'BLOCK_IN_FLOW') &&
    /^[^"'[{|>&*!#\s].*:\s/.test(line)
  ) {
    return {
      offset,
      message: 'has ": " in a text without quotes, which YAML takes for a key and its value',
      hint: 'put the text in quotes: key: "text: more text"'
    }
  }
  if (fault.code === 'MULTILINE_IMPLICIT_KEY') {
    return {
      offset,
      message: 'is neither a key nor a value',
      hint: 'write "key: value", with a space behind the colon'
    }
  }
  if (fault.code === 'BAD_SCALAR_START') {
    const what = masked.charAt(offset)
    return {
      offset,
      message: `a text that begins with ${what} needs quotes: to YAML it means something else`,
      hint: `put the whole text in quotes: "${what}..."`
    }
  }
  if (fault.code === 'BAD_DQ_ESCAPE') {
    return {
      offset,
      message: sentence(fault.message),
      hint: 'in double quotes a backslash is written \\\\; in single quotes it stands for itself'
    }
  }
  if (/^Unexpected .* at node end$/.test(fault.message)) {
    return {
      offset,
      message: 'stands behind a value that has ended',
      hint: 'a value that begins with [, { or a quote ends where that is closed; to mean a text, quote all of it'
    }
  }
  if (isAboutIndentation(fault)) {
    return {
      offset: offset + line.search(/\S|$/),
      message: 'is indented like nothing above it',
      hint: 'begin the line in the same column as the entries that it belongs with, using spaces'
    }
  }
  return { offset, message: messageOf(fault) }
}

function isAboutIndentation({ message }: SyntaxFault): boolean {
  return message === 'Sequence item without - indicator' || /must start at the same column$/.test(message)
}

function messageOf({ code, message }: SyntaxFault): string {
  if (code === 'TAB_AS_INDENT') return 'tabs cannot indent YAML: use spaces'
  if (code === 'MULTIPLE_DOCS') return 'a configuration is one YAML document, this begins a second one'
  return sentence(message)
}

/** References to variables are shown as such. */
function sentence(message: string): string {
  const text = message.replace(/[\ue000\ue001]+/g, '$...')
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function restOfLine(text: string, offset: number): string {
  const end = text.indexOf('\n', offset)
  // With its line feed: a colon at the end of a line is one that white space follows.
  return end < 0 ? text.slice(offset) : text.slice(offset, end + 1)
}
