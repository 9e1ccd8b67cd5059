/** The base64 of crypt(3): its own alphabet, and six bits at a time from the lower end. */

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `digest` in groups of indices, the first of a group is its highest byte; -1 stands for a zero byte. */
export function crypt64(digest: Uint8Array, groups: readonly (readonly [number, number, number])[]): string {
  let out = ''
  for (const [high, middle, low] of groups) {
    // Leading zero bytes of the last group have no characters: n bytes need the next whole number above n * 8 / 6.
    const chars = high >= 0 ? 4 : middle >= 0 ? 3 : 2
    let bits = ((digest[high] ?? 0) << 16) | ((digest[middle] ?? 0) << 8) | digest[low]!
    for (let i = 0; i < chars; i++) {
      out += ALPHABET[bits & 63]
      bits >>= 6
    }
  }
  return out
}

/** `bytes` repeated and cut to `length`. */
export function stretched(bytes: Uint8Array, length: number): Buffer {
  const out = Buffer.alloc(length)
  for (let at = 0; at < length; at += bytes.length) out.set(bytes.subarray(0, Math.min(bytes.length, length - at)), at)
  return out
}
