/**
 * Length-prefixed messages of gRPC (PROTOCOL-HTTP2.md): a byte that says whether the message is compressed, four bytes
 * of its length, and the message.
 */

export const PREFIX_BYTES = 5

/** `message` behind its prefix, in one buffer. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, PREFIX_BYTES)
  return frame
}

/** Takes whole messages. False: no more for now. */
export type MessageTaker = (message: Uint8Array) => boolean

/** Why a stream of messages cannot be read on. */
export type FramingFault = 'compressed' | 'too large' | 'malformed' | 'no room'

const NO_BYTES = Buffer.alloc(0)

/** Cuts bytes into messages, however they are cut. Keeps at most one message, or what came while its taker was full. */
export class MessageReader {
  readonly #max: number
  readonly #taker: MessageTaker
  readonly #hasRoom: (bytes: number) => boolean
  /** Received and not yet a message. */
  #rest = NO_BYTES
  /** The message that is arriving, and how much of it is here; null: its prefix is not complete. */
  #message: Buffer | null = null
  #filled = 0
  #isFull = false
  #fault: FramingFault | null = null

  /** `max`: longest message, in bytes. `hasRoom`: asked before so many bytes are kept. */
  constructor(max: number, taker: MessageTaker, hasRoom: (bytes: number) => boolean = () => true) {
    this.#max = max
    this.#taker = taker
    this.#hasRoom = hasRoom
  }

  /** Nothing is left of a message. */
  get isBetween(): boolean {
    return this.#message === null && this.#rest.length === 0
  }

  /** The receiver is full: bytes wait. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Bytes [start, end) of `chunk`, which are copied. A fault ends the stream: nothing more is taken. */
  push(chunk: Buffer, start: number, end: number): FramingFault | null {
    if (this.#fault !== null || start === end) return this.#fault
    if (this.#isFull || this.#rest.length > 0) {
      this.#rest = Buffer.concat([this.#rest, chunk.subarray(start, end)])
      return this.#isFull ? null : this.#readRest()
    }
    return this.#read(chunk, start, end)
  }

  /** The taker has room again. */
  resume(): FramingFault | null {
    this.#isFull = false
    return this.#readRest()
  }

  #readRest(): FramingFault | null {
    const rest = this.#rest
    this.#rest = NO_BYTES
    return this.#read(rest, 0, rest.length)
  }

  #read(chunk: Buffer, start: number, end: number): FramingFault | null {
    let at = start
    while (at < end && !this.#isFull) {
      if (this.#message === null) {
        if (end - at < PREFIX_BYTES) break
        this.#fault = this.#begin(chunk, at)
        if (this.#fault !== null) return this.#fault
        at += PREFIX_BYTES
      }
      at = this.#fill(chunk, at, end)
    }
    // A copy: the chunk is valid during the call only.
    if (at < end) this.#rest = Buffer.from(chunk.subarray(at, end))
    return null
  }

  #begin(chunk: Buffer, at: number): FramingFault | null {
    const flag = chunk[at]!
    if (flag > 1) return 'malformed'
    if (flag === 1) return 'compressed'
    const length = chunk.readUInt32BE(at + 1)
    if (length > this.#max) return 'too large'
    if (!this.#hasRoom(length)) return 'no room'
    this.#filled = 0
    this.#message = length === 0 ? NO_BYTES : Buffer.allocUnsafe(length)
    if (length === 0) this.#deliver()
    return null
  }

  #fill(chunk: Buffer, at: number, end: number): number {
    const message = this.#message
    if (message === null) return at
    const take = Math.min(message.length - this.#filled, end - at)
    chunk.copy(message, this.#filled, at, at + take)
    this.#filled += take
    if (this.#filled === message.length) this.#deliver()
    return at + take
  }

  #deliver(): void {
    const message = this.#message!
    this.#message = null
    this.#isFull = !this.#taker(message)
  }
}
