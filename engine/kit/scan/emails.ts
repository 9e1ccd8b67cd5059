/** Mail addresses: RFC 5321, unquoted, with letters of all scripts (RFC 6531) and names of hosts of all scripts. */
import type { Liveness, Search } from './live.ts'

/** Unicode's Default_Ignorable_Code_Point is invisible, so to a reader it is in no address. */
const LETTERS = '\\p{L}\\p{N}\\p{M}\\p{DI}'
/** RFC 5321 section 4.5.3.1: 64 and 255 octets. */
const LOCAL = `[${LETTERS}._%+'-]`
/** RFC 3490 section 3.1: what is a dot in a name of a host. */
const DOT = '[.\u3002\uff0e\uff61]'
const DOMAIN = `(?:[${LETTERS}-]{1,63}${DOT}){1,8}(?:[xX][nN]--[a-zA-Z0-9-]{2,59}|[\\p{L}\\p{M}\\p{DI}]{2,24})`
const AT = /[@\ufe6b\uff20]/g
const LOCAL_MAX = 64
/** 8 labels, and the last one. */
const DOMAIN_MAX = 9 * 64
const LOCAL_END = new RegExp(`${LOCAL}{1,${LOCAL_MAX}}$`, 'u')
const DOMAIN_HERE = new RegExp(DOMAIN, 'uy')

/** From one @ to the next: a search that begins at letters would try most of a text. */
export const findEmail: Search = ({ text }, from) => {
  AT.lastIndex = from
  for (let sign = AT.exec(text); sign !== null; sign = AT.exec(text)) {
    const at = sign.index
    DOMAIN_HERE.lastIndex = at + 1
    if (!DOMAIN_HERE.test(text)) continue
    const end = DOMAIN_HERE.lastIndex
    // A character may be two units.
    const local = LOCAL_END.exec(text.slice(Math.max(from, at - 2 * LOCAL_MAX), at))
    if (local !== null) return [at - local[0].length, end]
  }
  return null
}

// --- in text that is still arriving ---

const IN_LOCAL = 1
const IN_DOMAIN = 2
const IS_AT = 4
const IS_KNOWN = 8
const LOCAL_HERE = new RegExp(LOCAL, 'u')
const DOMAIN_UNIT = new RegExp(`[${LETTERS}-]|${DOT}`, 'u')
/** Of characters of one unit, once they have come. */
const units = new Uint8Array(0x10000)

function kindOf(rune: number): number {
  if (rune <= 0xffff && units[rune] !== 0) return units[rune]!
  const character = String.fromCodePoint(rune)
  let kind = IS_KNOWN
  if (LOCAL_HERE.test(character)) kind |= IN_LOCAL
  if (DOMAIN_UNIT.test(character)) kind |= IN_DOMAIN
  AT.lastIndex = 0
  if (AT.test(character)) kind |= IS_AT
  if (rune <= 0xffff) units[rune] = kind
  return kind
}

/** From the first of 64 characters that may stand before the sign on, and until the name of the host is over. */
export class EmailLive implements Liveness {
  /** Places of the last characters that may stand before a sign, as a ring. */
  readonly #local = new Float64Array(LOCAL_MAX)
  #count = 0
  /** Where the address begins whose host is being read; -1: there is none. */
  #start = -1
  #length = 0
  accepted = -1
  #latest = -1

  read(rune: number, position: number): void {
    const kind = kindOf(rune)
    if (this.#start >= 0 && ((kind & IN_DOMAIN) === 0 || ++this.#length > DOMAIN_MAX)) this.#start = -1
    if ((kind & IN_LOCAL) !== 0) {
      this.#local[this.#count % LOCAL_MAX] = position
      this.#count++
      return
    }
    if ((kind & IS_AT) !== 0 && this.#count > 0) {
      this.#start = this.#first()
      this.#length = 0
      if (this.accepted < 0) this.accepted = this.#start
      this.#latest = this.#start
    }
    this.#count = 0
  }

  #first(): number {
    return this.#count <= LOCAL_MAX ? this.#local[0]! : this.#local[this.#count % LOCAL_MAX]!
  }

  earliest(fed: number): number {
    if (this.#start >= 0) return this.#start
    return this.#count > 0 ? this.#first() : fed
  }

  take(position: number, next: number): void {
    this.accepted = this.#latest >= position ? position : next
  }

  reset(): void {
    this.#count = 0
    this.#start = -1
  }
}
