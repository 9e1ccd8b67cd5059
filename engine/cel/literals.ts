/** Numbers, strings and bytes as they are written in an expression. */
import { Refusal } from './errors.ts'
import { doubleOf, intOf, isInt64, isUint64, Uint } from './numbers.ts'
import type { Value } from './values.ts'

interface Read {
  readonly value: Value
  readonly end: number
}

/** Integer, unsigned integer (suffix u) or double; decimal or 0x. */
const NUMBER = /0[xX][0-9a-fA-F]+[uU]?|(?:\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|\d+[uU]?/y

/**
 * What an int literal of 2^63 becomes until its minus sign is seen: the only integer that is in range
 * with the sign and not without.
 */
export const MIN_INT_MAGNITUDE = 2n ** 63n

/** The number at `start`, which is a digit, or a dot before one. */
export function numberLiteral(source: string, start: number): Read {
  NUMBER.lastIndex = start
  const text = NUMBER.exec(source)![0]
  const end = start + text.length
  const after = source.charCodeAt(end)
  if ((after >= 48 && after <= 57) || (after >= 97 && after <= 122) || (after >= 65 && after <= 90) || after === 95) {
    throw new Refusal(start, end + 1 - start, `not a number: ${JSON.stringify(source.slice(start, end + 1))}`)
  }
  if (/[uU]$/.test(text)) {
    const value = BigInt(text.slice(0, -1))
    if (!isUint64(value)) throw new Refusal(start, text.length, 'unsigned integer larger than 64 bits')
    return { value: new Uint(value), end }
  }
  if (!/^0[xX]/.test(text) && /[.eE]/.test(text)) {
    const value = Number(text)
    if (!Number.isFinite(value)) throw new Refusal(start, text.length, 'double larger than any double')
    return { value: doubleOf(value), end }
  }
  const small = Number(text)
  if (Number.isSafeInteger(small)) return { value: small, end }
  const value = BigInt(text)
  if (value === MIN_INT_MAGNITUDE) return { value, end }
  if (!isInt64(value)) throw new Refusal(start, text.length, 'integer larger than 64 bits')
  return { value: intOf(value), end }
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
  '`': '`',
  '?': '?'
}

/** Escapes with digits: the letter, how many digits follow, and their base. */
const DIGIT_ESCAPES: Readonly<Record<string, readonly [digits: number, base: number]>> = {
  x: [2, 16],
  X: [2, 16],
  u: [4, 16],
  U: [8, 16]
}

/** The string or bytes whose prefix begins at `start` and whose quote stands at `quoteAt`. */
export function stringLiteral(source: string, start: number, quoteAt: number): Read {
  const prefix = source.slice(start, quoteAt).toLowerCase()
  const raw = prefix.includes('r')
  const quote = source[quoteAt]!
  const triple = quote.repeat(3)
  const fence = source.startsWith(triple, quoteAt) ? triple : quote
  const from = quoteAt + fence.length
  const to = closing(source, from, fence, raw)
  if (to < 0) throw new Refusal(start, fence.length + prefix.length, `a string without its closing ${fence}`)
  const end = to + fence.length
  if (prefix.includes('b')) return { value: readBytes(source, from, to, raw), end }
  const text = source.slice(from, to)
  return { value: raw || !text.includes('\\') ? text : readText(source, from, to), end }
}

/** Offset of the closing fence, or -1. */
function closing(source: string, from: number, fence: string, raw: boolean): number {
  const isLine = fence.length === 1
  for (let i = from; i < source.length; i++) {
    const c = source.charCodeAt(i)
    if (c === 92 && !raw) i++
    else if (isLine && (c === 10 || c === 13)) return -1
    else if (source.startsWith(fence, i)) return i
  }
  return -1
}

function readText(source: string, from: number, to: number): string {
  let out = ''
  let i = from
  while (i < to) {
    const slash = source.indexOf('\\', i)
    if (slash < 0 || slash >= to) return out + source.slice(i, to)
    out += source.slice(i, slash)
    const { code, end } = readEscape(source, slash)
    if (code >= 0xd800 && code <= 0xdfff) throw new Refusal(slash, end - slash, 'a surrogate is no character')
    if (code > 0x10ffff) throw new Refusal(slash, end - slash, 'no such character in Unicode')
    out += String.fromCodePoint(code)
    i = end
  }
  return out
}

/** In bytes, \x and octal escapes are bytes; everything else is written as UTF-8. */
function readBytes(source: string, from: number, to: number, raw: boolean): Uint8Array {
  const text = source.slice(from, to)
  if (raw || !text.includes('\\')) return new Uint8Array(Buffer.from(text))
  const parts: Buffer[] = []
  let i = from
  while (i < to) {
    const slash = source.indexOf('\\', i)
    const stop = slash < 0 || slash >= to ? to : slash
    if (stop > i) parts.push(Buffer.from(source.slice(i, stop)))
    if (stop === to) break
    const { code, end } = readEscape(source, slash)
    if (/[uU]/.test(source[slash + 1]!)) throw new Refusal(slash, end - slash, 'bytes have no \\u escapes; write \\x')
    parts.push(Buffer.from([code]))
    i = end
  }
  return new Uint8Array(Buffer.concat(parts))
}

function readEscape(source: string, slash: number): { readonly code: number; readonly end: number } {
  const letter = source[slash + 1]!
  const simple = SIMPLE_ESCAPES[letter]
  if (simple !== undefined) return { code: simple.charCodeAt(0), end: slash + 2 }
  const isOctal = letter >= '0' && letter <= '3'
  const [digits, base] = isOctal ? [3, 8] : (DIGIT_ESCAPES[letter] ?? [0, 0])
  const from = isOctal ? slash + 1 : slash + 2
  const text = source.slice(from, from + digits)
  if (digits === 0 || text.length < digits || !(base === 8 ? /^[0-7]+$/ : /^[0-9a-fA-F]+$/).test(text)) {
    throw new Refusal(slash, 2, `no such escape: \\${letter}`, 'write \\\\ for a backslash, or a raw string r"..."')
  }
  return { code: Number.parseInt(text, base), end: from + digits }
}
