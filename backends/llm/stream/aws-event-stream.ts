/**
 * AWS event streams (application/vnd.amazon.eventstream), as Bedrock and SageMaker answer. Source: "Event stream
 * encoding" of the Amazon Transcribe developer guide and of the Smithy specification. A message, big-endian:
 *
 *   total bytes u32 | header bytes u32 | CRC-32 of these eight | headers | payload | CRC-32 of all before
 *
 * and a header: name bytes u8, name, type u8, value.
 */
import { isUtf8 } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { FormatError, type WireEvent } from '#backends/llm/formats/format.ts'

/** What the decoder tells. It is what the Converse stream reader takes. */
export interface EventMessage extends WireEvent {
  /** `:message-type`. */
  readonly kind: 'event' | 'exception' | 'error'
  /** `:event-type`, `:exception-type`; of an error "error". */
  readonly name: string
  /** The payload as text; of an error {"code","message"} of its headers; "" where there is `payload`. */
  readonly data: string
  /** Of an event PayloadPart: a piece of another stream, so any bytes. */
  readonly payload?: Buffer
}

/** `long` and `timestamp` (milliseconds since 1970) are bigint: they have 64 bits. `uuid` as text with dashes. */
export type HeaderValue =
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'byte' | 'short' | 'integer'; readonly value: number }
  | { readonly type: 'long' | 'timestamp'; readonly value: bigint }
  | { readonly type: 'binary'; readonly value: Uint8Array }
  | { readonly type: 'string' | 'uuid'; readonly value: string }
export type Headers = ReadonlyMap<string, HeaderValue>

export const PRELUDE = 12
export const CRC = 4
/** The limits of AWS's own implementation (aws-c-event-stream). */
const MESSAGE_BYTES_MAX = 24 * 1024 * 1024
const HEADER_BYTES_MAX = 128 * 1024
/** Of SageMaker (its reference, ResponseStream). */
const PIECE = 'PayloadPart'
/** A buffer that grew beyond is not kept for the next message. */
const KEPT_BYTES_MAX = 64 * 1024

/**
 * Bytes in, in any pieces; whole messages out. Holds at most one message of `bytesMax`, and never more than twice
 * what has come of it.
 */
export class EventStreamDecoder {
  readonly #bytesMax: number
  /** What there is of a message that is not whole yet. */
  #buffer = Buffer.alloc(0)
  #held = 0
  /** Of the message in #buffer, once its prelude is there. */
  #length = 0
  #fault: FormatError | null = null

  constructor(bytesMax = MESSAGE_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** The messages that end in `bytes`. Throws FormatError; then the stream is lost, and every later call throws. */
  push(bytes: Uint8Array): EventMessage[] {
    if (this.#fault !== null) throw this.#fault
    try {
      return this.#read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    } catch (error) {
      this.#buffer = Buffer.alloc(0)
      this.#fault = error instanceof FormatError ? error : new FormatError('', String(error))
      throw this.#fault
    }
  }

  /** Throws FormatError when the stream ends within a message. */
  end(): void {
    if (this.#fault !== null) throw this.#fault
    if (this.#held > 0) throw new FormatError('', 'the event stream ends within a message')
  }

  #read(chunk: Buffer): EventMessage[] {
    const messages: EventMessage[] = []
    let at = 0
    while (at < chunk.length) {
      // Whole messages are read where they are.
      if (this.#held === 0 && chunk.length - at >= PRELUDE) {
        const length = lengthOf(chunk, at, this.#bytesMax)
        if (chunk.length - at >= length) {
          messages.push(messageOf(chunk.subarray(at, at + length)))
          at += length
          continue
        }
      }
      at += this.#hold(chunk, at)
      if (this.#held >= PRELUDE && this.#held === this.#length) {
        messages.push(messageOf(this.#buffer.subarray(0, this.#length)))
        this.#held = 0
        if (this.#buffer.length > KEPT_BYTES_MAX) this.#buffer = Buffer.alloc(0)
      }
    }
    return messages
  }

  /** Keeps what there is of the message, first its prelude; tells how many bytes it took. */
  #hold(chunk: Buffer, at: number): number {
    const wanted = this.#held < PRELUDE ? PRELUDE : this.#length
    const end = this.#held + Math.min(wanted - this.#held, chunk.length - at)
    if (this.#buffer.length < end) {
      const larger = Buffer.allocUnsafe(Math.max(end, Math.min(wanted, end * 2)))
      this.#buffer.copy(larger, 0, 0, this.#held)
      this.#buffer = larger
    }
    const taken = end - this.#held
    chunk.copy(this.#buffer, this.#held, at, at + taken)
    if (this.#held < PRELUDE && end === PRELUDE) this.#length = lengthOf(this.#buffer, 0, this.#bytesMax)
    this.#held = end
    return taken
  }
}

/** Bytes of the message whose prelude is at `at`. */
function lengthOf(bytes: Buffer, at: number, bytesMax: number): number {
  // The sum goes first: lengths of a broken prelude mean nothing.
  if (crc32(bytes.subarray(at, at + 8)) !== bytes.readUInt32BE(at + 8)) {
    throw new FormatError('', 'the checksum of a prelude in the event stream is wrong')
  }
  const length = bytes.readUInt32BE(at)
  const headers = bytes.readUInt32BE(at + 4)
  if (length > bytesMax) throw new FormatError('', `a message of the event stream has more than ${bytesMax} bytes`)
  if (headers > HEADER_BYTES_MAX || headers > length - PRELUDE - CRC) {
    throw new FormatError('', 'the lengths of a message in the event stream are wrong')
  }
  return length
}

function messageOf(bytes: Buffer): EventMessage {
  const end = bytes.length - CRC
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) {
    throw new FormatError('', 'the checksum of a message in the event stream is wrong')
  }
  const payloadAt = PRELUDE + bytes.readUInt32BE(4)
  const headers = readHeaders(bytes.subarray(PRELUDE, payloadAt))
  const kind = stringOf(headers, ':message-type')
  if (kind === 'error') {
    const code = stringOf(headers, ':error-code')
    const message = headers.has(':error-message') ? stringOf(headers, ':error-message') : code
    return { kind, name: 'error', data: JSON.stringify({ code, message }) }
  }
  if (kind !== 'event' && kind !== 'exception') throw new FormatError(':message-type', 'is not known')
  const name = nameOf(headers, `:${kind}-type`)
  const payload = bytes.subarray(payloadAt, end)
  // A copy: the next message may take the place of this one.
  if (kind === 'event' && name === PIECE) return { kind, name, data: '', payload: Buffer.from(payload) }
  if (!isUtf8(payload)) throw new FormatError('', 'the payload of a message in the event stream is not UTF-8')
  return { kind, name, data: payload.toString('utf8') }
}

/** A line end in it would be one of server-sent events, and text behind it one that no guard has seen. */
function nameOf(headers: Headers, field: string): string {
  const name = stringOf(headers, field)
  if (/[\r\n]/.test(name)) throw new FormatError(field, 'has a line end in it')
  return name
}

function stringOf(headers: Headers, name: string): string {
  const header = headers.get(name)
  if (header?.type === 'string') return header.value
  throw new FormatError(name, 'is required in a message of the event stream, and must be a string')
}

/** The headers in `bytes`, of all types. Throws FormatError. */
export function readHeaders(bytes: Buffer): Headers {
  const headers = new Map<string, HeaderValue>()
  let at = 0
  const take = (length: number): number => {
    const from = at
    at += length
    if (at > bytes.length) throw new FormatError('', 'a header of the event stream is cut off')
    return from
  }
  while (at < bytes.length) {
    const nameBytes = bytes.readUInt8(take(1))
    const nameAt = take(nameBytes)
    const name = bytes.toString('utf8', nameAt, nameAt + nameBytes)
    if (nameBytes === 0 || headers.has(name)) throw new FormatError(name, 'is a wrong header in the event stream')
    headers.set(name, readValue(bytes, bytes.readUInt8(take(1)), take, name))
  }
  return headers
}

function readValue(bytes: Buffer, type: number, take: (length: number) => number, name: string): HeaderValue {
  switch (type) {
    case 0:
    case 1:
      return { type: 'boolean', value: type === 0 }
    case 2:
      return { type: 'byte', value: bytes.readInt8(take(1)) }
    case 3:
      return { type: 'short', value: bytes.readInt16BE(take(2)) }
    case 4:
      return { type: 'integer', value: bytes.readInt32BE(take(4)) }
    case 5:
    case 8:
      return { type: type === 5 ? 'long' : 'timestamp', value: bytes.readBigInt64BE(take(8)) }
    case 6:
    case 7: {
      const length = bytes.readUInt16BE(take(2))
      const from = take(length)
      if (type === 7) return { type: 'string', value: bytes.toString('utf8', from, from + length) }
      return { type: 'binary', value: Uint8Array.from(bytes.subarray(from, from + length)) }
    }
    case 9: {
      const from = take(16)
      const hex = bytes.toString('hex', from, from + 16)
      return { type: 'uuid', value: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') }
    }
    default:
      throw new FormatError(name, 'has a type that event streams do not have')
  }
}
