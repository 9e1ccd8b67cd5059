/**
 * A page of a list, read as it came: where its items are, what they are called, and whether all of it is JSON. Nothing
 * is built that is only written again. RFC 8259, as strictly as JSON.parse takes it: what one server writes stands
 * beside what others do.
 */
import { isUtf8 } from 'node:buffer'
import { DEPTH_MAX } from '#backends/mcp/protocol/parse-message.ts'

export interface Scanned {
  /** Under the target's own names, in order. */
  readonly names: readonly string[]
  /** By item: where it begins, where it ends, and where the text of its name does, behind the quote. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly nameOffsets: readonly number[]
  /** An item has `_meta`. */
  readonly hasMeta: boolean
  /** The other members of the result, as they are written; "" for none. */
  readonly otherMembers: string
  readonly nextCursor: string | null
  /** As they were said, JSON; null: not at all. */
  readonly ttlMs: string | null
  readonly cacheScope: string | null
  readonly resultType: string | null
}

const QUOTE = 34
const COMMA = 44
const COLON = 58
const BACKSLASH = 92
const LIST = 91
const LIST_END = 93
const OBJECT = 123
const OBJECT_END = 125
/** No place in the bytes. */
const NOWHERE = -1

/**
 * Of a response, whose id somebody else has looked at. Null: it is no plain list, or none that can be told from its
 * bytes; callers that need more parse it. Linear; never throws.
 */
export function scanList(bytes: Buffer, key: string, by: string): Scanned | null {
  if (!isUtf8(bytes)) return null
  const scan = new Scan(bytes, key, by)
  return scan.response() ? scan : null
}

class Scan implements Scanned {
  readonly names: string[] = []
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly nameOffsets: number[] = []
  hasMeta = false
  otherMembers = ''
  nextCursor: string | null = null
  ttlMs: string | null = null
  cacheScope: string | null = null
  resultType: string | null = null
  readonly #bytes: Buffer
  readonly #key: Buffer
  readonly #by: Buffer
  #hasItems = false
  #hasResult = false
  #hasCursor = false

  constructor(bytes: Buffer, key: string, by: string) {
    this.#bytes = bytes
    this.#key = Buffer.from(key)
    this.#by = Buffer.from(by)
  }

  response(): boolean {
    const end = this.#members(blanks(this.#bytes, 0), RESPONSE)
    return end !== NOWHERE && blanks(this.#bytes, end) === this.#bytes.length && this.#hasResult && this.#hasItems
  }

  /** The object at `at`, whose members `level` knows. Returns its end. */
  #members(from: number, level: typeof RESPONSE | typeof RESULT): number {
    const bytes = this.#bytes
    if (bytes[from] !== OBJECT) return NOWHERE
    let at = blanks(bytes, from + 1)
    if (bytes[at] === OBJECT_END) return at + 1
    for (;;) {
      const key = at + 1
      const keyEnd = bytes[at] === QUOTE ? endOfText(bytes, key) : NOWHERE
      // Spelled with escapes, a key may be any.
      if (keyEnd === NOWHERE || hasEscape(bytes, key, keyEnd)) return NOWHERE
      at = blanks(bytes, keyEnd)
      if (bytes[at] !== COLON) return NOWHERE
      at = blanks(bytes, at + 1)
      const end = level === RESPONSE ? this.#ofResponse(key, keyEnd - 1, at) : this.#ofResult(key, keyEnd - 1, at)
      if (end === NOWHERE) return NOWHERE
      at = blanks(bytes, end)
      if (bytes[at] === OBJECT_END) return at + 1
      if (bytes[at] !== COMMA) return NOWHERE
      at = blanks(bytes, at + 1)
    }
  }

  #ofResponse(key: number, keyEnd: number, at: number): number {
    const name = this.#bytes.latin1Slice(key, keyEnd)
    if (name === 'result') {
      if (this.#hasResult) return NOWHERE
      this.#hasResult = true
      return this.#members(at, RESULT)
    }
    return name === 'error' || name === 'method' ? NOWHERE : endOfValue(this.#bytes, at, 1)
  }

  #ofResult(key: number, keyEnd: number, at: number): number {
    const bytes = this.#bytes
    if (isWritten(bytes, key, keyEnd, this.#key)) {
      if (this.#hasItems) return NOWHERE
      this.#hasItems = true
      return this.#items(at)
    }
    const end = endOfValue(bytes, at, 2)
    if (end === NOWHERE) return NOWHERE
    const name = bytes.latin1Slice(key, keyEnd)
    if (name === 'ttlMs' || name === 'cacheScope' || name === 'resultType') {
      if (this[name] !== null) return NOWHERE
      this[name] = bytes.latin1Slice(at, end)
      if (name !== 'resultType') return end
    } else if (name === 'nextCursor') {
      if (this.#hasCursor) return NOWHERE
      this.#hasCursor = true
      if (bytes[at] === QUOTE) this.nextCursor = textOf(bytes, at + 1, end)
    }
    const member = bytes.toString('utf8', key - 1, end)
    this.otherMembers = this.otherMembers === '' ? member : `${this.otherMembers},${member}`
    return end
  }

  #items(from: number): number {
    const bytes = this.#bytes
    if (bytes[from] !== LIST) return NOWHERE
    let at = blanks(bytes, from + 1)
    if (bytes[at] === LIST_END) return at + 1
    for (;;) {
      const end = this.#item(at)
      if (end === NOWHERE) return NOWHERE
      this.starts.push(at)
      this.ends.push(end)
      at = blanks(bytes, end)
      if (bytes[at] === LIST_END) return at + 1
      if (bytes[at] !== COMMA) return NOWHERE
      at = blanks(bytes, at + 1)
    }
  }

  /** What is no item, or has two names, is left to a parser. */
  #item(from: number): number {
    const bytes = this.#bytes
    if (bytes[from] !== OBJECT) return NOWHERE
    let at = blanks(bytes, from + 1)
    let isNamed = false
    for (;;) {
      const key = at + 1
      const keyEnd = bytes[at] === QUOTE ? endOfText(bytes, key) : NOWHERE
      if (keyEnd === NOWHERE || hasEscape(bytes, key, keyEnd)) return NOWHERE
      at = blanks(bytes, keyEnd)
      if (bytes[at] !== COLON) return NOWHERE
      at = blanks(bytes, at + 1)
      const end = endOfValue(bytes, at, 4)
      if (end === NOWHERE) return NOWHERE
      if (isWritten(bytes, key, keyEnd - 1, this.#by)) {
        if (isNamed || bytes[at] !== QUOTE) return NOWHERE
        isNamed = true
        this.names.push(textOf(bytes, at + 1, end))
        this.nameOffsets.push(at + 1)
      } else if (isWritten(bytes, key, keyEnd - 1, META)) this.hasMeta = true
      at = blanks(bytes, end)
      if (bytes[at] === OBJECT_END) return isNamed ? at + 1 : NOWHERE
      if (bytes[at] !== COMMA) return NOWHERE
      at = blanks(bytes, at + 1)
    }
  }
}

const RESPONSE = 0
const RESULT = 1
const META = Buffer.from('_meta')

function isWritten(bytes: Buffer, from: number, end: number, text: Buffer): boolean {
  if (end - from !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[from + i] !== text[i]) return false
  return true
}

function hasEscape(bytes: Buffer, from: number, end: number): boolean {
  for (let i = from; i < end; i++) if (bytes[i] === BACKSLASH) return true
  return false
}

/** The text from `from`, behind its quote, to `end`, behind the other one. */
function textOf(bytes: Buffer, from: number, end: number): string {
  if (hasEscape(bytes, from, end)) return JSON.parse(bytes.toString('utf8', from - 1, end)) as string
  return bytes.toString('utf8', from, end - 1)
}

// --- grammar ---

function blanks(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length) {
    const c = bytes[at]!
    if (c !== 32 && c !== 10 && c !== 13 && c !== 9) break
    at++
  }
  return at
}

/** End of the value at `at`; `depth`: brackets around it. */
function endOfValue(bytes: Buffer, at: number, depth: number): number {
  const c = bytes[at]
  if (c === QUOTE) return endOfText(bytes, at + 1)
  if (c === OBJECT) return depth < DEPTH_MAX ? endOfObject(bytes, at + 1, depth + 1) : NOWHERE
  if (c === LIST) return depth < DEPTH_MAX ? endOfList(bytes, at + 1, depth + 1) : NOWHERE
  if (c === 116) return endOfWord(bytes, at, TRUE)
  if (c === 102) return endOfWord(bytes, at, FALSE)
  if (c === 110) return endOfWord(bytes, at, NULL)
  return endOfNumber(bytes, at)
}

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

function endOfWord(bytes: Buffer, at: number, word: Buffer): number {
  return isWritten(bytes, at, at + word.length, word) ? at + word.length : NOWHERE
}

function endOfObject(bytes: Buffer, from: number, depth: number): number {
  let at = blanks(bytes, from)
  if (bytes[at] === OBJECT_END) return at + 1
  for (;;) {
    if (bytes[at] !== QUOTE) return NOWHERE
    at = endOfText(bytes, at + 1)
    if (at === NOWHERE) return NOWHERE
    at = blanks(bytes, at)
    if (bytes[at] !== COLON) return NOWHERE
    at = endOfValue(bytes, blanks(bytes, at + 1), depth)
    if (at === NOWHERE) return NOWHERE
    at = blanks(bytes, at)
    if (bytes[at] === OBJECT_END) return at + 1
    if (bytes[at] !== COMMA) return NOWHERE
    at = blanks(bytes, at + 1)
  }
}

function endOfList(bytes: Buffer, from: number, depth: number): number {
  let at = blanks(bytes, from)
  if (bytes[at] === LIST_END) return at + 1
  for (;;) {
    at = endOfValue(bytes, at, depth)
    if (at === NOWHERE) return NOWHERE
    at = blanks(bytes, at)
    if (bytes[at] === LIST_END) return at + 1
    if (bytes[at] !== COMMA) return NOWHERE
    at = blanks(bytes, at + 1)
  }
}

/** Behind the quote that ends the text whose first byte is at `from`. */
function endOfText(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length) {
    const c = bytes[at]!
    if (c === QUOTE) return at + 1
    if (c === BACKSLASH) {
      const e = bytes[at + 1]
      if (e === 117) {
        if (!isHex(bytes, at + 2)) return NOWHERE
        at += 6
      } else if (e !== undefined && ESCAPES.includes(e)) at += 2
      else return NOWHERE
    } else if (c < 32) return NOWHERE
    else at++
  }
  return NOWHERE
}

/** " \ / b f n r t */
const ESCAPES: readonly number[] = [34, 92, 47, 98, 102, 110, 114, 116]

function isHex(bytes: Buffer, from: number): boolean {
  for (let i = from; i < from + 4; i++) {
    const c = bytes[i]
    if (c === undefined || !((c >= 48 && c <= 57) || (c >= 65 && c <= 70) || (c >= 97 && c <= 102))) return false
  }
  return true
}

function endOfNumber(bytes: Buffer, from: number): number {
  let at = bytes[from] === 45 ? from + 1 : from
  if (bytes[at] === 48) at++
  else {
    const end = digits(bytes, at)
    if (end === at) return NOWHERE
    at = end
  }
  if (bytes[at] === 46) {
    const end = digits(bytes, at + 1)
    if (end === at + 1) return NOWHERE
    at = end
  }
  if (bytes[at] !== 101 && bytes[at] !== 69) return at
  const sign = bytes[at + 1]
  const first = sign === 43 || sign === 45 ? at + 2 : at + 1
  const end = digits(bytes, first)
  return end === first ? NOWHERE : end
}

function digits(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at]! >= 48 && bytes[at]! <= 57) at++
  return at
}
