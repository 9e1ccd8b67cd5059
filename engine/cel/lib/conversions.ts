/** From one type to another, and size(): the conversions of the CEL specification (langdef.md). */
import { CelError } from '#engine/cel/errors.ts'
import {
  BOOL,
  BYTES,
  both,
  type Declared,
  DOUBLE,
  DURATION,
  DYN,
  fn,
  INT,
  invalid,
  LIST,
  MAP,
  STRING,
  TIMESTAMP,
  TYPE,
  UINT
} from '#engine/cel/functions.ts'
import { sizeOfMap } from '#engine/cel/maps.ts'
import { doubleOf, intOf, numberOf, truncated, Uint, uintOf } from '#engine/cel/numbers.ts'
import { codePoints } from '#engine/cel/text.ts'
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, timestampOf } from '#engine/cel/time.ts'
import { TypeValue, typeName, type Value } from '#engine/cel/values.ts'

const NOT_UTF8 = invalid('bytes that are not UTF-8')
const TRUE = new Set(['1', 't', 'true', 'TRUE', 'True'])
const FALSE = new Set(['0', 'f', 'false', 'FALSE', 'False'])
const DOUBLE_TEXT = /^[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)$/
const DOUBLE_WORDS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  Inf: Number.POSITIVE_INFINITY,
  '+Infinity': Number.POSITIVE_INFINITY,
  '+Inf': Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  '-Inf': Number.NEGATIVE_INFINITY
}

function outside(type: string): CelError {
  return new CelError('range', `outside of the range of ${type}`)
}

function readInt(text: string): Value {
  return /^-?\d{1,20}$/.test(text) ? intOf(BigInt(text)) : invalid(`not an int: ${quoteShort(text)}`)
}

function readUint(text: string): Value {
  return /^\d{1,20}$/.test(text) ? uintOf(BigInt(text)) : invalid(`not a uint: ${quoteShort(text)}`)
}

/** Digits that a double written out in full may have: 1,074 after the point. */
const DOUBLE_UNITS_MAX = 2_048

function readDouble(text: string): Value {
  if (text.length > DOUBLE_UNITS_MAX) return invalid('not a double: too long')
  if (DOUBLE_TEXT.test(text)) return doubleOf(Number(text))
  const word = Object.hasOwn(DOUBLE_WORDS, text) ? DOUBLE_WORDS[text] : undefined
  return word ?? invalid(`not a double: ${quoteShort(text)}`)
}

function readBool(text: string): Value {
  if (TRUE.has(text)) return true
  return FALSE.has(text) ? false : invalid(`not a bool: ${quoteShort(text)}`)
}

/** The beginning of a text that came from outside, for a message. */
function quoteShort(text: string): string {
  return JSON.stringify(text.length > 32 ? `${text.slice(0, 32)}...` : text)
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes as text; an error when they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | CelError {
  try {
    return DECODER.decode(bytes)
  } catch {
    return NOT_UTF8
  }
}

/** The shortest text that reads back as the same double. */
export function doubleText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return Object.is(value, -0) ? '-0' : String(value).replace(/e([+-])(\d)$/, 'e$10$2')
}

export const CONVERSIONS: readonly Declared[] = [
  ...both('size', [STRING], INT, (text) => codePoints(text)),
  ...both('size', [BYTES], INT, (bytes) => bytes.length, { isConstant: true }),
  ...both('size', [LIST], INT, (list) => list.length, { isConstant: true }),
  ...both('size', [MAP], INT, (map) => sizeOfMap(map)),

  fn('int', [INT], INT, (value) => value),
  fn('int', [UINT], INT, (value) => intOf(value.value)),
  fn('int', [DOUBLE], INT, (value) => {
    const whole = truncated(numberOf(value), false)
    return whole === null ? outside('int') : intOf(whole)
  }),
  fn('int', [STRING], INT, readInt, { isConstant: true }),
  fn('int', [TIMESTAMP], INT, (at) => intOf((at.nanos - (((at.nanos % SECOND) + SECOND) % SECOND)) / SECOND)),
  fn('int', [DURATION], INT, (length) => intOf(length.nanos / SECOND)),

  fn('uint', [UINT], UINT, (value) => value),
  fn('uint', [INT], UINT, (value) => (value < 0 ? outside('uint') : new Uint(BigInt(value)))),
  fn('uint', [DOUBLE], UINT, (value) => {
    const whole = truncated(numberOf(value), true)
    return whole === null ? outside('uint') : new Uint(whole)
  }),
  fn('uint', [STRING], UINT, readUint, { isConstant: true }),

  fn('double', [DOUBLE], DOUBLE, (value) => value),
  fn('double', [INT], DOUBLE, (value) => doubleOf(Number(value))),
  fn('double', [UINT], DOUBLE, (value) => doubleOf(Number(value.value))),
  fn('double', [STRING], DOUBLE, readDouble, { isConstant: true }),

  fn('string', [STRING], STRING, (value) => value, { isConstant: true }),
  fn('string', [INT], STRING, (value) => String(value)),
  fn('string', [UINT], STRING, (value) => String(value.value)),
  fn('string', [DOUBLE], STRING, (value) => doubleText(numberOf(value))),
  fn('string', [BOOL], STRING, (value) => String(value)),
  fn('string', [BYTES], STRING, decodeText),
  fn('string', [TIMESTAMP], STRING, formatTimestamp),
  fn('string', [DURATION], STRING, formatDuration),

  fn('bytes', [BYTES], BYTES, (value) => value, { isConstant: true }),
  fn('bytes', [STRING], BYTES, (text) => new Uint8Array(Buffer.from(text))),

  fn('bool', [BOOL], BOOL, (value) => value),
  fn('bool', [STRING], BOOL, readBool, { isConstant: true }),

  fn('timestamp', [TIMESTAMP], TIMESTAMP, (value) => value),
  fn('timestamp', [STRING], TIMESTAMP, parseTimestamp, { isConstant: true }),
  fn('timestamp', [INT], TIMESTAMP, (seconds) => timestampOf(BigInt(seconds) * SECOND)),
  fn('duration', [DURATION], DURATION, (value) => value),
  fn('duration', [STRING], DURATION, parseDuration, { isConstant: true }),

  fn('type', [DYN], TYPE, (value) => new TypeValue(typeName(value)), { isConstant: true }),
  fn('dyn', [DYN], DYN, (value) => value, { isConstant: true })
]

const SECOND = 1_000_000_000n
