/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012) over a tag of 64 bits and a text: without the key
 * colliding texts cannot be found. Arithmetic of 64 bits as pairs of 32, because BigInt makes garbage.
 */

export class SipHash {
  /** The last result: its lower and higher 32 bits. */
  lo = 0
  hi = 0
  readonly #key: Int32Array

  /** `key`: four random words, the lower half first. */
  constructor(key: Int32Array) {
    this.#key = key
  }

  /**
   * Hashes the eight bytes of the tag and the UTF-16 code units of `text`, low byte first, as one message.
   * The result is left in `lo` and `hi`.
   */
  hash(text: string, tagLo: number, tagHi: number): void {
    const key = this.#key
    let al = key[0]! ^ 0x70736575
    let ah = key[1]! ^ 0x736f6d65
    let bl = key[2]! ^ 0x6e646f6d
    let bh = key[3]! ^ 0x646f7261
    let cl = key[0]! ^ 0x6e657261
    let ch = key[1]! ^ 0x6c796765
    let dl = key[2]! ^ 0x79746573
    let dh = key[3]! ^ 0x74656462
    const units = text.length
    const whole = units & ~3
    // Blocks of four units: the tag stands before the first, the rest and the length after the last; then the end.
    for (let at = -4; at <= whole + 4; at += 4) {
      const isEnd = at > whole
      let ml = 0
      let mh = 0
      if (at < 0) {
        ml = tagLo
        mh = tagHi
      } else if (at < whole) {
        ml = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
        mh = text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 16)
      } else if (isEnd) cl ^= 0xff
      else {
        if (units > at) ml = text.charCodeAt(at)
        if (units > at + 1) ml |= text.charCodeAt(at + 1) << 16
        if (units > at + 2) mh = text.charCodeAt(at + 2)
        mh |= (8 + 2 * units) << 24
      }
      dl ^= ml
      dh ^= mh
      for (let round = isEnd ? 4 : 2; round > 0; round--) {
        // One round per line of the paper's figure: additions with carry, rotations, exclusive ors.
        al = (al + bl) | 0
        ah = (ah + bh + carry(al, bl)) | 0
        cl = (cl + dl) | 0
        ch = (ch + dh + carry(cl, dl)) | 0
        let t = bl
        bl = ((bl << 13) | (bh >>> 19)) ^ al
        bh = ((bh << 13) | (t >>> 19)) ^ ah
        t = dl
        dl = ((dl << 16) | (dh >>> 16)) ^ cl
        dh = ((dh << 16) | (t >>> 16)) ^ ch
        t = (ah + dl) | 0
        ah = (al + dh + carry(t, dl)) | 0
        al = t
        t = (cl + bl) | 0
        ch = (ch + bh + carry(t, bl)) | 0
        cl = t
        t = bl
        bl = ((bl << 17) | (bh >>> 15)) ^ cl
        bh = ((bh << 17) | (t >>> 15)) ^ ch
        t = dl
        dl = ((dl << 21) | (dh >>> 11)) ^ al
        dh = ((dh << 21) | (t >>> 11)) ^ ah
        t = cl
        cl = ch
        ch = t
      }
      al ^= ml
      ah ^= mh
    }
    this.lo = al ^ bl ^ cl ^ dl
    this.hi = ah ^ bh ^ ch ^ dh
  }
}

/** 1 if the addition of `b` that gave `sum` went over 32 bits. */
function carry(sum: number, b: number): number {
  return sum >>> 0 < b >>> 0 ? 1 : 0
}
