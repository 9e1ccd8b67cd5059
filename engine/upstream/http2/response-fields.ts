/** The fields of an answer of HTTP/2, judged as they are decoded (RFC 9113 sections 8.1 to 8.3). */
import { HeaderBlock } from '#engine/http/headers.ts'
import {
  CONNECTION,
  CONTENT_LENGTH,
  type Field,
  FLAWED,
  HOP,
  HOST,
  PSEUDO_END,
  STATUS,
  TE,
  TRACE_TOKEN
} from '#engine/http2/field.ts'
import type { FieldSink } from '#engine/http2/hpack-decoder.ts'

/** Largest list of fields, as HPACK counts (RFC 9113 section 6.5.2); we say so in our SETTINGS. */
export const LIST_BYTES_MAX = 60 * 1024
const FIELDS_MAX = 1000

/** One per connection: read it before the next block. */
export class ResponseFields implements FieldSink {
  block = new HeaderBlock()
  /** 0: there was none. */
  status = 0
  /** Content-Length; -1: there was none. */
  length = -1
  /** The block is not what the protocol allows, or larger than we take. */
  isMalformed = false
  #listBytes = 0
  #count = 0
  #isTrailer = false
  #hasOrdinary = false

  begin(isTrailer: boolean): void {
    this.block = new HeaderBlock()
    this.status = 0
    this.length = -1
    this.isMalformed = false
    this.#listBytes = 0
    this.#count = 0
    this.#isTrailer = isTrailer
    this.#hasOrdinary = false
  }

  field(field: Field): void {
    this.#listBytes += field.size
    if (++this.#count > FIELDS_MAX || this.#listBytes > LIST_BYTES_MAX) this.isMalformed = true
    // The rest is decoded because it changes the table, and nothing of it is kept.
    if (this.isMalformed) return
    const { kind } = field
    if (kind < PSEUDO_END) {
      this.#pseudo(kind, field.value)
      return
    }
    this.#hasOrdinary = true
    if (kind === FLAWED || kind === CONNECTION) this.isMalformed = true
    else if (kind === CONTENT_LENGTH) this.#contentLength(field)
    else if (kind !== HOP && kind !== TE && kind !== HOST && kind !== TRACE_TOKEN)
      this.block.receive(field.name, field.value)
  }

  #pseudo(kind: number, value: string): void {
    const isFit = kind === STATUS && !this.#isTrailer && !this.#hasOrdinary && this.status === 0
    if (isFit && /^[1-9][0-9][0-9]$/.test(value)) this.status = Number(value)
    else this.isMalformed = true
  }

  #contentLength({ name, value }: Field): void {
    if (this.length >= 0 || !/^[0-9]{1,15}$/.test(value)) {
      this.isMalformed = true
      return
    }
    this.length = Number(value)
    this.block.receive(name, value)
  }
}
