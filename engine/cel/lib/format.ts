/** "%s is %d".format([a, b]): the clauses of the strings extension. */
import { CelError, TEXT_UNITS_MAX, TOO_LONG } from '#engine/cel/errors.ts'
import { type Declared, LIST, method, STRING } from '#engine/cel/functions.ts'
import { isList, isMap, keysOf, valueAt } from '#engine/cel/maps.ts'
import { Double, isDouble, isInt, numberOf, Uint } from '#engine/cel/numbers.ts'
import { formatDuration, formatTimestamp } from '#engine/cel/time.ts'
import { Duration, type List, Opaque, Timestamp, TypeValue, typeName, type Value } from '#engine/cel/values.ts'
import { VISIT_BITS, visit } from '#engine/cel/walk.ts'
import { decodeText, doubleText } from './conversions.ts'

const CLAUSE = /%(?:(%)|(?:\.(\d{1,3}))?(.)|)/gsu
const PRECISION_MAX = 100

function clauseError(message: string, value: Value): CelError {
  return new CelError('invalid', `error during formatting: ${message}, was given ${typeName(value)}`)
}

function format(pattern: string, args: List): Value {
  let next = 0
  let out = ''
  let from = 0
  for (const match of pattern.matchAll(CLAUSE)) {
    out += pattern.slice(from, match.index)
    from = match.index + match[0].length
    if (match[1] !== undefined) {
      out += '%'
      continue
    }
    const clause = CLAUSES[match[3] ?? '']
    if (clause === undefined) {
      const shown = JSON.stringify(match[3] ?? '')
      return new CelError('invalid', `could not parse formatting clause: unrecognized formatting clause ${shown}`)
    }
    if (next >= args.length) return new CelError('range', `index ${next} out of range`)
    const text = clause(args[next++]!, match[2] === undefined ? 6 : Math.min(PRECISION_MAX, Number(match[2])))
    if (typeof text !== 'string') return text
    out += text
    if (out.length > TEXT_UNITS_MAX) return TOO_LONG
  }
  return out + pattern.slice(from)
}

type Clause = (value: Value, precision: number) => Value

const CLAUSES: Readonly<Record<string, Clause>> = Object.assign(Object.create(null) as object, {
  s: textOf,
  d: decimal,
  f: fixed,
  e: scientific,
  b: binary,
  o: octal,
  x: (value: Value) => hex(value),
  X: (value: Value) => {
    const text = hex(value)
    return typeof text === 'string' ? text.toUpperCase() : text
  }
})

function infinite(value: number): string | null {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return null
  return value > 0 ? 'Infinity' : '-Infinity'
}

/** %s: any value except messages; map entries sorted by their keys. */
export function textOf(value: Value): Value {
  if (typeof value === 'string') return value
  const pieces: string[] = []
  return writeText(value, pieces) ?? pieces.join('')
}

/** In pieces that are joined once: whatever is nested, no part is copied for each level. */
function writeText(value: Value, into: string[]): CelError | null {
  visit()
  if (isList(value)) return writeList(value, into)
  if (typeof value === 'object' && isMap(value)) return writeMap(value, into)
  const text = scalarText(value)
  if (typeof text !== 'string') return text
  visit(text.length >> VISIT_BITS)
  into.push(text)
  return null
}

function writeList(list: List, into: string[]): CelError | null {
  into.push('[')
  for (let i = 0; i < list.length; i++) {
    if (i > 0) into.push(', ')
    const error = writeText(list[i]!, into)
    if (error !== null) return error
  }
  into.push(']')
  return null
}

function writeMap(map: Value, into: string[]): CelError | null {
  const entries = keysOf(map)!.map((key) => ({ key, text: String(scalarText(key)) }))
  entries.sort((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)))
  into.push('{')
  for (const [i, { key, text }] of entries.entries()) {
    into.push(i > 0 ? ', ' : '', text, ': ')
    const error = writeText(valueAt(map, key), into)
    if (error !== null) return error
  }
  into.push('}')
  return null
}

function scalarText(value: Value): string | CelError {
  if (value instanceof CelError) return value
  if (value === null) return 'null'
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isInt(value)) return String(value)
  if (value instanceof Uint) return String(value.value)
  if (isDouble(value)) return infinite(numberOf(value)) ?? doubleText(numberOf(value))
  if (value instanceof Uint8Array) return decodeText(value)
  if (value instanceof Timestamp) return formatTimestamp(value)
  if (value instanceof Duration) return formatDuration(value)
  if (value instanceof TypeValue) return value.name
  if (value instanceof Opaque) return value.toString()
  return clauseError('string clause can only be used on values that have a text', value)
}

function decimal(value: Value): Value {
  if (isInt(value)) return String(value)
  if (value instanceof Uint) return String(value.value)
  const special = isDouble(value) ? infinite(numberOf(value)) : null
  return special ?? clauseError('decimal clause can only be used on integers', value)
}

/** The number of an argument that %f and %e take, or null. */
function real(value: Value): number | null {
  if (isDouble(value)) return numberOf(value)
  if (isInt(value)) return Number(value)
  return value instanceof Uint ? Number(value.value) : null
}

function fixed(value: Value, precision: number): Value {
  const number = real(value)
  if (number === null) return clauseError('fixed-point clause can only be used on doubles', value)
  return infinite(number) ?? toFixedEven(number, precision)
}

/** As toFixed, but an exact half goes to the even digit, as in C and Go. */
function toFixedEven(number: number, precision: number): string {
  if (Math.abs(number) >= 1e21) return `${BigInt(number)}${precision > 0 ? `.${'0'.repeat(precision)}` : ''}`
  const text = number.toFixed(precision)
  const exact = number.toFixed(100)
  const dropped = exact.slice(exact.indexOf('.') + 1 + precision)
  const isHalf = precision < 100 && /^50*$/.test(dropped)
  if (!isHalf) return text
  // Cut off instead of rounded; then the last digit says which neighbour is even.
  const cut = exact.slice(0, precision === 0 ? exact.indexOf('.') : exact.indexOf('.') + 1 + precision)
  return Number(cut.at(-1)) % 2 === 0 ? cut : text
}

function scientific(value: Value, precision: number): Value {
  const number = real(value)
  if (number === null) return clauseError('scientific clause can only be used on doubles', value)
  return infinite(number) ?? number.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2')
}

function binary(value: Value): Value {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (isInt(value)) return value.toString(2)
  if (value instanceof Uint) return value.value.toString(2)
  return clauseError('only integers and bools can be formatted as binary', value)
}

function octal(value: Value): Value {
  if (isInt(value)) return value.toString(8)
  if (value instanceof Uint) return value.value.toString(8)
  return clauseError('octal clause can only be used on integers', value)
}

function hex(value: Value): Value {
  if (isInt(value)) return value.toString(16)
  if (value instanceof Uint) return value.value.toString(16)
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  const wanted = 'only integers, byte buffers, and strings can be formatted as hex'
  return clauseError(value instanceof Double ? `${wanted} (not doubles)` : wanted, value)
}

export const FORMAT: readonly Declared[] = [method('format', [STRING, LIST], STRING, format)]
