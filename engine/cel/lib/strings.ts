/** Strings: the standard tests, and the strings extension. Positions count code points. */
import { CelError, TEXT_UNITS_MAX, TOO_LONG } from '#engine/cel/errors.ts'
import { BOOL, type Declared, fn, INT, LIST, method, STRING } from '#engine/cel/functions.ts'
import type { Int } from '#engine/cel/numbers.ts'
import { split as cutBy, indexOf as find, lastIndexOf as findLast } from '#engine/cel/search.ts'
import { hasSurrogates } from '#engine/cel/text.ts'
import { type List, noOverload, type Value } from '#engine/cel/values.ts'

function outOfRange(index: Int): CelError {
  return new CelError('range', `index out of range: ${index}`)
}

/** The text in code points: itself when each is one unit. */
function points(text: string): string | string[] {
  return hasSurrogates(text) ? Array.from(text) : text
}

function pieces(text: string | string[], from: number, to: number): string {
  return typeof text === 'string' ? text.slice(from, to) : text.slice(from, to).join('')
}

function charAt(text: string, index: Int): Value {
  const all = points(text)
  if (index < 0 || index > all.length) return outOfRange(index)
  return pieces(all, Number(index), Number(index) + 1)
}

function substring(text: string, from: Int, to: Int | null): Value {
  const all = points(text)
  const end = to ?? all.length
  if (from < 0 || from > all.length) return outOfRange(from)
  if (end < 0 || end > all.length) return outOfRange(end)
  if (end < from) return new CelError('range', `invalid substring range. start: ${from}, end: ${end}`)
  return pieces(all, Number(from), Number(end))
}

/** Units -> code points, for a position that was found in units. */
function pointIndex(text: string, unit: number): number {
  return unit < 0 || !hasSurrogates(text) ? unit : Array.from(text.slice(0, unit)).length
}

function unitIndex(text: string, point: number): number {
  return hasSurrogates(text) ? Array.from(text).slice(0, point).join('').length : point
}

function indexOf(text: string, part: string, from: Int): Value {
  if (from < 0 || from > points(text).length) return outOfRange(from)
  return pointIndex(text, find(text, part, unitIndex(text, Number(from))))
}

function lastIndexOf(text: string, part: string, from: Int | null): Value {
  if (from === null) return pointIndex(text, findLast(text, part, text.length))
  if (from < 0 || from > points(text).length) return outOfRange(from)
  return pointIndex(text, findLast(text, part, unitIndex(text, Number(from))))
}

/** At most `limit` replacements; all when it is negative. */
function replace(text: string, part: string, by: string, limit: Int): Value {
  // An empty part stands before every character and at the end.
  const cut = part === '' ? ['', ...Array.from(text), ''] : cutBy(text, part)
  const count = limit < 0 ? cut.length - 1 : Math.min(Number(limit), cut.length - 1)
  if (text.length + count * by.length > TEXT_UNITS_MAX) return TOO_LONG
  const rest = cut.slice(count + 1)
  return cut.slice(0, count + 1).join(by) + (rest.length === 0 ? '' : part + rest.join(part))
}

/** At most `limit` parts, the last with the rest; all when it is negative. */
function split(text: string, by: string, limit: Int): Value {
  if (limit === 0) return []
  const parts = by === '' ? Array.from(text) : cutBy(text, by)
  if (limit < 0 || parts.length <= limit) return parts
  const kept = parts.slice(0, Number(limit) - 1)
  return [...kept, parts.slice(kept.length).join(by)]
}

function join(list: List, by: string): Value {
  let length = 0
  for (const item of list) {
    if (typeof item !== 'string') return noOverload('join', list, by)
    length += item.length + by.length
    if (length > TEXT_UNITS_MAX) return TOO_LONG
  }
  return list.join(by)
}

/** White space of Unicode (property White_Space), as Go trims it; JavaScript's own set has U+FEFF and lacks U+0085. */
const BLANK = '[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const LEADING = new RegExp(`^${BLANK}+`)
const IS_BLANK = new RegExp(BLANK)

function trim(text: string): string {
  // From the end by hand: a regex for trailing blanks is quadratic.
  let end = text.length
  while (end > 0 && IS_BLANK.test(text[end - 1]!)) end--
  return text.slice(0, end).replace(LEADING, '')
}

const QUOTED: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"'
}

function quote(text: string): string {
  return `"${text.toWellFormed().replace(/[\x07\b\f\n\r\t\v\\"]/g, (c) => QUOTED[c]!)}"`
}

function reverse(text: string): string {
  return Array.from(text).reverse().join('')
}

export const STRINGS: readonly Declared[] = [
  method('contains', [STRING, STRING], BOOL, (text, part) => find(text, part, 0) >= 0),
  method('startsWith', [STRING, STRING], BOOL, (text, part) => text.startsWith(part), { sizedBy: 1 }),
  method('endsWith', [STRING, STRING], BOOL, (text, part) => text.endsWith(part), { sizedBy: 1 }),
  method('charAt', [STRING, INT], STRING, charAt),
  method('indexOf', [STRING, STRING], INT, (text, part) => indexOf(text, part, 0)),
  method('indexOf', [STRING, STRING, INT], INT, indexOf),
  method('lastIndexOf', [STRING, STRING], INT, (text, part) => lastIndexOf(text, part, null)),
  method('lastIndexOf', [STRING, STRING, INT], INT, lastIndexOf),
  method('substring', [STRING, INT], STRING, (text, from) => substring(text, from, null)),
  method('substring', [STRING, INT, INT], STRING, substring),
  method('replace', [STRING, STRING, STRING], STRING, (text, part, by) => replace(text, part, by, -1)),
  method('replace', [STRING, STRING, STRING, INT], STRING, replace),
  method('split', [STRING, STRING], LIST, (text, by) => split(text, by, -1)),
  method('split', [STRING, STRING, INT], LIST, split),
  method('join', [LIST], STRING, (list) => join(list, '')),
  method('join', [LIST, STRING], STRING, join),
  method('trim', [STRING], STRING, trim),
  method('lowerAscii', [STRING], STRING, (text) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
  method('upperAscii', [STRING], STRING, (text) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  method('reverse', [STRING], STRING, reverse),
  method(
    'stripPrefix',
    [STRING, STRING],
    STRING,
    (text, part) => (text.startsWith(part) ? text.slice(part.length) : text),
    { sizedBy: 1 }
  ),
  method(
    'stripSuffix',
    [STRING, STRING],
    STRING,
    (text, part) => (text.endsWith(part) ? text.slice(0, text.length - part.length) : text),
    { sizedBy: 1 }
  ),
  fn('strings.quote', [STRING], STRING, quote)
]
