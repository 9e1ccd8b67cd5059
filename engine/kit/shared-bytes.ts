/**
 * Memory for long bodies, which threads share: handing one over costs nothing, and who sends it need not copy it,
 * because it is never written again once it is full.
 */

/** Shorter bodies have memory of their thread's own. */
export const SHARED_BYTES = 128 * 1024

/**
 * Room for `length` bytes, to be filled at once or as they come. One that could grow has pages of its own, which the
 * kernel clears one by one when they are first written; others may get memory that was used before, and all of it is
 * cleared at once (10 MB: 15 to 30 ms).
 */
export function sharedRoom(length: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(length, { maxByteLength: length }), 0, length)
}

export function isShared({ buffer }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer
}

/** Bytes from another thread, without a copy. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** `value` as JSON; a long one for other threads too. Throws RangeError when it is nested too deeply. */
export function jsonBytes(value: object): Buffer {
  return textBytes(JSON.stringify(value))
}

/** `text`; a long one for other threads too. */
export function textBytes(text: string): Buffer {
  if (text.length <= SHARED_BYTES) return Buffer.from(text)
  const room = sharedRoom(Buffer.byteLength(text))
  room.write(text)
  return room
}
