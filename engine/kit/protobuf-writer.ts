/**
 * Writes messages of protocol buffers into memory that is used again (protobuf.dev, "Encoding"). For what is written
 * with every request and never read here: no object is made on the way.
 */

export const VARINT = 0
export const FIXED64 = 1
export const BYTES = 2
export const FIXED32 = 5

/** The first byte of a field; its number is at most 15. */
export const tag = (field: number, wireType: number): number => (field << 3) | wireType

/** Texts that are shorter are copied here; for longer ones the call into the runtime is faster. */
const SHORT_CHARS = 96
/** Longest varint of a length: 2^28 bytes. */
const LENGTH_BYTES = 4
const UINT32 = 2 ** 32

export class ProtobufWriter {
  readonly buffer: Buffer
  /** Where the next byte goes. */
  at = 0
  /** Texts that were longer have been cut. */
  readonly #textBytesMax: number

  constructor(bytes: number, textBytesMax: number) {
    this.buffer = Buffer.allocUnsafeSlow(bytes)
    this.#textBytesMax = textBytesMax
  }

  /** What has been written since the last reset; valid until the next one. */
  get written(): Buffer {
    return this.buffer.subarray(0, this.at)
  }

  reset(): void {
    this.at = 0
  }

  hasRoom(bytes: number): boolean {
    return this.buffer.length - this.at >= bytes
  }

  byte(value: number): void {
    this.buffer[this.at++] = value
  }

  /** A non-negative integer below 2^53. */
  varint(value: number): void {
    let rest = value
    while (rest > 0x7fffffff) {
      this.buffer[this.at++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    while (rest > 127) {
      this.buffer[this.at++] = (rest & 127) | 128
      rest >>>= 7
    }
    this.buffer[this.at++] = rest
  }

  /** Any safe integer, as int64: negative ones take ten bytes. */
  int64(value: number): void {
    if (value >= 0) {
      this.varint(value)
      return
    }
    let rest = BigInt.asUintN(64, BigInt(value))
    while (rest > 127n) {
      this.buffer[this.at++] = Number(rest & 127n) | 128
      rest >>= 7n
    }
    this.buffer[this.at++] = Number(rest)
  }

  /** Little-endian. */
  fixed32(value: number): void {
    this.buffer.writeUInt32LE(value, this.at)
    this.at += 4
  }

  /** Little-endian, of two halves. */
  fixed64(low: number, high: number): void {
    this.buffer.writeUInt32LE(low, this.at)
    this.buffer.writeUInt32LE(high, this.at + 4)
    this.at += 8
  }

  double(value: number): void {
    this.buffer.writeDoubleLE(value, this.at)
    this.at += 8
  }

  /** Microseconds as fixed64 nanoseconds, which a double cannot hold exactly. */
  nanoseconds(micros: number): void {
    const low = (micros % 0x400000) * 1000
    const high = Math.floor(micros / 0x400000) * 1000
    // nanoseconds = high * 2^22 + low
    const sum = low + (high % 1024) * 0x400000
    this.fixed64(sum % UINT32, Math.floor(high / 1024) + (sum >= UINT32 ? 1 : 0))
  }

  bytes(bytes: Uint8Array): void {
    const { buffer, at } = this
    const { length } = bytes
    if (length <= SHORT_CHARS) for (let i = 0; i < length; i++) buffer[at + i] = bytes[i]!
    else buffer.set(bytes, at)
    this.at = at + length
  }

  /** Lower-case digits of a number in base 16, two for each byte. */
  hex(digits: string): void {
    const { buffer } = this
    for (let i = 0; i < digits.length; i += 2)
      buffer[this.at++] = (digit(digits.charCodeAt(i)) << 4) | digit(digits.charCodeAt(i + 1))
  }

  /** Length and UTF-8 bytes of `text`, cut where it is too long. There must be room for three bytes a character. */
  text(text: string): void {
    if (text.length <= SHORT_CHARS && this.#ascii(text)) return
    const start = this.beginLength()
    const room = Math.min(this.#textBytesMax, this.buffer.length - this.at)
    this.at += this.buffer.write(text, this.at, room, 'utf8')
    this.endLength(start)
  }

  /** False: it is not ASCII, and nothing counts as written. */
  #ascii(text: string): boolean {
    const { buffer } = this
    const { length } = text
    let at = this.at
    buffer[at++] = length
    for (let i = 0; i < length; i++) {
      const c = text.charCodeAt(i)
      if (c > 127) return false
      buffer[at++] = c
    }
    this.at = at
    return true
  }

  /** Bytes that `text` may take, at most. */
  room(text: string): number {
    return Math.min(text.length * 3, this.#textBytesMax) + LENGTH_BYTES
  }

  /** Begins what has its length in front of it. Returns what endLength wants. */
  beginLength(): number {
    // Most lengths are of one byte; longer ones make what follows move.
    this.at++
    return this.at
  }

  endLength(start: number): void {
    const length = this.at - start
    if (length < 128) {
      this.buffer[start - 1] = length
      return
    }
    const extra = length < 0x4000 ? 1 : length < 0x200000 ? 2 : 3
    this.buffer.copyWithin(start + extra, start, this.at)
    const end = this.at + extra
    this.at = start - 1
    this.varint(length)
    this.at = end
  }
}

/** Value of a lower-case digit in base 16. */
function digit(c: number): number {
  return c < 58 ? c - 48 : c - 87
}

/** Bytes of a varint. */
export function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) bytes++
  return bytes
}
