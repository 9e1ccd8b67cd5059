/**
 * The Huffman code of HPACK (RFC 7541 section 5.2 and Appendix B). It is canonical: the lengths of its codes say
 * everything, codes of one length follow each other in the order of their symbols.
 */

/** Length of the code of each byte, one base-36 digit per byte; the end of string (256) has 30 bits, all ones. */
const LENGTHS =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq'

const EOS = 256
const lengths = Uint8Array.from([...LENGTHS].map((digit) => Number.parseInt(digit, 36)).concat(30))
const codes = new Uint32Array(EOS + 1)

/**
 * The decoder's steps, four bits each: [state << 4 | bits] -> next state, and what the step gives. The code has 257
 * leaves, so its tree has 256 inner nodes: the states. The shortest code has five bits: a step ends one symbol at most.
 */
const steps = new Uint32Array(EOS << 4)
const GIVES = 1 << 16
const FAILS = 1 << 17
/** A string may end here: behind less than a byte of ones (section 5.2). */
const mayEnd = new Uint8Array(EOS)

makeCodes()
makeSteps()

function makeCodes(): void {
  const order = Array.from(lengths.keys()).sort((a, b) => lengths[a]! - lengths[b]! || a - b)
  let code = 0
  let length = 0
  for (const symbol of order) {
    code <<= lengths[symbol]! - length
    length = lengths[symbol]!
    codes[symbol] = code++
  }
}

function makeSteps(): void {
  // children[node * 2 + bit]: an inner node, or -1 - symbol.
  const children = new Int32Array(EOS * 2)
  let nodes = 1
  for (let symbol = 0; symbol <= EOS; symbol++) {
    let node = 0
    for (let bit = lengths[symbol]! - 1; bit > 0; bit--) {
      const at = node * 2 + ((codes[symbol]! >>> bit) & 1)
      if (children[at] === 0) children[at] = nodes++
      node = children[at]!
    }
    children[node * 2 + (codes[symbol]! & 1)] = -1 - symbol
  }
  for (let state = 0; state < EOS; state++) {
    for (let bits = 0; bits < 16; bits++) steps[(state << 4) | bits] = stepFrom(children, state, bits)
  }
  for (let node = 0, ones = 0; ones < 8; ones++) {
    mayEnd[node] = 1
    node = children[node * 2 + 1]!
  }
}

function stepFrom(children: Int32Array, state: number, bits: number): number {
  let node = state
  let emitted = 0
  for (let bit = 3; bit >= 0; bit--) {
    const next = children[node * 2 + ((bits >> bit) & 1)]!
    if (next >= 0) node = next
    else if (next === -1 - EOS) return FAILS
    else {
      emitted = GIVES | ((-1 - next) << 8)
      node = 0
    }
  }
  return node | emitted
}

/** Eight fifths of the longest string that is decoded: its room. Grown when a longer one comes. */
let room = Buffer.allocUnsafeSlow(4096)

/** Bytes [start, end) decoded, as latin1 text; null: they are no code (section 5.2 names the three ways). */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | null {
  const longest = Math.ceil((end - start) * 1.6)
  if (longest > room.length) room = Buffer.allocUnsafeSlow(longest)
  const out = room
  let length = 0
  let state = 0
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    const high = steps[(state << 4) | (byte >> 4)]!
    if (high >= FAILS) return null
    if (high >= GIVES) out[length++] = high >> 8
    const low = steps[((high & 255) << 4) | (byte & 15)]!
    if (low >= FAILS) return null
    if (low >= GIVES) out[length++] = low >> 8
    state = low & 255
  }
  return mayEnd[state] === 1 ? out.latin1Slice(0, length) : null
}

/** Bytes that latin1 `text` takes when it is encoded. */
export function huffmanLength(text: string): number {
  let bits = 0
  for (let i = 0; i < text.length; i++) bits += lengths[text.charCodeAt(i) & 255]!
  return (bits + 7) >> 3
}

/** Latin1 `text` encoded, as latin1 text. */
export function encodeHuffman(text: string): string {
  let out = ''
  let pending = 0
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const symbol = text.charCodeAt(i) & 255
    let left = lengths[symbol]!
    // At most 7 bits wait and 8 are added: no code is taken whole, the longest would not fit into 32 bits.
    while (left > 0) {
      const take = Math.min(left, 8)
      left -= take
      pending = (pending << take) | ((codes[symbol]! >>> left) & ((1 << take) - 1))
      count += take
      if (count < 8) continue
      count -= 8
      out += String.fromCharCode((pending >>> count) & 255)
      pending &= (1 << count) - 1
    }
  }
  // Padded with ones, the beginning of the end of string.
  return count === 0 ? out : out + String.fromCharCode(((pending << (8 - count)) | (255 >> count)) & 255)
}
