/**
 * WebSocket frames as a client of a server sees them (RFC 6455 section 5): an incremental decoder for
 * what the server sends, an encoder for what we send. Payload is never collected: a message of any
 * length passes in the pieces in which it arrives. Whether text is UTF-8 is left to the two ends.
 */
import { createHash, randomFillSync } from 'node:crypto'

export const TEXT = 1
export const BINARY = 2
export const CLOSE = 8
export const PING = 9
export const PONG = 10

/** Close codes that are only spoken of, never sent (RFC 6455 section 7.4.1). */
export const NO_STATUS = 1005
export const ABNORMAL = 1006
export const PROTOCOL_ERROR = 1002

const CONTINUATION = 0
const CONTROL_BYTES_MAX = 125
const MASK_BYTES = 4

/** Receives what a server sends. Ranges are valid during the call only. */
export interface FrameHandler {
  /** A piece of a message. `first` and `last`: it begins and ends the message; both for a whole one. */
  onMessage(isText: boolean, chunk: Buffer, start: number, end: number, first: boolean, last: boolean): void
  onPing(payload: Buffer): void
  /** `code` is NO_STATUS when the frame carries none. Nothing is decoded after it. */
  onClose(code: number, reason: Buffer): void
}

const IN_HEAD = 0
const IN_MESSAGE = 1
const IN_CONTROL = 2
const OVER = 3

export class FrameDecoder {
  /** Why decoding stopped, or null. The connection must be failed with PROTOCOL_ERROR. */
  fault: string | null = null
  readonly #handler: FrameHandler
  #state = IN_HEAD
  readonly #head = Buffer.alloc(10)
  #headBytes = 0
  #opcode = 0
  #isFinal = false
  /** Payload bytes of the frame that have not arrived. */
  #left = 0
  /** Opcode of the message under way, or 0. */
  #message = 0
  /** The next piece is the first of its message. */
  #isFirst = true
  readonly #control = Buffer.alloc(CONTROL_BYTES_MAX)
  #controlBytes = 0

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  /** Decodes bytes [start, end) of `chunk`. After a fault or a close frame it does nothing. */
  execute(chunk: Buffer, start: number, end: number): void {
    let at = start
    while (at < end && this.#state !== OVER) {
      if (this.#state === IN_HEAD) at = this.#readHead(chunk, at, end)
      else if (this.#state === IN_CONTROL) at = this.#readControl(chunk, at, end)
      else at = this.#readMessage(chunk, at, end)
    }
  }

  #readHead(chunk: Buffer, start: number, end: number): number {
    const head = this.#head
    let at = start
    while (at < end) {
      head[this.#headBytes++] = chunk[at++]!
      if (this.#headBytes < 2 || this.#headBytes < headLength(head[1]!)) continue
      this.#headBytes = 0
      this.#beginFrame()
      break
    }
    return at
  }

  #beginFrame(): void {
    const head = this.#head
    this.#opcode = head[0]! & 15
    this.#isFinal = head[0]! >= 128
    const length = payloadLength(head)
    const fault = this.#faultOf(length)
    if (fault !== null) {
      this.fault = fault
      this.#state = OVER
      return
    }
    this.#left = length
    if (this.#opcode >= CLOSE) {
      this.#state = IN_CONTROL
      this.#controlBytes = 0
      if (length === 0) this.#endControl()
      return
    }
    if (this.#opcode !== CONTINUATION) {
      this.#message = this.#opcode
      this.#isFirst = true
    }
    this.#state = IN_MESSAGE
    if (length === 0) this.#pass(this.#control, 0, 0)
  }

  #faultOf(length: number): string | null {
    const head = this.#head
    const opcode = this.#opcode
    if ((head[0]! & 0x70) !== 0) return 'a reserved bit is set'
    if (head[1]! >= 128) return 'a server must not mask'
    if (opcode > PONG || (opcode > BINARY && opcode < CLOSE)) return 'the opcode is unknown'
    if (length < 0) return 'the length is not in its shortest form, or too large'
    if (opcode >= CLOSE) {
      return this.#isFinal && length <= CONTROL_BYTES_MAX ? null : 'a control frame is fragmented or too long'
    }
    if ((opcode === CONTINUATION) !== (this.#message !== 0)) return 'a message is fragmented wrongly'
    return null
  }

  #readMessage(chunk: Buffer, start: number, end: number): number {
    const stop = Math.min(end, start + this.#left)
    this.#left -= stop - start
    this.#pass(chunk, start, stop)
    return stop
  }

  #pass(chunk: Buffer, start: number, end: number): void {
    const isFirst = this.#isFirst
    const isText = this.#message === TEXT
    const isOver = this.#left === 0
    const isLast = isOver && this.#isFinal
    this.#isFirst = false
    if (isOver) this.#state = IN_HEAD
    if (isLast) this.#message = 0
    this.#handler.onMessage(isText, chunk, start, end, isFirst, isLast)
  }

  #readControl(chunk: Buffer, start: number, end: number): number {
    const stop = Math.min(end, start + this.#left)
    chunk.copy(this.#control, this.#controlBytes, start, stop)
    this.#controlBytes += stop - start
    this.#left -= stop - start
    if (this.#left === 0) this.#endControl()
    return stop
  }

  #endControl(): void {
    const payload = this.#control.subarray(0, this.#controlBytes)
    this.#state = IN_HEAD
    if (this.#opcode === PING) this.#handler.onPing(payload)
    else if (this.#opcode === CLOSE) this.#endWith(payload)
    // A pong needs no answer.
  }

  #endWith(payload: Buffer): void {
    this.#state = OVER
    if (payload.length === 0) {
      this.#handler.onClose(NO_STATUS, payload)
      return
    }
    const code = payload.length === 1 ? 0 : payload.readUInt16BE(0)
    if (isCloseCode(code)) this.#handler.onClose(code, payload.subarray(2))
    else this.fault = 'the close code is invalid'
  }
}

/** Whether an endpoint may send `code` in a close frame (RFC 6455 section 7.4, IANA registry). */
export function isCloseCode(code: number): boolean {
  if (code >= 3000) return code <= 4999
  return code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_STATUS && code !== ABNORMAL
}

/** Bytes of a frame's head, given its second byte. */
function headLength(second: number): number {
  const length = second & 127
  return length < 126 ? 2 : length === 126 ? 4 : 10
}

/** Bytes of payload; -1 when another form would have been shorter, or beyond what a number counts. */
function payloadLength(head: Buffer): number {
  const length = head[1]! & 127
  if (length < 126) return length
  if (length === 126) {
    const medium = head.readUInt16BE(2)
    return medium < 126 ? -1 : medium
  }
  const long = head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6)
  return long < 65_536 || !Number.isSafeInteger(long) ? -1 : long
}

/** A masked, unfragmented frame that carries `payload`. */
export function encodeFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload
  const headBytes = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(headBytes + MASK_BYTES + length)
  frame[0] = 128 | opcode
  if (headBytes === 2) frame[1] = 128 | length
  else if (headBytes === 4) {
    frame[1] = 128 | 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 128 | 127
    frame.writeUInt32BE(Math.floor(length / 2 ** 32), 2)
    frame.writeUInt32BE(length % 2 ** 32, 6)
  }
  const maskAt = nextMask()
  masks.copy(frame, headBytes, maskAt, maskAt + MASK_BYTES)
  applyMask(payload, maskAt, frame, headBytes + MASK_BYTES)
  return frame
}

/** A masked close frame. NO_STATUS sends none. */
export function encodeClose(code: number, reason: Uint8Array): Buffer {
  if (code === NO_STATUS) return encodeFrame(CLOSE, reason.subarray(0, 0))
  const kept = reason.subarray(0, CONTROL_BYTES_MAX - 2)
  const payload = Buffer.allocUnsafe(2 + kept.length)
  payload.writeUInt16BE(code, 0)
  payload.set(kept, 2)
  return encodeFrame(CLOSE, payload)
}

/** Masks must not be predictable (RFC 6455 section 10.3); one system call serves a thousand frames. */
const masks = Buffer.alloc(1024 * MASK_BYTES)
let maskUsed = masks.length

function nextMask(): number {
  if (maskUsed === masks.length) {
    randomFillSync(masks)
    maskUsed = 0
  }
  const at = maskUsed
  maskUsed += MASK_BYTES
  return at
}

function applyMask(payload: Uint8Array, maskAt: number, frame: Buffer, at: number): void {
  const a = masks[maskAt]!
  const b = masks[maskAt + 1]!
  const c = masks[maskAt + 2]!
  const d = masks[maskAt + 3]!
  const { length } = payload
  const whole = length - (length % 4)
  let i = 0
  for (; i < whole; i += 4) {
    frame[at + i] = payload[i]! ^ a
    frame[at + i + 1] = payload[i + 1]! ^ b
    frame[at + i + 2] = payload[i + 2]! ^ c
    frame[at + i + 3] = payload[i + 3]! ^ d
  }
  for (; i < length; i++) frame[at + i] = payload[i]! ^ masks[maskAt + (i % 4)]!
}

/** What a server must answer to `key` in Sec-WebSocket-Accept (RFC 6455 section 4.2.2). */
export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}
