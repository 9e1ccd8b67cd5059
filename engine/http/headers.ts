/**
 * The header section of one message: the received bytes as one latin1 string plus a table of offsets.
 *
 * Nothing is decoded before it is read. Forwarding a section costs one `substring` per run of kept
 * lines (nearly free in V8), where a map of decoded headers costs 2-4 us (docs/performance-history.md#prototypes).
 * Every transport fills the same shape: HTTP/1 slices its read buffer, others append lines.
 */

/** Slots per header in `at`: nameStart, nameEnd, valueStart, valueEnd. A dropped header has nameEnd 0. */
const SLOTS = 4

/** Names of fields that were removed for the whole exchange, and those removed before them. */
export interface Stripped {
  readonly names: readonly string[]
  readonly next: Stripped | null
}

export class HeaderBlock {
  /** Latin1 text that `at` points into. For HTTP/1 it is the whole head, start line included. */
  text = ''
  /** Offsets into `text`, four per header. Longer than `count * 4` when the table is reused. */
  at: number[] = []
  count = 0
  /** Headers set after parsing, flat: name, value, name, value. Null until one is set. */
  added: string[] | null = null
  /** What strip() was asked for; null: nothing. */
  stripped: Stripped | null = null

  /** Forgets every header; keeps the table's memory for the next message on the connection. */
  reset(): void {
    this.text = ''
    this.count = 0
    this.added = null
    this.stripped = null
  }

  /** The same headers for a message of their own: what happens to one does not happen to the other. */
  copy(): HeaderBlock {
    const block = new HeaderBlock()
    block.text = this.text
    block.at = this.at.slice(0, this.count * SLOTS)
    block.count = this.count
    block.added = this.added === null ? null : this.added.slice()
    block.stripped = this.stripped
    return block
  }

  /** Adds a line as if it had been received. For transports that get headers as strings. */
  receive(name: string, value: string): void {
    const start = this.text.length
    const slot = this.count * SLOTS
    this.text += `${name}: ${value}\r\n`
    this.at[slot] = start
    this.at[slot + 1] = start + name.length
    this.at[slot + 2] = start + name.length + 2
    this.at[slot + 3] = start + name.length + 2 + value.length
    this.count++
  }

  /** The first value of `name` (given in lower case), trimmed, or undefined. */
  get(name: string): string | undefined {
    const i = this.find(name, 0)
    if (i >= 0) return this.value(i)
    const added = this.added
    if (added !== null) {
      for (let j = 0; j < added.length; j += 2) {
        if (added[j]!.toLowerCase() === name) return added[j + 1]!
      }
    }
    return undefined
  }

  /** All values of `name` in order, joined with ", " (RFC 9110 section 5.3), or undefined. */
  getAll(name: string): string | undefined {
    let all: string | undefined
    this.forEach((n, v) => {
      if (n.length === name.length && n.toLowerCase() === name) all = all === undefined ? v : `${all}, ${v}`
    })
    return all
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** Index of the next received, not dropped header called `name` (lower case) at or after `from`, or -1. */
  find(name: string, from: number): number {
    const { at, text, count } = this
    const length = name.length
    for (let i = from; i < count; i++) {
      const start = at[i * SLOTS]!
      if (at[i * SLOTS + 1]! - start === length && sameName(text, start, name)) return i
    }
    return -1
  }

  /** Value of the received header number `i`, optional white space trimmed (RFC 9112 section 5). */
  value(i: number): string {
    const { at, text } = this
    let start = at[i * SLOTS + 2]!
    let end = at[i * SLOTS + 3]!
    while (end > start && isBlank(text.charCodeAt(end - 1))) end--
    while (start < end && isBlank(text.charCodeAt(start))) start++
    return text.substring(start, end)
  }

  name(i: number): string {
    return this.text.substring(this.at[i * SLOTS]!, this.at[i * SLOTS + 1]!)
  }

  dropped(i: number): boolean {
    return this.at[i * SLOTS + 1] === 0
  }

  /** Drops the received header number `i`; it will be neither found nor forwarded. */
  drop(i: number): void {
    this.at[i * SLOTS + 1] = 0
  }

  /** Removes every header called `name` (lower case). */
  remove(name: string): void {
    for (let i = this.find(name, 0); i >= 0; i = this.find(name, i + 1)) this.drop(i)
    this.#removeAdded(name)
  }

  #removeAdded(name: string): void {
    const { added } = this
    if (added === null || !hasName(added, name)) return
    const kept: string[] = []
    for (let j = 0; j < added.length; j += 2) {
      if (added[j]!.toLowerCase() !== name) kept.push(added[j]!, added[j + 1]!)
    }
    this.added = kept.length === 0 ? null : kept
  }

  /**
   * Removes every header called one of `names` (lower case; the list is kept, so share it) from this message and from
   * its trailers (trailers.ts). Spellings that CGI-like servers cannot tell apart ("x_role") are removed too.
   */
  strip(names: readonly string[]): void {
    this.stripped = { names, next: this.stripped }
    const { at, text, count } = this
    for (let i = 0; i < count; i++) {
      const start = at[i * SLOTS]!
      const length = at[i * SLOTS + 1]! - start
      for (let j = 0; j < names.length; j++) {
        const name = names[j]!
        if (length === name.length && isTwin(text, start, name)) this.drop(i)
      }
    }
    if (this.added !== null) for (let j = 0; j < names.length; j++) this.#removeAdded(names[j]!)
  }

  /** Replaces every header called `name` by one. The value must be free of CR, LF and NUL. */
  set(name: string, value: string): void {
    this.remove(name.toLowerCase())
    this.append(name, value)
  }

  /** Adds one more header line. The value must be free of CR, LF and NUL. */
  append(name: string, value: string): void {
    if (this.added === null) this.added = [name, value]
    else this.added.push(name, value)
  }

  /** Calls `visit` for every header in order, names as received (case not changed). */
  forEach(visit: (name: string, value: string) => void): void {
    for (let i = 0; i < this.count; i++) if (!this.dropped(i)) visit(this.name(i), this.value(i))
    const added = this.added
    if (added !== null) for (let j = 0; j < added.length; j += 2) visit(added[j]!, added[j + 1]!)
  }

  /** The kept header lines, each ended by CRLF, without the empty line. */
  lines(): string {
    const { at, text, count } = this
    let out = ''
    let i = 0
    while (i < count) {
      if (at[i * SLOTS + 1] === 0) {
        i++
        continue
      }
      const first = i
      while (i < count && at[i * SLOTS + 1] !== 0) i++
      // Received lines are adjacent (framing checked by llhttp), so a run of kept ones is one substring.
      out += `${text.substring(at[first * SLOTS]!, at[(i - 1) * SLOTS + 3]!)}\r\n`
    }
    const added = this.added
    if (added !== null) for (let j = 0; j < added.length; j += 2) out += `${added[j]}: ${added[j + 1]}\r\n`
    return out
  }
}

/** Whether `text` at `start` spells `name` (lower case), ignoring ASCII case. */
export function sameName(text: string, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    let c = text.charCodeAt(start + i)
    if (c >= 65 && c <= 90) c |= 32
    if (c !== name.charCodeAt(i)) return false
  }
  return true
}

/** As sameName, with "_" and "-" the same. */
export function isTwin(text: string, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    let c = text.charCodeAt(start + i)
    if (c >= 65 && c <= 90) c |= 32
    const other = name.charCodeAt(i)
    if (c !== other && !((c === 95 || c === 45) && (other === 95 || other === 45))) return false
  }
  return true
}

/** Whether the flat list has a header called `name` (lower case). */
function hasName(added: readonly string[], name: string): boolean {
  for (let i = 0; i < added.length; i += 2) {
    if (added[i]!.length === name.length && sameName(added[i]!, 0, name)) return true
  }
  return false
}

function isBlank(c: number): boolean {
  return c === 32 || c === 9
}
