/**
 * The grammar of JSON over bytes (RFC 8259), for messages that are looked at and not built. Two readings of it:
 * `endOf...` is as strict as JSON.parse, `skip...` finds where a text or a bracket closes, whatever is in it. All are
 * linear, bounded in depth, and never throw.
 */

export const QUOTE = 34
const COMMA = 44
const COLON = 58
const BACKSLASH = 92
export const LIST = 91
export const OBJECT = 123
/** In ASCII the closing bracket of either comes two behind the opening one. */
const TO_CLOSING = 2

/** No place in the bytes. */
export const NOWHERE = -1

/** Arguments of tools are a few levels deep; JSON.stringify of a value overflows the stack at some thousands. */
export const DEPTH_MAX = 64

/** Bytes of a text that are looked at one by one. */
const NEAR = 64

// --- strict ---

/** The members of an object or the items of a list, one by one: `first`, then `next` with the end of each value. */
export class Elements {
  /** Of a member: its key, within the quotes. */
  key = NOWHERE
  keyEnd = NOWHERE
  /** Where the value begins. */
  value = NOWHERE
  /** Behind the closing bracket, once there is no more. NOWHERE: no JSON, or a key with escapes, which may be any. */
  end = NOWHERE
  readonly #bytes: Buffer
  readonly #open: typeof OBJECT | typeof LIST

  constructor(bytes: Buffer, open: typeof OBJECT | typeof LIST) {
    this.#bytes = bytes
    this.#open = open
  }

  /** `from`: the opening bracket. */
  first(from: number): boolean {
    this.end = NOWHERE
    const at = blanks(this.#bytes, from + 1)
    return this.#bytes[from] === this.#open && !this.#closes(at) && this.#read(at)
  }

  next(valueEnd: number): boolean {
    if (valueEnd === NOWHERE) return false
    const at = blanks(this.#bytes, valueEnd)
    return !this.#closes(at) && this.#bytes[at] === COMMA && this.#read(blanks(this.#bytes, at + 1))
  }

  isKey(text: Buffer): boolean {
    return isWritten(this.#bytes, this.key, this.keyEnd, text)
  }

  #closes(at: number): boolean {
    if (this.#bytes[at] !== this.#open + TO_CLOSING) return false
    this.end = at + 1
    return true
  }

  #read(at: number): boolean {
    this.value = at
    if (this.#open === LIST) return true
    const end = endOfText(this.#bytes, at)
    if (end === NOWHERE || hasEscape(this.#bytes, at, end)) return false
    this.key = at + 1
    this.keyEnd = end - 1
    this.value = behindColon(this.#bytes, end)
    return this.value !== NOWHERE
  }
}

export function blanks(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length) {
    const c = bytes[at]!
    if (c !== 32 && c !== 10 && c !== 13 && c !== 9) break
    at++
  }
  return at
}

/** End of the value at `at`; `depth`: brackets around it. */
export function endOfValue(bytes: Buffer, at: number, depth: number): number {
  const c = bytes[at]
  if (c === QUOTE) return endOfText(bytes, at)
  if (c === OBJECT || c === LIST) return depth < DEPTH_MAX ? endOfNested(bytes, at, c, depth + 1) : NOWHERE
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

/** The same walk as that of Elements, without an object for each. */
function endOfNested(bytes: Buffer, from: number, open: number, depth: number): number {
  let at = blanks(bytes, from + 1)
  if (bytes[at] === open + TO_CLOSING) return at + 1
  for (;;) {
    if (open === OBJECT) {
      at = endOfText(bytes, at)
      if (at === NOWHERE) return NOWHERE
      at = behindColon(bytes, at)
      if (at === NOWHERE) return NOWHERE
    }
    at = endOfValue(bytes, at, depth)
    if (at === NOWHERE) return NOWHERE
    at = blanks(bytes, at)
    if (bytes[at] === open + TO_CLOSING) return at + 1
    if (bytes[at] !== COMMA) return NOWHERE
    at = blanks(bytes, at + 1)
  }
}

/** Where the value begins whose key ends at `keyEnd`. */
function behindColon(bytes: Buffer, keyEnd: number): number {
  const at = blanks(bytes, keyEnd)
  return bytes[at] === COLON ? blanks(bytes, at + 1) : NOWHERE
}

/** Behind the closing quote of the text whose opening one is at `from`. */
function endOfText(bytes: Buffer, from: number): number {
  if (bytes[from] !== QUOTE) return NOWHERE
  let at = from + 1
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

/** Whether the bytes from `from` to `end` are `text`. */
export function isWritten(bytes: Buffer, from: number, end: number, text: Buffer): boolean {
  if (end - from !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[from + i] !== text[i]) return false
  return true
}

function hasEscape(bytes: Buffer, from: number, end: number): boolean {
  for (let i = from; i < end; i++) if (bytes[i] === BACKSLASH) return true
  return false
}

/** The text from `from`, behind its quote, to `end`, behind the other one. */
export function textOf(bytes: Buffer, from: number, end: number): string {
  if (hasEscape(bytes, from, end)) return JSON.parse(bytes.toString('utf8', from - 1, end)) as string
  return bytes.toString('utf8', from, end - 1)
}

// --- not strict ---

/** Whether brackets nest deeper than DEPTH_MAX: looked at before anything recursive sees the value. */
export function isTooDeep(bytes: Buffer): boolean {
  if (bytes.length <= DEPTH_MAX) return false
  let depth = 0
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i]!
    if (c === QUOTE) {
      i = skipText(bytes, i + 1)
    } else if (c === 123 || c === 91) {
      if (++depth > DEPTH_MAX) return true
    } else if (c === 125 || c === 93) depth--
  }
  return false
}

/** Place of the quote that ends the text which begins at `from`. */
function skipText(bytes: Buffer, from: number): number {
  const { length } = bytes
  const near = Math.min(length, from + NEAR)
  let i = from
  while (i < near) {
    const c = bytes[i]!
    if (c === QUOTE) return i
    i += c === BACKSLASH ? 2 : 1
  }
  if (i >= length) return i
  // A long text without escapes, as most are, is found by the machine; any other is read to its end, once.
  const quote = bytes.indexOf(QUOTE, i)
  if (quote < 0) return length
  if (!bytes.subarray(i, quote).includes(BACKSLASH)) return quote
  while (i < length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1
  return i
}

/** Behind the value at `at`, whose brackets are counted and not read. */
export function skipValue(bytes: Buffer, at: number): number {
  const c = bytes[at]
  if (c === QUOTE) return skipText(bytes, at + 1) + 1
  return c === OBJECT || c === LIST ? skipNested(bytes, at + 1) + 1 : endOfValue(bytes, at, 0)
}

/** Place of the bracket that closes what has been opened before `from`; the length where none does. */
function skipNested(bytes: Buffer, from: number): number {
  const { length } = bytes
  let depth = 1
  for (let i = from; i < length; i++) {
    const c = bytes[i]!
    if (c === QUOTE) i = skipText(bytes, i + 1)
    else if (c === 123 || c === 91) depth++
    else if ((c === 125 || c === 93) && --depth === 0) return i
  }
  return length
}
