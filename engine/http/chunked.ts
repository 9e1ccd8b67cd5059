/** Writes chunks of the chunked transfer coding (RFC 9112 section 7.1). */
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Wire } from '#engine/socket/wire.ts'

const CR = 0x0d
const LF = 0x0a
const HEX = Buffer.from('0123456789abcdef', 'latin1')

/** Writes bytes [start, end) of `bytes`, at least one, as one chunk without extensions. */
export function writeChunk(wire: Wire, bytes: Buffer, start: number, end: number, slot: ReadSlot | null): void {
  // A lent slot is only ours between its first and its last byte: what stands around the data may change.
  const framed = slot === null ? framedStart(bytes, start, end) : -1
  if (framed >= 0) {
    wire.writeBytes(bytes, framed, end + 2, null)
    return
  }
  wire.write(`${(end - start).toString(16)}\r\n`)
  wire.writeBytes(bytes, start, end, slot)
  wire.write('\r\n')
}

/**
 * Data that arrived as a chunk mostly lies between the very framing that it leaves with: one write
 * instead of three. Where that framing would begin, or -1. Only a byte-for-byte match counts, so an extension,
 * a leading zero or an upper-case digit is not passed on.
 */
export function framedStart(bytes: Buffer, start: number, end: number): number {
  if (bytes[end] !== CR || bytes[end + 1] !== LF || bytes[start - 1] !== LF || bytes[start - 2] !== CR) return -1
  let at = start - 2
  for (let size = end - start; size > 0; size >>>= 4) {
    if (bytes[--at] !== HEX[size & 15]) return -1
  }
  return at
}
