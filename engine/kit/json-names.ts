/**
 * Names that an object of a JSON text has twice. RFC 8259, section 4, leaves open which of the two counts: JSON.parse
 * takes the last one, other parsers the first, and what one has judged the other has not read.
 */

/** Objects of more names have them in a set: to compare each with all would take minutes for a hostile one. */
const LISTED_MAX = 16

const QUOTE = 0x22
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const BACKSLASH = 0x5c
const SPACE = 0x20

/** Of the objects that are open, the outermost first: where the names of each begin. Lists are kept: no garbage. */
const frames: number[] = []
/** Of those with many names, or with escapes in them; null: of the others. */
const sets: (Set<string> | null)[] = []
/** Names of the others, by their places in the text. */
const starts: number[] = []
const ends: number[] = []

/** Longer lists are not kept. */
const KEPT_MAX = 4096

/** The first of them; null: there is none. `text`: JSON that has been parsed, so that nothing else is wrong with it. */
export function repeatedName(text: string): string | null {
  if (frames.length > KEPT_MAX || starts.length > KEPT_MAX) {
    for (const list of [frames, sets, starts, ends]) list.length = 0
  }
  let depth = -1
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const start = at + 1
      at = endOfString(text, start)
      if (!isName(text, at)) continue
      const set = sets[depth]!
      const first = frames[depth]!
      if (set === null && count - first < LISTED_MAX && !isEscaped(text, start, at)) {
        if (isListed(text, start, at, first, count)) return text.slice(start, at)
        starts[count] = start
        ends[count++] = at
      } else {
        const known = set ?? toSet(text, first, count)
        const name = nameOf(text, start, at)
        if (known.has(name)) return name
        sets[depth] = known.add(name)
        count = first
      }
    } else if (code === OPEN_BRACE) {
      frames[++depth] = count
      sets[depth] = null
    } else if (code === CLOSE_BRACE) {
      count = frames[depth]!
      sets[depth--] = null
    }
  }
  return null
}

/** Of the string that begins at `start`: the place of its closing quote. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); ; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (before >= start && text.charCodeAt(before) === BACKSLASH) before--
    if ((end - before) % 2 === 1) return end
  }
}

/** `end`: of a string. */
function isName(text: string, end: number): boolean {
  let at = end + 1
  while (text.charCodeAt(at) <= SPACE) at++
  return text.charCodeAt(at) === COLON
}

function isEscaped(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text.charCodeAt(at) === BACKSLASH) return true
  return false
}

function isListed(text: string, start: number, end: number, first: number, count: number): boolean {
  for (let i = first; i < count; i++) {
    if (ends[i]! - starts[i]! === end - start && isSame(text, starts[i]!, start, end - start)) return true
  }
  return false
}

function isSame(text: string, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (text.charCodeAt(a + i) !== text.charCodeAt(b + i)) return false
  return true
}

function toSet(text: string, first: number, count: number): Set<string> {
  const names = new Set<string>()
  for (let i = first; i < count; i++) names.add(text.slice(starts[i], ends[i]))
  return names
}

function nameOf(text: string, start: number, end: number): string {
  const name = text.slice(start, end)
  return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name
}
