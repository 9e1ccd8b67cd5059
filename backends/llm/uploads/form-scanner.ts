/**
 * A form with files that is read while it comes, piece by piece, as readForm (request/multipart.ts) reads a whole one:
 * it takes the same forms, finds the same parts, and refuses others for the same reasons. Nothing of a file is kept.
 */
import { FormatError } from '#backends/llm/formats/format.ts'
import {
  boundaryOf,
  FORM_FAULTS,
  type FormPart,
  HEADER_BYTES_MAX,
  headerOf,
  PARTS_MAX,
  type PartHeader
} from '#backends/llm/request/multipart.ts'

/** What is wanted of a part whose header has come. */
export interface PartWatch {
  /** True: its value is wanted. Throws FormatError: it may not be there. */
  begins(part: PartHeader): boolean
  /** Throws FormatError. */
  value(part: PartHeader, value: string): void
}

const NO_WATCH: PartWatch = { begins: () => false, value() {} }

/** Of a value that is wanted. */
const VALUE_BYTES_MAX = 1024

const EMPTY = Buffer.alloc(0)
const EMPTY_LINE = Buffer.from('\r\n\r\n')
const CR = 0x0d

type State = 'first' | 'header' | 'value' | 'delimited' | 'ended'

export class FormScanner {
  readonly boundary: string
  /** Those that have ended, by their places in the body. */
  readonly parts: FormPart[] = []
  /** The part whose end has not come; null: none. */
  open: (PartHeader & { readonly start: number }) | null = null
  watch: PartWatch = NO_WATCH
  readonly #first: Buffer
  readonly #delimiter: Buffer
  #state: State = 'first'
  /** What has come and may be the beginning of something. */
  #rest = EMPTY
  /** Of the rest, in the body. */
  #offset = 0
  #value: Buffer[] | null = null
  #valueBytes = 0

  /** Throws FormatError. `contentType`: of the request. */
  constructor(contentType: string) {
    this.boundary = boundaryOf(contentType)
    this.#first = Buffer.from(`--${this.boundary}\r\n`, 'latin1')
    this.#delimiter = Buffer.from(`\r\n--${this.boundary}`, 'latin1')
  }

  /** Bytes [start, end) of `chunk` have come. Throws FormatError; nothing may follow then. */
  push(chunk: Buffer, start: number, end: number): void {
    const piece = chunk.subarray(start, end)
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    let at = 0
    for (;;) {
      const next = this.#read(bytes, at)
      at = Math.abs(next)
      if (next <= 0) break
    }
    this.#rest = at === bytes.length ? EMPTY : Buffer.from(bytes.subarray(at))
    this.#offset += at
  }

  /** The body has ended. Throws FormatError. */
  end(): void {
    const rest = this.#rest.toString('latin1')
    if (this.#state === 'ended' && (rest === '' || rest === '\r\n')) return
    if (this.#state === 'ended') throw new FormatError(this.#place(0), FORM_FAULTS.behind)
    if (this.#state === 'first') throw new FormatError('', FORM_FAULTS.first)
    throw new FormatError(this.#place(1), this.#state === 'header' ? FORM_FAULTS.header : FORM_FAULTS.unended)
  }

  #place = (more: number): string => `part ${this.parts.length + more}`

  /** Where it goes on; negative or 0: there, when more has come. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'first':
        return this.#readFirst(bytes)
      case 'header':
        return this.#readHeader(bytes, at)
      case 'value':
        return this.#readValue(bytes, at)
      case 'delimited':
        return this.#readTail(bytes, at)
      default:
        // One line end at most.
        if (bytes.length - at > 2) throw new FormatError(this.#place(0), FORM_FAULTS.behind)
        return -at
    }
  }

  #readFirst(bytes: Buffer): number {
    const { length } = this.#first
    const come = Math.min(bytes.length, length)
    if (!bytes.subarray(0, come).equals(this.#first.subarray(0, come))) throw new FormatError('', FORM_FAULTS.first)
    if (come < length) return 0
    this.#state = 'header'
    return length
  }

  #readHeader(bytes: Buffer, at: number): number {
    if (this.parts.length === PARTS_MAX) throw new FormatError('', FORM_FAULTS.parts)
    const window = bytes.subarray(at, at + HEADER_BYTES_MAX)
    const end = window.indexOf(EMPTY_LINE)
    if (end < 0 && window.length < HEADER_BYTES_MAX) return -at
    const place = this.#place(1)
    if (end < 0) throw new FormatError(place, FORM_FAULTS.header)
    const start = end + EMPTY_LINE.length
    const part = headerOf(window.toString('latin1', 0, start - 2), place)
    this.open = { ...part, start: this.#offset + at + start }
    this.#value = this.watch.begins(part) ? [] : null
    this.#valueBytes = 0
    this.#state = 'value'
    // The empty line may be taken for the line end of a delimiter: some servers do.
    return at + start - 2
  }

  #readValue(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(this.#delimiter, at)
    const open = this.open!
    const end = this.#offset + found
    if (found < 0) {
      const kept = this.#mayBeDelimiter(bytes, at)
      this.#collect(bytes, at, kept)
      return -kept
    }
    if (end < open.start) throw new FormatError(this.#place(1), FORM_FAULTS.unended)
    this.#collect(bytes, at, found)
    if (this.#value !== null) this.watch.value(open, Buffer.concat(this.#value).toString())
    this.parts.push({ ...open, end })
    this.open = null
    this.#state = 'delimited'
    return found + this.#delimiter.length
  }

  /** Where what may be the beginning of a delimiter begins, at the end of what has come. */
  #mayBeDelimiter(bytes: Buffer, from: number): number {
    const { length } = this.#delimiter
    let at = bytes.indexOf(CR, Math.max(from, bytes.length - length + 1))
    while (at >= 0) {
      if (bytes.subarray(at).equals(this.#delimiter.subarray(0, bytes.length - at))) return at
      at = bytes.indexOf(CR, at + 1)
    }
    return bytes.length
  }

  #collect(bytes: Buffer, from: number, to: number): void {
    if (this.#value === null) return
    // The line end of the header has come again.
    const start = Math.max(from, this.open!.start - this.#offset)
    if (start >= to) return
    this.#valueBytes += to - start
    if (this.#valueBytes > VALUE_BYTES_MAX)
      throw new FormatError(this.open!.name, `has more than ${VALUE_BYTES_MAX} bytes`)
    this.#value.push(Buffer.from(bytes.subarray(start, to)))
  }

  #readTail(bytes: Buffer, at: number): number {
    if (bytes.length - at < 2) return -at
    const tail = bytes.toString('latin1', at, at + 2)
    if (tail !== '--' && tail !== '\r\n') throw new FormatError(this.#place(0), FORM_FAULTS.line)
    this.#state = tail === '--' ? 'ended' : 'header'
    return at + 2
  }
}
