/**
 * HTTP/1 messages, one after the other, as llhttp's callbacks report them: the head by offsets (header-table.ts), the
 * body where it was read, then the end. RFC 9112 is the grammar; strict mode, no leniency flag is ever set.
 */
import type { ReadMemory } from '#engine/socket/memory.ts'
import * as table from './header-table.ts'
import type { HeaderBlock } from './headers.ts'
import {
  FAULT_FRAMING,
  FAULT_HEADERS,
  FAULT_NONE,
  FAULT_REFUSED,
  FAULT_URI,
  faultOf,
  overflowOf
} from './llhttp-faults.ts'

/** What onHead may answer. */
export const HEAD_OK = 0
/** The message has no body whatever its headers say (answer to HEAD). */
export const HEAD_NO_BODY = 1
/** Refuse the message; the reason is the caller's. */
export const HEAD_REFUSED = -1

const PAUSED = 21
/** What stands between the target and the header lines, at least: read when there are no header lines. */
const VERSION_BYTES = ' HTTP/1.1'.length
/** Body bytes behind the head that are made text with it: what leaves as text anyway (handle-wire.ts), in one call. */
const TEXT_AHEAD_BYTES = 1536
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

/** What the module exports. */
export interface Wasm {
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
  /** Limits of the current message. */
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
  /** A message has begun and is not complete. */
  started = false
  inHead = true

  /** The current read. */
  #start = 0
  #end = 0
  #partial = ''
  /** Of the fields in #partial, or of the trailers. */
  #lastWasValue = false
  #framingBytes = 0
  #bodyBytes = 0
  /** llhttp itself is ready for the next message of the connection. */
  #ready = true
  readonly #wasm: Wasm
  readonly #memory: ReadMemory
  /** header-table.ts; one for all parsers. */
  readonly #slots: Int32Array

  constructor(pointer: number, wasm: Wasm, memory: ReadMemory, slots: Int32Array) {
    this.pointer = pointer
    this.#wasm = wasm
    this.#memory = memory
    this.#slots = slots
  }

  /** Makes the parser ready for the first message of a connection. */
  reset(handler: MessageHandler, block: HeaderBlock): void {
    this.handler = handler
    this.block = block
    this.#ready = false
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

  /**
   * Parses bytes [start, end) of the memory. Returns the position after the last byte taken: `end`,
   * or less when a message ended before it. -1: `fault` says what is wrong.
   */
  execute(start: number, end: number): number {
    this.#start = start
    this.#end = end
    if (this.inHead) this.#openHead()
    else this.#slots[table.IN_HEAD] = 0
    this.started = true
    const bodyBefore = this.#bodyBytes
    const wasInHead = this.inHead
    const errno = this.#call(start, end - start)
    if (errno === 0) {
      if (this.inHead) return this.#keepPartial()
      if (!wasInHead && this.#countFraming(end - start - (this.#bodyBytes - bodyBefore))) return -1
      return end
    }
    if (errno === PAUSED) {
      const position = this.#wasm.llhttp_get_error_pos(this.pointer)
      this.#wasm.llhttp_resume(this.pointer)
      return position
    }
    if (this.fault === FAULT_NONE) this.fault = overflowOf(this.#slots[table.OVERFLOW]!) || faultOf(errno)
    return -1
  }

  /** Gives the table to this head, which may have begun in an earlier read. */
  #openHead(): void {
    const slots = this.#slots
    const partial = this.#partial
    slots[table.IN_HEAD] = 1
    slots[table.BASE] = this.#start - partial.length
    slots[table.FIELDS_MAX] = this.headersMax
    slots[table.TARGET_MAX] = this.uriBytesMax
    slots[table.OVERFLOW] = 0
    slots[table.TARGET_START] = this.targetStart
    slots[table.TARGET_END] = this.targetEnd
    if (partial === '') {
      slots[table.COUNT] = 0
      slots[table.VALUE_SEEN] = 0
      if (!this.started) this.#startMessage()
      return
    }
    const { at, count } = this.block!
    for (let i = 0; i < count * 4; i++) slots[table.ROWS + i] = at[i]!
    slots[table.COUNT] = count
    slots[table.VALUE_SEEN] = this.#lastWasValue ? 1 : 0
  }

  #startMessage(): void {
    if (!this.#ready) this.#wasm.llhttp_reset(this.pointer)
    this.#ready = true
    this.fault = FAULT_NONE
    this.upgrade = false
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
      // The next read overwrites what this text was made of.
      this.#memory.forgetText()
    }
  }

  /** The head goes on in the next read: keep its text, bounded, and what is known of its fields. */
  #keepPartial(): number {
    const slots = this.#slots
    this.#takeFields()
    this.#lastWasValue = slots[table.VALUE_SEEN] !== 0
    this.#partial += this.#memory.bytes.latin1Slice(this.#start, this.#end)
    if (this.#partial.length <= this.headBytesMax) return this.#end
    this.fault = this.block!.count > 0 ? FAULT_HEADERS : FAULT_URI
    return -1
  }

  #takeFields(): void {
    const slots = this.#slots
    const block = this.block!
    const { at } = block
    const count = slots[table.COUNT]!
    block.count = count
    for (let i = 0; i < count * 4; i++) at[i] = slots[table.ROWS + i]!
    this.targetStart = slots[table.TARGET_START]!
    this.targetEnd = slots[table.TARGET_END]!
  }

  /** Chunk extensions and one-byte chunks are legal, a flood of them is an attack. */
  #countFraming(bytes: number): boolean {
    this.#framingBytes += bytes
    if (this.#framingBytes <= FRAMING_SLACK_BYTES + 16 * this.#bodyBytes) return false
    this.fault = FAULT_FRAMING
    return true
  }

  // --- callbacks, in the order in which a message causes them ---

  onHeadersComplete(status: number, upgrade: number, keepAlive: number): number {
    this.#takeFields()
    const block = this.block!
    const end = block.count > 0 ? block.at[block.count * 4 - 1]! : Math.max(this.targetEnd, 0) + VERSION_BYTES
    if (end > this.headBytesMax) {
      this.fault = FAULT_HEADERS
      return -1
    }
    this.#takeText(block, end)
    this.inHead = false
    this.#slots[table.IN_HEAD] = 0
    this.status = status
    this.upgrade = upgrade !== 0
    this.keepAlive = keepAlive !== 0
    // Where another message would be a protocol of its own or an error, llhttp stays behind this one.
    if (upgrade !== 0 || keepAlive === 0) this.#ready = false
    this.#lastWasValue = true
    const answer = this.handler!.onHead(this)
    if (answer !== HEAD_REFUSED) return answer
    this.fault = FAULT_REFUSED
    return -1
  }

  /** Makes the head text, and with it what may be a whole short message. */
  #takeText(block: HeaderBlock, headEnd: number): void {
    const partial = this.#partial
    const start = this.#start
    if (partial === '') {
      block.text = this.#memory.takeText(start, Math.min(start + headEnd + TEXT_AHEAD_BYTES, this.#end))
      return
    }
    const fresh = headEnd - partial.length
    block.text = fresh > 0 ? partial + this.#memory.bytes.latin1Slice(start, start + fresh) : partial
    this.#partial = ''
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

  onTrailerField(at: number, length: number): number {
    if (this.#lastWasValue && this.trailers !== '') this.trailers += '\r\n'
    return this.#addTrailer(at, length, false)
  }

  onTrailerValue(at: number, length: number): number {
    if (!this.#lastWasValue) this.trailers += ': '
    return this.#addTrailer(at, length, true)
  }

  #addTrailer(at: number, length: number, isValue: boolean): number {
    this.#lastWasValue = isValue
    this.trailers += this.#memory.bytes.latin1Slice(at, at + length)
    if (this.trailers.length <= TRAILER_BYTES_MAX) return 0
    this.fault = FAULT_HEADERS
    return -1
  }
}

/** The parser whose execute() is running. */
let current: Parser | null = null

/** What llhttp's callbacks call: they do not say of which parser they tell. */
export const callbacks = {
  onHeadersComplete: (_: number, status: number, upgrade: number, keepAlive: number) =>
    current!.onHeadersComplete(status, upgrade, keepAlive),
  onBody: (_: number, at: number, length: number) => current!.onBody(at, length),
  onMessageComplete: () => current!.onMessageComplete(),
  onTrailerField: (_: number, at: number, length: number) => current!.onTrailerField(at, length),
  onTrailerValue: (_: number, at: number, length: number) => current!.onTrailerValue(at, length)
}

/** By llhttp's method number. */
const METHODS: readonly string[] = (
  'DELETE GET HEAD POST PUT CONNECT OPTIONS TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK BIND ' +
  'REBIND UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PATCH PURGE ' +
  'MKCALENDAR LINK UNLINK SOURCE PRI DESCRIBE ANNOUNCE SETUP PLAY PAUSE TEARDOWN GET_PARAMETER SET_PARAMETER ' +
  'REDIRECT RECORD FLUSH QUERY'
).split(' ')
