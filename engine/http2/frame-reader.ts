/**
 * Takes frames out of what is received (RFC 9113 sections 4 and 6), in place. DATA passes in the pieces in which it
 * arrives; other frames are short and are kept until they are whole, header blocks until their last CONTINUATION.
 * Both sides of a connection read by it; what only one side may send is for the handler to refuse.
 */
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FRAME_HEAD_BYTES,
  FRAME_SIZE_ERROR,
  GOAWAY,
  HEADERS,
  NO_ERROR,
  PADDED,
  PING,
  PRIORITY,
  PROTOCOL_ERROR,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  WITH_PRIORITY
} from './protocol.ts'

/** Every method answers NO_ERROR, or the code of a connection error: then nothing more is read. */
export interface FrameHandler {
  /** A whole header block: positions are valid during the call only. */
  onHeaders(stream: number, endStream: boolean, bytes: Buffer, start: number, end: number): number
  /**
   * A piece of DATA. `flow`: bytes that it takes of the windows, padding included. `endStream`: it is the last one.
   * An empty frame gives one piece of no bytes.
   */
  onData(stream: number, bytes: Buffer, start: number, end: number, flow: number, endStream: boolean): number
  onReset(stream: number, code: number): number
  /** Pairs of identifier and value, six bytes each (section 6.5.1). */
  onSettings(bytes: Buffer, start: number, end: number): number
  onSettingsAck(): number
  /** Eight bytes from `start`. */
  onPing(isAck: boolean, bytes: Buffer, start: number): number
  onGoaway(lastStream: number, code: number): number
  onWindowUpdate(stream: number, increment: number): number
  /** A frame that asks for nothing: PRIORITY, or of a type that is not known. */
  onIdle(): number
  /** A frame that breaks its stream only (section 5.4.2). */
  onStreamError(stream: number, code: number): number
}

/** More CONTINUATIONs than this for one block are an attack, not a block. */
const CONTINUATIONS_MAX = 32
/** Settings in one frame; nine are defined. */
const SETTINGS_MAX = 64
const GOAWAY_BYTES = 8
const BUFFER_BYTES_FIRST = 64
const BUFFER_BYTES_USUAL = 1024

const IN_HEAD = 0
/** The rest of the frame is collected. */
const IN_FRAME = 1
const IN_DATA = 2
/** The rest of the frame is dropped. */
const IN_NOTHING = 3

export class FrameReader {
  /** Frames that have no use are dropped, connections end: for owners that have gone. */
  isOver = false
  /** Frames that may still begin: reading stops at zero. Handlers subtract more for expensive ones. */
  work = Number.POSITIVE_INFINITY
  /** Where execute() has stopped: `end`, or where the next frame begins that there was no work left for. */
  stoppedAt = 0
  readonly #handler: FrameHandler
  readonly #frameBytesMax: number
  readonly #blockBytesMax: number
  /** The first frame of either side is SETTINGS (section 3.4). */
  #isFirst = true
  #state = IN_HEAD
  /** What has arrived of a head, or of a frame that must be whole. */
  #buffer: Buffer = Buffer.allocUnsafe(BUFFER_BYTES_FIRST)
  #bufferedBytes = 0
  #length = 0
  #type = 0
  #flags = 0
  #stream = 0
  /** Bytes of the frame that have not arrived. */
  #left = 0
  /** Of DATA: bytes of padding at its end; -1: the byte that says so has not arrived. */
  #padding = 0
  /** The block under way: its stream, or 0. */
  #blockStream = 0
  #blockEnds = false
  #block: Buffer[] = []
  #blockBytes = 0
  #continuations = 0

  /** `frameBytesMax`: our SETTINGS_MAX_FRAME_SIZE. `blockBytesMax`: of a compressed header block. */
  constructor(handler: FrameHandler, frameBytesMax: number, blockBytesMax: number) {
    this.#handler = handler
    this.#frameBytesMax = frameBytesMax
    this.#blockBytesMax = blockBytesMax
  }

  /** Something has begun to arrive that is of no use until it is whole. */
  get isWaiting(): boolean {
    return this.#blockStream !== 0 || this.#bufferedBytes > 0 || this.#state === IN_FRAME
  }

  /** The peer has sent nothing yet. */
  get isFirst(): boolean {
    return this.#isFirst
  }

  /** Bytes that are kept. */
  get heldBytes(): number {
    return this.#bufferedBytes + this.#blockBytes
  }

  /** Reads [start, end) of `bytes`: NO_ERROR, or the connection error that ends it. */
  execute(bytes: Buffer, start: number, end: number): number {
    let at = start
    this.stoppedAt = end
    while (at < end && !this.isOver) {
      let code = NO_ERROR
      if (this.#state === IN_HEAD) {
        if (this.work <= 0) {
          this.stoppedAt = at
          break
        }
        if (this.#bufferedBytes === 0 && end - at >= FRAME_HEAD_BYTES) {
          code = this.#begin(bytes, at)
          at += FRAME_HEAD_BYTES
        } else {
          at = this.#keep(bytes, at, end, FRAME_HEAD_BYTES)
          if (this.#bufferedBytes < FRAME_HEAD_BYTES) break
          this.#bufferedBytes = 0
          code = this.#begin(this.#buffer, 0)
        }
        if (code === NO_ERROR && this.#length === 0) code = this.#empty(bytes, at)
      } else if (this.#state === IN_DATA) {
        const stop = Math.min(end, at + this.#left)
        code = this.#data(bytes, at, stop)
        at = stop
      } else if (this.#state === IN_NOTHING) {
        const stop = Math.min(end, at + this.#left)
        this.#left -= stop - at
        if (this.#left === 0) this.#state = IN_HEAD
        at = stop
      } else if (this.#bufferedBytes === 0 && end - at >= this.#left) {
        const stop = at + this.#left
        this.#state = IN_HEAD
        code = this.#whole(bytes, at, stop)
        at = stop
      } else {
        at = this.#keep(bytes, at, end, this.#left)
        if (this.#bufferedBytes < this.#left) break
        this.#state = IN_HEAD
        code = this.#wholeBuffered()
      }
      if (code !== NO_ERROR) return code
    }
    return NO_ERROR
  }

  /** Keeps what there is of `wanted` bytes; returns where the rest begins. */
  #keep(bytes: Buffer, start: number, end: number, wanted: number): number {
    const stop = Math.min(end, start + wanted - this.#bufferedBytes)
    if (this.#buffer.length < wanted) {
      const larger = Buffer.allocUnsafe(wanted)
      this.#buffer.copy(larger, 0, 0, this.#bufferedBytes)
      this.#buffer = larger
    }
    bytes.copy(this.#buffer, this.#bufferedBytes, start, stop)
    this.#bufferedBytes += stop - start
    return stop
  }

  #begin(bytes: Buffer, at: number): number {
    this.work--
    const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
    const type = bytes[at + 3]!
    this.#length = length
    this.#left = length
    this.#type = type
    this.#flags = bytes[at + 4]!
    this.#stream = ((bytes[at + 5]! & 127) << 24) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 8) | bytes[at + 8]!
    if (this.#isFirst) {
      if (type !== SETTINGS || (this.#flags & ACK) !== 0) return PROTOCOL_ERROR
      this.#isFirst = false
    }
    if (length > this.#frameBytesMax) return FRAME_SIZE_ERROR
    // Between the frames of a block there is nothing, of no stream (section 6.10).
    const isContinued = type === CONTINUATION && this.#stream === this.#blockStream
    if (this.#blockStream !== 0 && !isContinued) return PROTOCOL_ERROR
    return this.#expect(type, length)
  }

  /** What the head alone tells of the frame: how the rest is taken, or why not. */
  #expect(type: number, length: number): number {
    const isOfConnection = this.#stream === 0
    this.#state = IN_FRAME
    switch (type) {
      case DATA:
        if (isOfConnection) return PROTOCOL_ERROR
        this.#state = IN_DATA
        this.#padding = (this.#flags & PADDED) === 0 ? 0 : -1
        return this.#padding < 0 && length === 0 ? FRAME_SIZE_ERROR : NO_ERROR
      case HEADERS:
      case CONTINUATION:
        if (isOfConnection || (type === CONTINUATION && this.#blockStream === 0)) return PROTOCOL_ERROR
        return this.#blockBytes + length > this.#blockBytesMax ? ENHANCE_YOUR_CALM : NO_ERROR
      case PRIORITY:
        return isOfConnection ? PROTOCOL_ERROR : length === 5 ? NO_ERROR : this.#skipBroken()
      case RST_STREAM:
        return isOfConnection ? PROTOCOL_ERROR : length === 4 ? NO_ERROR : FRAME_SIZE_ERROR
      case SETTINGS:
        if (!isOfConnection) return PROTOCOL_ERROR
        if (length % 6 !== 0 || ((this.#flags & ACK) !== 0 && length > 0)) return FRAME_SIZE_ERROR
        return length > SETTINGS_MAX * 6 ? ENHANCE_YOUR_CALM : NO_ERROR
      case PUSH_PROMISE:
        // Clients never push, and as a client we forbid it (section 6.6).
        return PROTOCOL_ERROR
      case PING:
        return isOfConnection ? (length === 8 ? NO_ERROR : FRAME_SIZE_ERROR) : PROTOCOL_ERROR
      case GOAWAY:
        return isOfConnection ? (length >= GOAWAY_BYTES ? NO_ERROR : FRAME_SIZE_ERROR) : PROTOCOL_ERROR
      case WINDOW_UPDATE:
        return length === 4 ? NO_ERROR : FRAME_SIZE_ERROR
      default:
        this.#state = IN_NOTHING
        return this.#handler.onIdle()
    }
  }

  #skipBroken(): number {
    this.#state = IN_NOTHING
    return this.#handler.onStreamError(this.#stream, FRAME_SIZE_ERROR)
  }

  /** The frame has no payload. */
  #empty(bytes: Buffer, at: number): number {
    const state = this.#state
    this.#state = IN_HEAD
    if (state === IN_NOTHING) return NO_ERROR
    if (state === IN_FRAME) return this.#whole(bytes, at, at)
    return this.#handler.onData(this.#stream, bytes, at, at, 0, (this.#flags & END_STREAM) !== 0)
  }

  #data(bytes: Buffer, start: number, end: number): number {
    let at = start
    this.#left -= end - start
    if (this.#padding < 0) {
      this.#padding = bytes[at++]!
      // As much padding as payload or more (section 6.1).
      if (this.#padding >= this.#length) return PROTOCOL_ERROR
    }
    const isLast = this.#left === 0
    if (isLast) this.#state = IN_HEAD
    const stop = Math.max(at, end - Math.max(0, this.#padding - this.#left))
    const endStream = isLast && (this.#flags & END_STREAM) !== 0
    return this.#handler.onData(this.#stream, bytes, at, stop, end - start, endStream)
  }

  #wholeBuffered(): number {
    const buffer = this.#buffer
    const length = this.#bufferedBytes
    this.#bufferedBytes = 0
    // Thousands of idle connections must not keep room for a large head each.
    if (buffer.length > BUFFER_BYTES_USUAL) this.#buffer = Buffer.allocUnsafe(BUFFER_BYTES_FIRST)
    return this.#whole(buffer, 0, length)
  }

  /** The frame's payload is [start, end). */
  #whole(bytes: Buffer, start: number, end: number): number {
    const handler = this.#handler
    const stream = this.#stream
    switch (this.#type) {
      case HEADERS:
        return this.#headers(bytes, start, end)
      case CONTINUATION:
        return this.#continue(bytes, start, end)
      case PRIORITY:
        if (uint31(bytes, start) === stream) return handler.onStreamError(stream, PROTOCOL_ERROR)
        return handler.onIdle()
      case RST_STREAM:
        return handler.onReset(stream, uint32(bytes, start))
      case SETTINGS:
        return (this.#flags & ACK) !== 0 ? handler.onSettingsAck() : handler.onSettings(bytes, start, end)
      case PING:
        return handler.onPing((this.#flags & ACK) !== 0, bytes, start)
      case GOAWAY:
        return handler.onGoaway(uint31(bytes, start), uint32(bytes, start + 4))
      default:
        return this.#windowUpdate(uint31(bytes, start))
    }
  }

  #windowUpdate(increment: number): number {
    if (increment > 0) return this.#handler.onWindowUpdate(this.#stream, increment)
    return this.#stream === 0 ? PROTOCOL_ERROR : this.#handler.onStreamError(this.#stream, PROTOCOL_ERROR)
  }

  #headers(bytes: Buffer, start: number, end: number): number {
    const flags = this.#flags
    const stream = this.#stream
    let at = start
    let stop = end
    if ((flags & PADDED) !== 0) {
      if (at === end) return FRAME_SIZE_ERROR
      stop -= bytes[at++]!
    }
    const isPrioritized = (flags & WITH_PRIORITY) !== 0
    if (isPrioritized) at += 5
    if (at > stop) return at > end ? FRAME_SIZE_ERROR : PROTOCOL_ERROR
    const isOwnParent = isPrioritized && uint31(bytes, at - 5) === stream
    const endStream = (flags & END_STREAM) !== 0
    if ((flags & END_HEADERS) === 0) {
      this.#blockStream = stream
      this.#blockEnds = endStream
      this.#continuations = 0
      this.#collect(bytes, at, stop)
      return NO_ERROR
    }
    const code = this.#handler.onHeaders(stream, endStream, bytes, at, stop)
    return code === NO_ERROR && isOwnParent ? this.#handler.onStreamError(stream, PROTOCOL_ERROR) : code
  }

  #continue(bytes: Buffer, start: number, end: number): number {
    if (++this.#continuations > CONTINUATIONS_MAX) return ENHANCE_YOUR_CALM
    this.#collect(bytes, start, end)
    if ((this.#flags & END_HEADERS) === 0) return NO_ERROR
    const stream = this.#blockStream
    const block = Buffer.concat(this.#block, this.#blockBytes)
    this.#blockStream = 0
    this.#block = []
    this.#blockBytes = 0
    return this.#handler.onHeaders(stream, this.#blockEnds, block, 0, block.length)
  }

  #collect(bytes: Buffer, start: number, end: number): void {
    if (start < end) this.#block.push(Buffer.from(bytes.subarray(start, end)))
    this.#blockBytes += end - start
  }
}

function uint32(bytes: Buffer, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}

function uint31(bytes: Buffer, at: number): number {
  return uint32(bytes, at) & 0x7fffffff
}
