/**
 * Server-sent events, received in pieces of any size (WHATWG HTML, section 9.2.6): lines end with CRLF, LF or CR, a
 * BOM may lead, several data lines are one text, comments and unknown fields say nothing. Linear in the bytes.
 */

export interface SseEvent {
  /** `event`, "" when there is none. */
  readonly name: string
  /** Data lines, joined by LF. */
  readonly data: string
  /** Given where the event has one of its own. */
  readonly id?: string
}

const LF = 10
const CR = 13
/** An event of a model is some KB; images in base64 are a few MB. */
export const SSE_EVENT_BYTES_MAX = 32 * 1024 * 1024

/** What joining one more line costs beside its text: an event of empty lines is long too. */
const LINE_BYTES = 32

/** Longer ids are not kept: they come back in a header. */
const ID_LENGTH_MAX = 1024

/** Thrown by push: an event is longer than it may be. */
export class SseTooLong extends Error {}

export class SseReader {
  /** The line that has begun. */
  #pieces: Buffer[] = []
  #pendingBytes = 0
  /** The last byte was a CR: an LF that follows belongs to it. */
  #afterCr = false
  #isFirst = true
  #name = ''
  #data: string | null = null
  /** Data lines of the event so far. */
  #lineCount = 0
  /** `id` of the event so far; null: none yet. */
  #id: string | null = null
  readonly #bytesMax: number
  /** Where the stream can be taken up again (Last-Event-ID), or null. */
  lastId: string | null = null
  /** Milliseconds that the server wants between an end and the next attempt, or null. */
  retryMs: number | null = null

  /** `bytesMax`: longest event. */
  constructor(bytesMax = SSE_EVENT_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** Of an event that has begun. */
  get waitingBytes(): number {
    return this.#pendingBytes + (this.#data?.length ?? 0)
  }

  /** Adds the events that bytes [start, end) complete to `events`. */
  push(chunk: Buffer, start: number, end: number, events: SseEvent[]): void {
    let from = start
    if (this.#afterCr && from < end) {
      this.#afterCr = false
      if (chunk[from] === LF) from++
    }
    // Cut behind the last line end: an ASCII byte, so no character is cut, and all whole lines are one text.
    let cut = end
    while (cut > from && chunk[cut - 1] !== LF && chunk[cut - 1] !== CR) cut--
    if (cut > from) {
      this.#afterCr = cut === end && chunk[cut - 1] === CR
      this.#lines(this.#text(chunk, from, cut), events)
    }
    if (cut < end) this.#keep(chunk.subarray(cut, end))
  }

  #text(chunk: Buffer, from: number, cut: number): string {
    if (this.#pieces.length === 0) return chunk.toString('utf8', from, cut)
    const text = Buffer.concat([...this.#pieces, chunk.subarray(from, cut)]).toString()
    this.#pieces.length = 0
    this.#pendingBytes = 0
    return text
  }

  #keep(piece: Buffer): void {
    this.#pendingBytes += piece.length
    if (this.#pendingBytes + (this.#data?.length ?? 0) > this.#bytesMax) throw new SseTooLong('the event is too long')
    this.#pieces.push(Buffer.from(piece))
  }

  /** `text` is whole lines. */
  #lines(text: string, events: SseEvent[]): void {
    let at = 0
    if (this.#isFirst) {
      this.#isFirst = false
      if (text.charCodeAt(0) === 0xfeff) at = 1
    }
    let lf = text.indexOf('\n', at)
    let cr = text.indexOf('\r', at)
    while (at < text.length) {
      // Each is looked for again only when it has been passed: no text is searched twice.
      if (lf >= 0 && lf < at) lf = text.indexOf('\n', at)
      if (cr >= 0 && cr < at) cr = text.indexOf('\r', at)
      const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf
      this.#line(text, at, end, events)
      at = end === cr && lf === cr + 1 ? end + 2 : end + 1
    }
  }

  #line(text: string, start: number, end: number, events: SseEvent[]): void {
    if (start === end) {
      this.#event(events)
      this.#name = ''
      this.#data = null
      this.#lineCount = 0
      return
    }
    if (text.startsWith('data', start)) {
      const value = fieldValue(text, start + 4, end)
      if (value !== null) this.#add(value)
    } else if (text.startsWith('event', start)) this.#name = fieldValue(text, start + 5, end) ?? this.#name
    else if (text.startsWith('id', start)) this.#id = idOf(fieldValue(text, start + 2, end)) ?? this.#id
    else if (text.startsWith('retry', start)) this.retryMs = retryOf(fieldValue(text, start + 5, end)) ?? this.retryMs
  }

  #event(events: SseEvent[]): void {
    const id = this.#id
    if (this.#data !== null) {
      if (id === null) events.push({ name: this.#name, data: this.#data })
      else events.push({ name: this.#name, data: this.#data, id })
    }
    // Also of an event without data: it is there to say how far the stream has come.
    if (id !== null) this.lastId = id
    this.#id = null
  }

  #add(value: string): void {
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    this.#lineCount++
    if (this.#data.length + this.#lineCount * LINE_BYTES > this.#bytesMax) throw new SseTooLong('the event is too long')
  }
}

/** What stands behind the name of a field that ends at `at`; null when the name goes on. */
function fieldValue(text: string, at: number, end: number): string | null {
  if (at === end) return ''
  if (text.charCodeAt(at) !== 58) return null
  return text.slice(text.charCodeAt(at + 1) === 32 && at + 1 < end ? at + 2 : at + 1, end)
}

/** An id that can be sent as Last-Event-ID, or null. */
function idOf(value: string | null): string | null {
  return value === null || value.length > ID_LENGTH_MAX || value.includes('\0') ? null : value
}

function retryOf(value: string | null): number | null {
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : null
}
