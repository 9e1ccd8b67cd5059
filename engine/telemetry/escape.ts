/**
 * How values get into a log line. What a client sends ends up here (host, path), so nothing may
 * break out of its field: the result is printable ASCII only, whatever went in. U+0085 and U+2028
 * end a line for some readers as surely as LF does, hence no character beyond ASCII passes either.
 */

export type LogFormat = 'text' | 'json'
export type FieldValue = string | number | boolean | null | undefined

/** Printable ASCII that needs no quotes: no space, no quote, no "=", no backslash. */
const BARE = /^[!#-<>-[\]-~]+$/
/** Printable ASCII that needs no escape between quotes. */
const PLAIN = /^[ !#-[\]-~]*$/
/** What must be escaped there. */
const UNSAFE = /[^ !#-[\]-~]/g
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t'
}

/**
 * A value of a text line: bare where that is unambiguous, else quoted.
 * `charsMax` bounds the result, quotes aside; a value that had to be cut ends in "...".
 */
export function textValue(value: string, charsMax: number): string {
  if (value.length <= charsMax && BARE.test(value)) return value
  return quoted(value, charsMax)
}

/** A JSON string, in ASCII, with the same bound. Its escapes serve the text format as well. */
export function quoted(value: string, charsMax: number): string {
  if (value.length <= charsMax) {
    if (PLAIN.test(value)) return `"${value}"`
    const escaped = value.replace(UNSAFE, escapeOne)
    if (escaped.length <= charsMax) return `"${escaped}"`
  }
  const head = value.slice(0, charsMax - 3)
  const escaped = head.replace(UNSAFE, escapeOne)
  if (escaped.length === head.length) return `"${head}..."`
  // One escape takes up to six characters, so a sixth of the room surely fits.
  return `"${head.slice(0, Math.floor(head.length / 6)).replace(UNSAFE, escapeOne)}..."`
}

/**
 * One field with its separator in front: ` name=value` or `,"name":value`. '' for undefined.
 * Only the value is escaped: names are written in our code.
 */
export function field(format: LogFormat, name: string, value: FieldValue, charsMax: number): string {
  if (value === undefined) return ''
  if (format === 'json') {
    const text = typeof value === 'string' ? quoted(value, charsMax) : jsonScalar(value)
    return `,"${name}":${text}`
  }
  return ` ${name}=${typeof value === 'string' ? textValue(value, charsMax) : String(value)}`
}

/** The same for a short value that is known to need no quotes, such as an id that was made here. */
export function bareField(format: LogFormat, name: string, value: string): string {
  return format === 'json' ? `,"${name}":"${value}"` : ` ${name}=${value}`
}

function jsonScalar(value: number | boolean | null): string {
  // JSON has no NaN and no Infinity.
  return typeof value === 'number' && !Number.isFinite(value) ? 'null' : String(value)
}

function escapeOne(c: string): string {
  return SHORT[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
}

let stampSecond = -1
let stampText = ''

/** The wall clock as ISO 8601 with milliseconds. The part down to the second is made once a second. */
export function timestamp(nowMs: number): string {
  const second = Math.floor(nowMs / 1000)
  if (second !== stampSecond) {
    stampSecond = second
    stampText = new Date(second * 1000).toISOString().slice(0, 20)
  }
  const ms = nowMs - second * 1000
  return `${stampText}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`
}

/** As `toFixed(3)`, which costs four times as much: a duration, so not negative. */
export function milliseconds(ms: number): string {
  const us = Math.round(ms * 1000)
  const whole = Math.floor(us / 1000)
  const part = us - whole * 1000
  return `${whole}.${part < 10 ? '00' : part < 100 ? '0' : ''}${part}`
}
