/**
 * Reads one HTTP/1.1 answer after the other and compares every byte of each body with what the
 * backend is known to send: a proxy that is fast because it is wrong must not look good.
 */
import type { Expected, Fault } from './job.ts'

/** The answer is not complete yet. */
export const MORE = 'more'
/** The answer is complete and correct. */
export const DONE = 'done'
export type Reading = typeof MORE | typeof DONE | Fault

const HEAD_END = Buffer.from('\r\n\r\n', 'latin1')
/** Longer heads are refused: no canonical answer comes near. */
const HEAD_BYTES_MAX = 16 * 1024
const CONTENT_LENGTH = /\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n/i
const CHUNKED = /\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n/i
const CLOSE = /\r\nconnection:[ \t]*close[ \t]*\r\n/i
const CHUNK_SIZE = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i

const IN_HEAD = 0
const IN_BODY = 1 // delimited by Content-Length
const IN_CHUNK_LINE = 2
const IN_CHUNK = 3
const IN_CHUNK_END = 4 // the CRLF behind a chunk's data
const IN_TRAILERS = 5

export class AnswerReader {
  /** Body bytes received so far, over all answers. */
  bodyBytes = 0
  /** The answer said that the server will close the connection. */
  closing = false
  readonly #expected: Expected
  #state = IN_HEAD
  /** Text of an unfinished head or line. */
  #text = ''
  /** Body bytes of the present answer so far. */
  #position = 0
  /** Bytes left in the present chunk. */
  #left = 0

  constructor(expected: Expected) {
    this.#expected = expected
  }

  /** Forgets an unfinished answer: the connection is gone. */
  reset(): void {
    this.#state = IN_HEAD
    this.#text = ''
  }

  /** Takes bytes start..end of `chunk`. After DONE the reader is ready for the next answer. */
  read(chunk: Buffer, start: number, end: number): Reading {
    let at = start
    if (this.#state === IN_HEAD) {
      const next = this.#readHead(chunk, at, end)
      if (typeof next === 'string') return next
      at = next
    }
    if (this.#state === IN_BODY) return this.#readBody(chunk, at, end)
    return this.#readChunks(chunk, at, end)
  }

  /** Returns the offset behind the head, or what is wrong with it. */
  #readHead(chunk: Buffer, start: number, end: number): number | Reading {
    let at: number
    let head: string
    // The read buffer is reused: what lies behind `end` is from an earlier read.
    const found = this.#text === '' ? chunk.indexOf(HEAD_END, start) : -1
    if (found >= 0 && found + 4 <= end) {
      at = found + 4
      head = chunk.toString('latin1', start, at)
    } else {
      const held = this.#text.length
      const text = this.#text + chunk.toString('latin1', start, end)
      const close = text.indexOf('\r\n\r\n')
      if (close < 0) {
        this.#text = text
        return text.length > HEAD_BYTES_MAX ? 'framing' : MORE
      }
      at = start + close + 4 - held
      head = text.slice(0, close + 4)
      this.#text = ''
    }
    const fault = this.#takeHead(head)
    return fault ?? at
  }

  #takeHead(head: string): Fault | null {
    if (!head.startsWith('HTTP/1.1 ')) return 'framing'
    if (Number(head.slice(9, 12)) !== this.#expected.status) return 'status'
    this.closing = CLOSE.test(head)
    this.#position = 0
    const length = CONTENT_LENGTH.exec(head)
    const chunked = CHUNKED.test(head)
    if (length !== null && !chunked) {
      this.#state = IN_BODY
      return Number(length[1]) === this.#expected.body.length ? null : 'body'
    }
    // Neither is an answer that ends with the connection: no canonical backend sends one.
    if (!chunked || length !== null) return 'framing'
    this.#state = IN_CHUNK_LINE
    return null
  }

  #readBody(chunk: Buffer, start: number, end: number): Reading {
    const rest = this.#expected.body.length - this.#position
    if (end - start > rest) return 'extra'
    if (!this.#same(chunk, start, end)) return 'body'
    return end - start === rest ? this.#done() : MORE
  }

  #readChunks(chunk: Buffer, start: number, end: number): Reading {
    let at = start
    while (at < end) {
      if (this.#state === IN_CHUNK) {
        const stop = Math.min(end, at + this.#left)
        if (!this.#same(chunk, at, stop)) return 'body'
        this.#left -= stop - at
        at = stop
        if (this.#left === 0) this.#state = IN_CHUNK_END
        continue
      }
      const newline = chunk.indexOf(10, at)
      if (newline < 0 || newline >= end) {
        this.#text += chunk.toString('latin1', at, end)
        return this.#text.length > HEAD_BYTES_MAX ? 'framing' : MORE
      }
      const line = this.#text + chunk.toString('latin1', at, newline + 1)
      this.#text = ''
      at = newline + 1
      const reading = this.#takeLine(line)
      if (reading === DONE && at < end) return 'extra'
      if (reading !== MORE) return reading
    }
    return MORE
  }

  /** One line of chunked framing, with its CRLF. */
  #takeLine(line: string): Reading {
    if (!line.endsWith('\r\n')) return 'framing'
    const text = line.slice(0, -2)
    if (this.#state === IN_CHUNK_END) {
      this.#state = IN_CHUNK_LINE
      return text === '' ? MORE : 'framing'
    }
    if (this.#state === IN_TRAILERS) {
      if (text !== '') return MORE
      return this.#position === this.#expected.body.length ? this.#done() : 'body'
    }
    const size = CHUNK_SIZE.exec(text)
    if (size === null) return 'framing'
    this.#left = Number.parseInt(size[1]!, 16)
    this.#state = this.#left === 0 ? IN_TRAILERS : IN_CHUNK
    return MORE
  }

  #same(chunk: Buffer, start: number, end: number): boolean {
    const bytes = end - start
    if (bytes === 0) return true
    const { body } = this.#expected
    const position = this.#position
    if (position + bytes > body.length) return false
    if (body.compare(chunk, start, end, position, position + bytes) !== 0 && !this.#alike(chunk, start, end))
      return false
    this.#position = position + bytes
    this.bodyBytes += bytes
    return true
  }

  /** Compares what stands between the parts that may differ. */
  #alike(chunk: Buffer, start: number, end: number): boolean {
    const { body, unlike = [] } = this.#expected
    if (unlike.length === 0) return false
    const offset = start - this.#position
    const last = this.#position + end - start
    let at = this.#position
    for (const [from, to] of [...unlike, [body.length, body.length] as const]) {
      if (to <= at) continue
      const stop = Math.min(from, last)
      if (stop > at && body.compare(chunk, at + offset, stop + offset, at, stop) !== 0) return false
      if (from >= last) return true
      at = to
    }
    return true
  }

  #done(): Reading {
    this.#state = IN_HEAD
    return DONE
  }
}
