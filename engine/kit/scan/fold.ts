/**
 * A text as it reads: digits, spaces, hyphens and marks of all scripts as those of ASCII, without invisible characters.
 * Matches are given as positions in the original text.
 */

export interface Folded {
  readonly text: string
  /** Of each unit of `text`: where it is in the text as it was; null: at the same place. */
  readonly at: Int32Array | null
}

const NON_ASCII = /[^\0-\x7f]/
/** Decimal digits, dashes, spaces, marks that look like those between digits, and what has no width of its own. */
const FOLDS =
  /(?![\0-\x7f])[\p{Nd}\p{Pd}\p{Zs}\p{DI}\p{Mn}\p{Me}\u0085\u02d7\u00b7\u2022\u2024\u2028\u2029\u2043\u2044\u2212\u2215\u30fb\u30fc\uff08\uff09\uff0b\uff0c\uff0e\uff0f\uff1a\uff3f\uff65\uff70]/gu

/** Those that their class does not say. Japanese writes the sound mark between digits, too. */
const MARKS: Readonly<Record<string, string>> = {
  '\u0085': '\n',
  '\u2028': '\n',
  '\u2029': '\n',
  '\u02d7': '-',
  '\u2043': '-',
  '\u2212': '-',
  '\u30fc': '-',
  '\uff70': '-',
  '\u00b7': '.',
  '\u2022': '.',
  '\u2024': '.',
  '\u30fb': '.',
  '\uff65': '.',
  '\uff0e': '.',
  '\u2044': '/',
  '\u2215': '/',
  '\uff0f': '/',
  '\uff08': '(',
  '\uff09': ')',
  '\uff0b': '+',
  '\uff0c': ',',
  '\uff1a': ':',
  '\uff3f': '_'
}

/**
 * From the first digit of a script to the last, and surrogates: a text without any of these has no digit. A Unicode
 * class takes ten times as long.
 */
const MAYBE_DIGIT = /[0-9\u0660-\u1c59\ua620-\uabf9\ud800-\udbff\uff10-\uff19]/
const ASCII_DIGIT = /[0-9]/
const DIGIT = /\p{Nd}/u

export function hasDigit(text: string): boolean {
  return MAYBE_DIGIT.test(text) && (ASCII_DIGIT.test(text) || DIGIT.test(text))
}

/** What a character of FOLDS is read as; '': as nothing. As many as there are such characters, at most. */
const known = new Map<string, string>(Object.entries(MARKS))

function read(character: string): string {
  let read = known.get(character)
  if (read === undefined) {
    read = asAscii(character)
    known.set(character, read)
  }
  return read
}

function asAscii(character: string): string {
  if (DIGIT.test(character)) return String(digitOf(character.codePointAt(0)!))
  if (/\p{Pd}/u.test(character)) return '-'
  return /\p{Zs}/u.test(character) ? ' ' : ''
}

/** Digits of a script stand in runs of ten (The Unicode Standard, section 4.6). */
function digitOf(point: number): number {
  let first = point
  while (DIGIT.test(String.fromCodePoint(first - 1))) first--
  return (point - first) % 10
}

const FOLD = new RegExp(FOLDS.source, 'u')

const NOTHING = 1
/** Of characters of one unit, once they have come: what they are read as, or NOTHING; 0: not yet. */
const units = new Uint16Array(0x10000)

/** What the character `rune` is read as: a code of ASCII, itself when nothing is folded; -1: as nothing. */
export function foldRune(rune: number): number {
  if (rune < 128) return rune
  if (rune > 0xffff) return foldOf(rune)
  const seen = units[rune]!
  if (seen > NOTHING) return seen
  if (seen === NOTHING) return -1
  const folded = foldOf(rune)
  units[rune] = folded === -1 ? NOTHING : folded
  return folded
}

function foldOf(rune: number): number {
  const character = String.fromCodePoint(rune)
  if (!FOLD.test(character)) return rune
  const plain = read(character)
  return plain === '' ? -1 : plain.charCodeAt(0)
}

export function fold(text: string): Folded {
  if (!NON_ASCII.test(text)) return { text, at: null }
  FOLDS.lastIndex = 0
  let match = FOLDS.exec(text)
  if (match === null) return { text, at: null }
  const at = new Int32Array(text.length + 1)
  let folded = ''
  let length = 0
  let done = 0
  for (; match !== null; match = FOLDS.exec(text)) {
    const { index } = match
    const plain = read(match[0])
    folded += text.slice(done, index) + plain
    for (let i = done; i < index; i++) at[length++] = i
    if (plain !== '') at[length++] = index
    done = FOLDS.lastIndex
  }
  folded += text.slice(done)
  for (let i = done; i <= text.length; i++) at[length++] = i
  return { text: folded, at }
}
