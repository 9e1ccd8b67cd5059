/**
 * JSON text that arrives in pieces (the arguments of a tool call), or is whole: its strings, names included, are
 * searched as what they say, whatever their escapes, and each number as a text of its own. What is masked inside a
 * string leaves a string, and a number that is masked becomes one, so the JSON stays valid. From the first character
 * that JSON cannot have on, the rest is plain text. RFC 8259.
 */
import type { Rule } from './live.ts'
import { maskText, render, type Span } from './rules.ts'
import { type Arriving, StreamText } from './stream-text.ts'

const OUTSIDE = 0
const STRING = 1
const ESCAPE = 2
const BARE = 3
const TEXT = 4

/** Longer numbers are taken as text. */
const BARE_UNITS_MAX = 64
const BARE_VALUE = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/
const FRACTION = /[.eE]/
const STRUCTURE = new Set([' ', '\t', '\n', '\r', '{', '}', '[', ']', ',', ':'])
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

export class StreamJson implements Arriving {
  readonly #rules: readonly Rule[]
  #state: number = OUTSIDE
  /** Units read. */
  #at = 0
  /** Of the open string, or of the rest. */
  #text: StreamText | null = null
  /** The escape or bare value that has begun. */
  #begun = ''
  /** Maps units of the open string to positions here: from unit `textAt` on they stand at `at`, one for one. */
  #places: { readonly textAt: number; readonly at: number }[] = []
  #textLength = 0
  #taken = 0
  #isHit = false
  #spans: Span[] = []

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  get isHit(): boolean {
    return this.#isHit || (this.#text?.isHit ?? false)
  }

  get decided(): number {
    if (this.#state === BARE) return this.#at - this.#begun.length
    if (this.#text === null) return this.#at
    return this.#place(this.#text.decided)
  }

  push(piece: string): void {
    let at = 0
    while (at < piece.length) {
      if (this.#state === OUTSIDE) at = this.#outside(piece, at)
      else if (this.#state === STRING) at = this.#string(piece, at)
      else if (this.#state === ESCAPE) at = this.#escape(piece, at)
      else if (this.#state === BARE) at = this.#bare(piece, at)
      else {
        this.#say(piece.slice(at))
        this.#at += piece.length - at
        at = piece.length
      }
    }
    this.#collect()
  }

  end(): void {
    if (this.#state === BARE) this.#endBare()
    // An escape that is cut off says nothing.
    if (this.#state === ESCAPE) this.#at += this.#begun.length
    if (this.#text !== null) this.#close()
    this.#state = TEXT
    this.#open(this.#at)
  }

  take(piece: string): string {
    const text = render(piece, this.#taken, this.#spans)
    this.#taken += piece.length
    this.#spans = this.#spans.filter(({ end }) => end > this.#taken)
    return text
  }

  #outside(piece: string, from: number): number {
    let at = from
    while (at < piece.length && STRUCTURE.has(piece[at]!)) at++
    this.#at += at - from
    if (at === piece.length) return at
    if (piece[at] === '"') {
      this.#at++
      this.#open(this.#at)
      this.#state = STRING
      return at + 1
    }
    this.#begun = ''
    this.#state = BARE
    return at
  }

  #string(piece: string, from: number): number {
    let at = from
    while (at < piece.length && piece[at] !== '"' && piece[at] !== '\\') at++
    this.#say(piece.slice(from, at))
    this.#at += at - from
    if (at === piece.length) return at
    if (piece[at] === '"') {
      this.#close()
      this.#at++
      this.#state = OUTSIDE
      return at + 1
    }
    this.#begun = ''
    this.#state = ESCAPE
    return at
  }

  #escape(piece: string, at: number): number {
    this.#begun += piece[at]
    if (this.#begun.length === 1) return at + 1
    const letter = this.#begun[1]!
    const isCode = letter === 'u'
    if (isCode && this.#begun.length < 6) return at + 1
    const code = isCode ? Number.parseInt(this.#begun.slice(2), 16) : 0
    this.#say(isCode ? String.fromCharCode(Number.isNaN(code) ? 0xfffd : code) : (ESCAPES[letter] ?? letter))
    this.#at += this.#begun.length
    this.#places.push({ textAt: this.#textLength, at: this.#at })
    this.#state = STRING
    return at + 1
  }

  #bare(piece: string, from: number): number {
    const last = Math.min(piece.length, from + BARE_UNITS_MAX + 1 - this.#begun.length)
    let at = from
    while (at < last && piece[at] !== '"' && !STRUCTURE.has(piece[at]!)) at++
    this.#begun += piece.slice(from, at)
    this.#at += at - from
    if (at < piece.length) this.#endBare()
    return at
  }

  #endBare(): void {
    const start = this.#at - this.#begun.length
    this.#state = OUTSIDE
    if (this.#begun.length > BARE_UNITS_MAX || !BARE_VALUE.test(this.#begun)) {
      this.#open(start)
      this.#say(this.#begun)
      this.#state = TEXT
      return
    }
    const rules = FRACTION.test(this.#begun) ? this.#rules.filter(({ isInteger }) => !isInteger) : this.#rules
    const masked = maskText(this.#begun, rules)
    if (masked === this.#begun) return
    this.#isHit = true
    this.#spans.push({ start, end: this.#at, by: JSON.stringify(masked) })
  }

  #open(at: number): void {
    this.#text = new StreamText(this.#rules)
    this.#places = [{ textAt: 0, at }]
    this.#textLength = 0
  }

  #say(text: string): void {
    this.#textLength += text.length
    this.#text!.push(text)
  }

  #close(): void {
    this.#text!.end()
    this.#collect()
    this.#text = null
  }

  /** What has been found in the open string, by its places here. */
  #collect(): void {
    const text = this.#text
    if (text === null) return
    if (text.isHit) this.#isHit = true
    // The last one may still grow: its end is where the text is decided, at least.
    for (const { start, end, by } of text.spans) {
      const span = { start: this.#place(start), end: this.#place(end), by: this.#state === TEXT ? by : escaped(by) }
      const last = this.#spans.at(-1)
      if (last !== undefined && last.start === span.start) last.end = span.end
      else if (last === undefined || span.start > last.start) this.#spans.push(span)
    }
    text.drop(text.decided)
    let count = 0
    while (count + 1 < this.#places.length && this.#places[count + 1]!.textAt <= text.decided) count++
    // One place before is kept for a span that reaches over it.
    if (count > 64) this.#places.splice(0, count - 1)
  }

  #place(textAt: number): number {
    let i = this.#places.length - 1
    while (i > 0 && this.#places[i]!.textAt > textAt) i--
    return this.#places[i]!.at + (textAt - this.#places[i]!.textAt)
  }
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** `text`, which is JSON, with everything masked that `rules` find; the same text when they find nothing. */
export function maskJsonText(text: string, rules: readonly Rule[]): string {
  const json = new StreamJson(rules)
  json.push(text)
  json.end()
  return json.isHit ? json.take(text) : text
}
