/**
 * Which expressions JavaScript's own engine may run: those where it has nothing to try twice. They are
 * sequences of characters and classes, some repeated, in ASCII; groups and alternatives are left to RE2.
 *
 * A repetition never gives characters back in vain when what may follow it cannot begin with one of its
 * own characters. One repetition of the others is allowed if no repetition comes after it: each place it
 * can end at is tried once, and what follows has a fixed length. A search that may begin anywhere is
 * tried at each character, so then nothing may be repeated without end. All of this is linear.
 */

/** One character class and how often it comes: 1, 0 or 1, from 0, from 1. */
interface Item {
  readonly set: CharSet
  readonly source: string
  readonly repeat: '' | '?' | '*' | '+'
}

/** One bit for each ASCII character, and bit 128 for all others. */
type CharSet = bigint

const ALL: CharSet = (1n << 129n) - 1n
const SINGLE: readonly CharSet[] = Array.from({ length: 128 }, (_, c) => 1n << BigInt(c))
const DIGITS = between(48, 57)
const WORDS = DIGITS | between(65, 90) | between(97, 122) | SINGLE[95]!
const ITEMS_MAX = 256

function between(first: number, last: number): CharSet {
  return last < first ? 0n : ((1n << BigInt(last - first + 1)) - 1n) << BigInt(first)
}

/** The same expression for JavaScript, or null when RE2 has to run it. */
export function deterministic(source: string): RegExp | null {
  const anchored = source.startsWith('^')
  const closed = source.endsWith('$') && !source.endsWith('\\$')
  const items = parseItems(source.slice(anchored ? 1 : 0, closed ? -1 : undefined))
  if (items === null || !isLinear(items, anchored)) return null
  const body = items.map((item) => item.source + item.repeat).join('')
  return new RegExp(`${anchored ? '^' : ''}${body}${closed ? '$' : ''}`, 'u')
}

function isLinear(items: readonly Item[], anchored: boolean): boolean {
  let ambiguous = false
  for (const [i, item] of items.entries()) {
    const isEndless = item.repeat === '*' || item.repeat === '+'
    if (isEndless && (!anchored || ambiguous)) return false
    if (item.repeat === '' || !overlapsNext(items, i)) continue
    // Optional characters that are ambiguous double the work each.
    if (!isEndless) return false
    ambiguous = true
  }
  return true
}

/** Whether what may stand right after item `i` can begin with one of its characters. */
function overlapsNext(items: readonly Item[], i: number): boolean {
  const { set } = items[i]!
  for (let j = i + 1; j < items.length; j++) {
    if ((items[j]!.set & set) !== 0n) return true
    if (items[j]!.repeat === '' || items[j]!.repeat === '+') return false
  }
  return false
}

function parseItems(source: string): Item[] | null {
  const items: Item[] = []
  let i = 0
  while (i < source.length) {
    const part = source[i] === '[' ? parseClass(source, i) : parseOne(source, i)
    if (part === null || items.length >= ITEMS_MAX) return null
    i = part.end
    const sign = source[i] ?? ''
    const repeat = sign === '?' || sign === '*' || sign === '+' ? sign : ''
    if (repeat !== '') i++
    // Lazy and double signs, counted repetitions.
    if (repeat !== '' && /[?*+{]/.test(source[i] ?? '')) return null
    if (source[i] === '{') return null
    items.push({ set: part.set, source: part.source, repeat })
  }
  return items
}

interface Part {
  readonly set: CharSet
  readonly source: string
  readonly end: number
}

function parseOne(source: string, i: number): Part | null {
  const c = source.charCodeAt(i)
  if (source[i] === '.') return { set: ALL ^ SINGLE[10]!, source: '[^\\n]', end: i + 1 }
  if (source[i] === '\\') return parseEscape(source, i)
  if (c < 32 || c > 126 || '^$()|?*+{}[]'.includes(source[i]!)) return null
  return { set: SINGLE[c]!, source: source[i]!, end: i + 1 }
}

/** \d, \w, and signs; what they are inside a class too. */
function parseEscape(source: string, i: number): Part | null {
  const letter = source[i + 1] ?? ''
  const end = i + 2
  if (letter === 'd') return { set: DIGITS, source: '\\d', end }
  if (letter === 'w') return { set: WORDS, source: '\\w', end }
  if (!/^[!-/:-@[-`{-~]$/.test(letter)) return null
  const code = letter.charCodeAt(0)
  return { set: SINGLE[code]!, source: `\\x${code.toString(16)}`, end }
}

/** A class of characters, ranges, \d and \w. */
function parseClass(source: string, from: number): Part | null {
  const negated = source[from + 1] === '^'
  const first = from + (negated ? 2 : 1)
  let set = 0n
  let members = ''
  let i = first
  while (source[i] !== ']' || i === first) {
    const member = classMember(source, i)
    if (member === null) return null
    i = member.end
    set |= member.set
    members += member.source
    if (source[i] !== '-' || source[i + 1] === ']') continue
    const last = classMember(source, i + 1)
    if (last === null || member.code < 0 || last.code < member.code) return null
    set |= between(member.code, last.code)
    members += `-${last.source}`
    i = last.end
  }
  return { set: negated ? ALL ^ set : set, source: `[${negated ? '^' : ''}${members}]`, end: i + 1 }
}

/** `code` is -1 for \d and \w. */
function classMember(source: string, i: number): (Part & { readonly code: number }) | null {
  const c = source.charCodeAt(i)
  // The end of the source included: then c is not a number.
  if (!(c >= 32 && c <= 126) || source.startsWith('[:', i)) return null
  if (source[i] === '\\') {
    const escaped = parseEscape(source, i)
    const code = /[dw]/.test(source[i + 1] ?? '') ? -1 : source.charCodeAt(i + 1)
    return escaped === null ? null : { ...escaped, code }
  }
  const written = '^-[]/\\'.includes(source[i]!) ? `\\x${c.toString(16)}` : source[i]!
  return { set: SINGLE[c]!, source: written, end: i + 1, code: c }
}
