/** Scalars of YAML 1.2.2 (chapters 7.3, 8.1) -> their text. Line ends are LF and CR LF. */

/** Thrown where a text is no YAML, or where parsers differ in what it means (docs/design/002-zod-and-yaml.md). */
export class NotRead extends Error {
  readonly offset: number

  constructor(offset: number, message = '') {
    super(message)
    this.offset = offset
  }
}

/** Of a scalar of several lines: one line end is a space, and of more all but the first stay. */
export function folded(lines: readonly string[]): string {
  let text = lines[0]!
  let ends = 0
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i]!
    ends++
    if (line === '' && i < lines.length - 1) continue
    text += (ends === 1 ? ' ' : '\n'.repeat(ends - 1)) + line
    ends = 0
  }
  return text
}

/** Without white space at its end. Not by an expression, which would look at every run of it. */
function trimmed(line: string): string {
  let end = line.length
  while (end > 0 && ' \t\r'.includes(line.charAt(end - 1))) end--
  return line.slice(0, end)
}

/** Without the white space around line ends. */
function linesOf(source: string): string[] {
  const lines = source.split('\n')
  return lines.map((line, i) => {
    const begun = i === 0 ? line : line.replace(/^[ \t]+/, '')
    return i === lines.length - 1 ? begun : trimmed(begun)
  })
}

/** `source`: without the quotes. */
export function singleQuoted(source: string): string {
  const text = source.includes('\n') ? folded(linesOf(source)) : source
  return text.includes("''") ? text.replaceAll("''", "'") : text
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '0': '\0', a: '\x07', b: '\b', t: '\t', '\t': '\t', n: '\n', v: '\v', f: '\f', r: '\r', e: '\x1b', ' ': ' ' },
  ...{ '"': '"', '/': '/', '\\': '\\', N: '\x85', _: '\xa0', L: '\u2028', P: '\u2029' }
}
const DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

/** As singleQuoted; `offset`: where it stands. */
export function doubleQuoted(source: string, offset: number): string {
  if (!source.includes('\\')) return source.includes('\n') ? folded(linesOf(source)) : source
  const special = /[\\\n]/g
  let text = ''
  let at = 0
  for (;;) {
    special.lastIndex = at
    const next = special.exec(source)?.index
    if (next === undefined) return text + source.slice(at)
    if (source.charAt(next) === '\n') {
      const [run] = GAP.exec(source.slice(next))!
      const ends = run.split('\n').length - 1
      text += trimmed(source.slice(at, next)) + (ends === 1 ? ' ' : '\n'.repeat(ends - 1))
      at = next + run.length
    } else {
      const [meant, length] = escaped(source, next, offset)
      text += source.slice(at, next) + meant
      at = next + length
    }
  }
}

const GAP = /^[ \t\r\n]+/

/** What the escape at `at` means, and its length. */
function escaped(source: string, at: number, offset: number): [meant: string, length: number] {
  const mark = source.charAt(at + 1)
  const plain = ESCAPES[mark]
  if (plain !== undefined) return [plain, 2]
  if (mark === '\n' || (mark === '\r' && source.charAt(at + 2) === '\n')) {
    const [run] = GAP.exec(source.slice(at + 1))!
    // Of empty lines behind an escaped line end parsers make one, two or no line ends.
    if (run.split('\n').length > 2) throw new NotRead(offset + at)
    return ['', 1 + run.length]
  }
  const count = DIGITS[mark] ?? 0
  const digits = source.slice(at + 2, at + 2 + count)
  const code = Number.parseInt(digits, 16)
  const isSound = count > 0 && digits.length === count && /^[0-9a-fA-F]+$/.test(digits) && code <= 0x10ffff
  if (!isSound) throw new NotRead(offset + at)
  return [String.fromCodePoint(code), 2 + count]
}

/** `chomp`: '-' (no line end), '+' (all of them) or '' (one). `lines`: without indentation. */
export function blockText(lines: readonly string[], style: string, chomp: string): string {
  let count = lines.length
  while (count > 0 && lines[count - 1] === '') count--
  const body = lines.slice(0, count)
  const text = style === '|' ? body.join('\n') : foldedBlock(body)
  if (chomp === '-') return text
  if (chomp === '+') return text + '\n'.repeat(lines.length - count + (count > 0 ? 1 : 0))
  return count > 0 ? `${text}\n` : ''
}

/** Lines that begin with white space keep the line ends around them. */
function foldedBlock(lines: readonly string[]): string {
  let text = ''
  let ends = 0
  let wasSpaced = true
  lines.forEach((line, i) => {
    if (line === '') {
      ends++
      return
    }
    const isSpaced = /^[ \t]/.test(line)
    if (i > 0) {
      const isKept = isSpaced || wasSpaced
      text += isKept || text === '' ? '\n'.repeat(ends) : ends === 1 ? ' ' : '\n'.repeat(ends - 1)
    }
    text += line
    ends = 1
    wasSpaced = isSpaced
  })
  return text
}
