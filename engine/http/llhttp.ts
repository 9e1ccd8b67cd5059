/**
 * llhttp, as a WebAssembly build (llhttp-binary.ts), and what it tells about a message.
 *
 * It parses in place, in the memory that sockets read into (engine/socket/memory.ts), and its
 * header callbacks only note offsets. One instance per thread; strict mode, no leniency flag is
 * ever set. RFC 9112 is the grammar.
 */

import { ReadMemory } from '#engine/socket/memory.ts'
import type { HeaderBlock } from './headers.ts'
import { binary } from './llhttp-binary.ts'

export const REQUEST = 1
export const RESPONSE = 2

/** What onHead may answer. */
export const HEAD_OK = 0
/** The message has no body whatever its headers say (answer to HEAD). */
export const HEAD_NO_BODY = 1
/** Refuse the message; the reason is the caller's. */
export const HEAD_REFUSED = -1

/** Faults that this file finds itself, beside llhttp's own error numbers. */
export const FAULT_NONE = 0
export const FAULT_SYNTAX = 1 // anything llhttp refuses
export const FAULT_METHOD = 2
export const FAULT_VERSION = 3
export const FAULT_FRAMING = 4 // length, coding or chunk errors
export const FAULT_HEADERS = 5 // too many, or too large
export const FAULT_URI = 6
export const FAULT_REFUSED = 7 // onHead refused it

const PAUSED = 21
/** What stands between the target and the header lines, at least: read when there are no header lines. */
const VERSION_BYTES = ' HTTP/1.1'.length
/** Room for parser states, taken up front so that the memory never grows (growth detaches views). */
const PARSER_BYTES = 8 * 1024 * 1024
/**
 * Parsers of each type that may be busy at once on one thread; a state is about 70 bytes plus malloc's
 * overhead. Counted apart: a flood of clients with half a request must not take those of the backends.
 */
const PARSERS_MAX = 32_768
/** Chunk framing bytes tolerated beyond the body: 16 per body byte plus this much. */
const FRAMING_SLACK_BYTES = 16 * 1024
const TRAILER_BYTES_MAX = 16 * 1024

/** Receives one message. All positions are offsets into ReadMemory.bytes. */
export interface MessageHandler {
  /** The head is complete: parser.block, parser.target* and parser.keepAlive are set. */
  onHead(parser: Parser): number
  onBody(start: number, end: number): void
  /** The message is complete. Parsing stops behind it; execute() returns that position. */
  onComplete(parser: Parser): void
}

/** The part of the WebAssembly API used here; @types/node leaves it to the DOM library. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

interface Wasm {
  readonly memory: { readonly buffer: ArrayBuffer }
  malloc(bytes: number): number
  free(pointer: number): void
  llhttp_alloc(type: number): number
  llhttp_reset(parser: number): void
  llhttp_execute(parser: number, start: number, length: number): number
  llhttp_finish(parser: number): number
  llhttp_resume(parser: number): void
  llhttp_get_errno(parser: number): number
  llhttp_get_error_pos(parser: number): number
  llhttp_get_method(parser: number): number
  llhttp_get_http_major(parser: number): number
  llhttp_get_http_minor(parser: number): number
  _initialize(): void
}

export class Parser {
  readonly pointer: number
  handler: MessageHandler | null = null
  /** Filled with the head's header lines. */
  block: HeaderBlock | null = null
  /** Limits of the message at hand. */
  headersMax = 0
  headBytesMax = 0
  uriBytesMax = 0

  /** Request target, as offsets into block.text. */
  targetStart = -1
  targetEnd = -1
  status = 0
  keepAlive = false
  /** The headers ask for an upgrade (requests), or the status is 101. */
  upgrade = false
  /** Trailer lines, each ended by CRLF. */
  trailers = ''
  fault: number = FAULT_NONE
  /** A byte of the current message has been seen. */
  started = false
  inHead = true

  #base = 0
  #start = 0
  #partial = ''
  #lastWasValue = false
  #framingBytes = 0
  #bodyBytes = 0
  readonly #wasm: Wasm
  readonly #bytes: Buffer

  constructor(pointer: number, wasm: Wasm, bytes: Buffer) {
    this.pointer = pointer
    this.#wasm = wasm
    this.#bytes = bytes
  }

  /** Makes the parser ready for the first message of a connection. */
  reset(handler: MessageHandler, block: HeaderBlock): void {
    this.#wasm.llhttp_reset(this.pointer)
    this.handler = handler
    this.block = block
    this.fault = FAULT_NONE
    this.upgrade = false
    this.#newMessage()
  }

  #newMessage(): void {
    this.inHead = true
    this.started = false
    this.targetStart = -1
    this.targetEnd = -1
    this.trailers = ''
    this.#partial = ''
    this.#lastWasValue = false
    this.#framingBytes = 0
    this.#bodyBytes = 0
  }

  get method(): string {
    return METHODS[this.#wasm.llhttp_get_method(this.pointer)] ?? ''
  }

  get versionMajor(): number {
    return this.#wasm.llhttp_get_http_major(this.pointer)
  }

  get versionMinor(): number {
    return this.#wasm.llhttp_get_http_minor(this.pointer)
  }

  /** The request target has been seen (so an overlong head is a head, not a target). */
  get pastTarget(): boolean {
    return this.block !== null && this.block.count > 0
  }

  /**
   * Parses bytes [start, end) of the memory. Returns the position after the last byte taken: `end`,
   * or less when a message ended before it. -1: `fault` says what is wrong.
   */
  execute(start: number, end: number): number {
    this.started = true
    if (this.inHead) {
      this.#base = start - this.#partial.length
      this.#start = start
    }
    const bodyBefore = this.#bodyBytes
    const wasInHead = this.inHead
    const errno = this.#call(start, end - start)
    if (errno === 0) {
      if (this.inHead) return this.#keepPartial(start, end)
      if (!wasInHead && this.#countFraming(end - start - (this.#bodyBytes - bodyBefore))) return -1
      return end
    }
    if (errno === PAUSED) {
      const position = this.#wasm.llhttp_get_error_pos(this.pointer)
      this.#wasm.llhttp_resume(this.pointer)
      return position
    }
    if (this.fault === FAULT_NONE) this.fault = faultOf(errno)
    return -1
  }

  /** The connection ended. True: a message that is delimited by that end is complete. */
  finish(): boolean {
    if (current !== null) throw new Error('llhttp is not re-entrant')
    current = this
    const errno = this.#wasm.llhttp_finish(this.pointer)
    current = null
    return errno === 0 || errno === PAUSED
  }

  #call(start: number, length: number): number {
    // Callbacks find their parser here; one thread runs one parse at a time.
    if (current !== null) throw new Error('llhttp is not re-entrant')
    current = this
    try {
      return this.#wasm.llhttp_execute(this.pointer, start, length)
    } finally {
      current = null
    }
  }

  /** The head goes on in the next read: keep its text, bounded. */
  #keepPartial(start: number, end: number): number {
    this.#partial += this.#bytes.latin1Slice(start, end)
    if (this.#partial.length > this.headBytesMax) {
      this.fault = this.pastTarget ? FAULT_HEADERS : FAULT_URI
      return -1
    }
    return end
  }

  /** Chunk extensions and one-byte chunks are legal, a flood of them is an attack. */
  #countFraming(bytes: number): boolean {
    this.#framingBytes += bytes
    if (this.#framingBytes <= FRAMING_SLACK_BYTES + 16 * this.#bodyBytes) return false
    this.fault = FAULT_FRAMING
    return true
  }

  // --- callbacks, in the order in which a message causes them ---

  onUrl(at: number, length: number): number {
    const offset = at - this.#base
    if (this.targetStart < 0) this.targetStart = offset
    this.targetEnd = offset + length
    if (this.targetEnd - this.targetStart <= this.uriBytesMax) return 0
    this.fault = FAULT_URI
    return -1
  }

  onField(at: number, length: number): number {
    if (!this.inHead) return this.#onTrailerField(at, length)
    const block = this.block!
    const offset = at - this.#base
    let i = block.count - 1
    // A name that was split by the end of a read goes on exactly where it stopped.
    if (i < 0 || this.#lastWasValue || block.at[i * 4 + 1] !== offset) {
      if (block.count >= this.headersMax) {
        this.fault = FAULT_HEADERS
        return -1
      }
      i = block.count++
      block.at[i * 4] = offset
      this.#lastWasValue = false
    }
    const end = offset + length
    block.at[i * 4 + 1] = end
    // A header without a value reports none: it is empty, right after its colon.
    block.at[i * 4 + 2] = end + 1
    block.at[i * 4 + 3] = end + 1
    return 0
  }

  onValue(at: number, length: number): number {
    if (!this.inHead) return this.#onTrailerValue(at, length)
    // An empty value is reported behind its line end: taken as it is, a forwarded line would end twice.
    if (length === 0) return 0
    const table = this.block!.at
    const slot = (this.block!.count - 1) * 4
    const offset = at - this.#base
    if (!this.#lastWasValue) {
      table[slot + 2] = offset
      this.#lastWasValue = true
    }
    table[slot + 3] = offset + length
    return 0
  }

  onHeadersComplete(status: number, upgrade: number, keepAlive: number): number {
    const block = this.block!
    const end = block.count > 0 ? block.at[block.count * 4 - 1]! : Math.max(this.targetEnd, 0) + VERSION_BYTES
    const kept = this.#partial.length
    if (end > this.headBytesMax) {
      this.fault = FAULT_HEADERS
      return -1
    }
    const fresh = end > kept ? this.#bytes.latin1Slice(this.#start, this.#base + end) : ''
    block.text = kept === 0 ? fresh : this.#partial + fresh
    this.#partial = ''
    this.inHead = false
    this.status = status
    this.upgrade = upgrade !== 0
    this.keepAlive = keepAlive !== 0
    this.#lastWasValue = true
    const answer = this.handler!.onHead(this)
    if (answer !== HEAD_REFUSED) return answer
    this.fault = FAULT_REFUSED
    return -1
  }

  onBody(at: number, length: number): number {
    this.#bodyBytes += length
    this.handler!.onBody(at, at + length)
    return 0
  }

  onMessageComplete(): number {
    const handler = this.handler!
    handler.onComplete(this)
    this.#newMessage()
    return PAUSED
  }

  #onTrailerField(at: number, length: number): number {
    if (this.#lastWasValue && this.trailers !== '') this.trailers += '\r\n'
    return this.#addTrailer(at, length, false)
  }

  #onTrailerValue(at: number, length: number): number {
    if (!this.#lastWasValue) this.trailers += ': '
    return this.#addTrailer(at, length, true)
  }

  #addTrailer(at: number, length: number, isValue: boolean): number {
    this.#lastWasValue = isValue
    this.trailers += this.#bytes.latin1Slice(at, at + length)
    if (this.trailers.length <= TRAILER_BYTES_MAX) return 0
    this.fault = FAULT_HEADERS
    return -1
  }
}

/** The parser whose execute() is running. */
let current: Parser | null = null

/** The thread's instance: memory and parsers. */
export class Llhttp {
  readonly memory: ReadMemory
  readonly #wasm: Wasm
  readonly #idle: { [type: number]: Parser[] } = { [REQUEST]: [], [RESPONSE]: [] }
  readonly #made: { [type: number]: number } = { [REQUEST]: 0, [RESPONSE]: 0 }

  constructor() {
    this.#wasm = instantiate()
    const base = this.#wasm.malloc(ReadMemory.size)
    this.#wasm.free(this.#wasm.malloc(PARSER_BYTES))
    this.memory = new ReadMemory(this.#wasm.memory.buffer, base)
  }

  /** A parser for one message after the other, or null when PARSERS_MAX of its type are busy. */
  acquire(type: typeof REQUEST | typeof RESPONSE, handler: MessageHandler, block: HeaderBlock): Parser | null {
    let parser = this.#idle[type]!.pop()
    if (parser === undefined) {
      if (this.#made[type]! >= PARSERS_MAX) return null
      this.#made[type]!++
      parser = new Parser(this.#wasm.llhttp_alloc(type), this.#wasm, this.memory.bytes)
    }
    parser.reset(handler, block)
    return parser
  }

  /** Parsers in use. */
  get busy(): number {
    return this.#made[REQUEST]! - this.#idle[REQUEST]!.length + this.#made[RESPONSE]! - this.#idle[RESPONSE]!.length
  }

  release(type: typeof REQUEST | typeof RESPONSE, parser: Parser): void {
    parser.handler = null
    parser.block = null
    this.#idle[type]!.push(parser)
  }
}

let shared: Llhttp | null = null

/** The instance of this thread, made on first use. */
export function llhttp(): Llhttp {
  shared ??= new Llhttp()
  return shared
}

function instantiate(): Wasm {
  const imports = {
    wasm_on_message_begin: () => 0,
    wasm_on_url: (_: number, at: number, length: number) => current!.onUrl(at, length),
    wasm_on_status: () => 0,
    wasm_on_header_field: (_: number, at: number, length: number) => current!.onField(at, length),
    wasm_on_header_value: (_: number, at: number, length: number) => current!.onValue(at, length),
    wasm_on_headers_complete: (_: number, status: number, upgrade: number, keepAlive: number) =>
      current!.onHeadersComplete(status, upgrade, keepAlive),
    wasm_on_body: (_: number, at: number, length: number) => current!.onBody(at, length),
    wasm_on_message_complete: () => current!.onMessageComplete()
  }
  const instance = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(binary)), { env: imports })
  return instance.exports as Wasm
}

/** llhttp's error numbers, by what they mean for the reply. */
function faultOf(errno: number): number {
  switch (errno) {
    case 6: // INVALID_METHOD
      return FAULT_METHOD
    case 9: // INVALID_VERSION
    case 23: // PAUSED_H2_UPGRADE: the preface of HTTP/2
      return FAULT_VERSION
    case 4: // UNEXPECTED_CONTENT_LENGTH
    case 11: // INVALID_CONTENT_LENGTH
    case 12: // INVALID_CHUNK_SIZE
    case 15: // INVALID_TRANSFER_ENCODING
      return FAULT_FRAMING
    default:
      return FAULT_SYNTAX
  }
}

/** By llhttp's method number. */
const METHODS: readonly string[] = (
  'DELETE GET HEAD POST PUT CONNECT OPTIONS TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK BIND ' +
  'REBIND UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PATCH PURGE ' +
  'MKCALENDAR LINK UNLINK SOURCE PRI DESCRIBE ANNOUNCE SETUP PLAY PAUSE TEARDOWN GET_PARAMETER SET_PARAMETER ' +
  'REDIRECT RECORD FLUSH QUERY'
).split(' ')
