/**
 * An expression and what it has read, for people: `jwt.sub == "ann"; jwt.sub is "bob"`. What is secret by its name or
 * its look is hidden (kit/sensitive.ts), what a client has put behind a "?" too, and of bodies and prompts nothing is
 * shown.
 */
import { isSensitive, REDACTED, redactText, withoutKeys } from '#engine/kit/sensitive.ts'
import type { Facts } from './exchange.ts'
import { compileExpression, type Expression } from './expression.ts'
import { CelError, type Roots, type Value } from './index.ts'
import { Lexer } from './lexer.ts'
import { plainOf } from './log-fields.ts'
import { startWalks } from './walk.ts'

/** Together they fit in a field of the log, with the place of the policy beside them. */
const SOURCE_CHARS_MAX = 120
const VALUES_MAX = 6
const VALUE_CHARS_MAX = 64

/** What a body, a prompt or an answer says is not for the log. */
const CONTENT: readonly (readonly string[])[] = [
  ...['request', 'response'].flatMap((side) => ['body', 'bodyPrefix'].map((part) => [side, part])),
  ...['prompt', 'completion', 'toolCalls', 'params'].map((part) => ['llm', part]),
  ['llmRequest'],
  // What models write.
  ...['tool', 'prompt', 'resource', 'task', 'method'].map((kind) => ['mcp', kind, 'arguments'])
]
/** Of content, or of what has content in it: an optional field (`mcp.?tool`) is read as all that is around it. */
const isContent = (path: readonly string[]): boolean =>
  CONTENT.some((one) => one.every((part, i) => i >= path.length || part === path[i]))
const NOT_SHOWN = '(content, not shown)'

const WORD = /^[A-Za-z_]\w*$/

/**
 * Never throws. The values are those of now: what policies have changed since the run shows as it is. Where a secret is
 * read, what it is compared with is hidden; where `isValue`, which makes a value that may be one, all that is literal.
 */
export function showReads(program: Expression, roots: Roots<Facts>, ex: Facts, isValue = false): string {
  const { paths } = program.needs
  const source = isValue || paths.some(isSecret) ? withoutLiterals(program.source) : program.source
  const values = paths.slice(0, VALUES_MAX).map((path) => {
    const name = nameOf(path)
    return `${name} is ${shownAt(path, name, roots, ex)}`
  })
  const rest = paths.length - values.length
  return [cut(oneLine(source), SOURCE_CHARS_MAX), ...values, ...(rest > 0 ? [`${rest} more`] : [])].join('; ')
}

/** As it is written in an expression: `request.headers["x-team"]`. */
function nameOf(path: readonly string[]): string {
  return path.reduce((text, part, i) => {
    if (i === 0) return part
    return WORD.test(part) ? `${text}.${part}` : `${text}[${JSON.stringify(part)}]`
  }, '')
}

function shownAt(path: readonly string[], name: string, roots: Roots<Facts>, ex: Facts): string {
  if (isContent(path)) return NOT_SHOWN
  let value: Value
  try {
    value = compileExpression(name, roots).run(ex)
  } catch {
    // A name that is one of the language's own words cannot be read by itself.
    return '(not known)'
  }
  if (value instanceof CelError) return 'not there'
  return shown(value, isSecret(path))
}

/** The name of the variable says what kind of thing it is, the parts inside what is secret of it. */
const isSecret = (path: readonly string[]): boolean => path.slice(1).some(isSensitive)

/** Without texts and numbers, but with the names of members: `request.headers["x-api-key"] == <redacted>`. */
function withoutLiterals(source: string): string {
  const lexer = new Lexer(source)
  let out = ''
  let at = 0
  let isMember = false
  for (let isOperand = false; lexer.kind !== 'end'; lexer.next()) {
    const { kind, text, start, end, value } = lexer
    if (kind === 'literal' && typeof value !== 'boolean' && value !== null && !isMember) {
      out += source.slice(at, start) + REDACTED
      at = end
    }
    // A bracket behind an operand is an index, any other one begins a list.
    isMember = text === '[' && isOperand
    isOperand = kind !== 'op' || text === ')' || text === ']'
  }
  return out + source.slice(at)
}

function shown(value: Value, isHidden: boolean): string {
  startWalks()
  try {
    const plain = plainOf(value)
    if (plain === undefined) return 'no value that can be shown'
    if (typeof plain !== 'string') return String(plain)
    if (isHidden || plain === REDACTED) return REDACTED
    // Queries carry keys under any name.
    const text = withoutKeys(redactText(plain.slice(0, SCANNED_CHARS_MAX))).replace(/\?[^\s"]+/g, '?...')
    return typeof value === 'string' ? `"${cut(text, VALUE_CHARS_MAX)}"` : cut(text, VALUE_CHARS_MAX)
  } catch {
    return 'too large to be shown'
  }
}

/** More of a value is not even looked at. */
const SCANNED_CHARS_MAX = 1_024

const oneLine = (source: string): string => withoutKeys(redactText(source.replace(/\s+/g, ' ')))

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 3)}...`
}
