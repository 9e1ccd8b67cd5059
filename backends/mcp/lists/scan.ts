/**
 * A page of a list, read as it came: where its items are, what they are called, and whether all of it is JSON. Nothing
 * is built that is only written again. RFC 8259, as strictly as JSON.parse takes it: what one server writes stands
 * beside what others do.
 */
import { isUtf8 } from 'node:buffer'
import {
  blanks,
  Elements,
  endOfValue,
  LIST,
  NOWHERE,
  OBJECT,
  QUOTE,
  textOf
} from '#backends/mcp/protocol/json-bytes.ts'

export interface Scanned {
  /** Under the target's own names, in order. */
  readonly names: readonly string[]
  /** By item: where it begins, where it ends, and where the text of its name does, behind the quote. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly nameOffsets: readonly number[]
  /** An item has `_meta`. */
  readonly hasMeta: boolean
  /** The other members of the result, as they are written; "" for none. */
  readonly otherMembers: string
  readonly nextCursor: string | null
  /** As they were said, JSON; null: not at all. */
  readonly ttlMs: string | null
  readonly cacheScope: string | null
  readonly resultType: string | null
}

/**
 * Of a response, whose id has been checked. Null: it is no plain list, or its bytes do not show
 * that it is one; callers that need more parse it. Linear; never throws.
 */
export function scanList(bytes: Buffer, key: string, by: string): Scanned | null {
  if (!isUtf8(bytes)) return null
  const scan = new Scan(bytes, key, by)
  return scan.response() ? scan : null
}

class Scan implements Scanned {
  readonly names: string[] = []
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly nameOffsets: number[] = []
  hasMeta = false
  otherMembers = ''
  nextCursor: string | null = null
  ttlMs: string | null = null
  cacheScope: string | null = null
  resultType: string | null = null
  readonly #bytes: Buffer
  readonly #key: Buffer
  readonly #by: Buffer
  #hasItems = false
  #hasResult = false
  #hasCursor = false

  constructor(bytes: Buffer, key: string, by: string) {
    this.#bytes = bytes
    this.#key = Buffer.from(key)
    this.#by = Buffer.from(by)
  }

  response(): boolean {
    const end = this.#members(blanks(this.#bytes, 0), RESPONSE)
    return end !== NOWHERE && blanks(this.#bytes, end) === this.#bytes.length && this.#hasResult && this.#hasItems
  }

  /** The object at `from`, whose members `level` knows. Returns its end. */
  #members(from: number, level: typeof RESPONSE | typeof RESULT): number {
    const members = new Elements(this.#bytes, OBJECT)
    let more = members.first(from)
    while (more) more = members.next(level === RESPONSE ? this.#ofResponse(members) : this.#ofResult(members))
    return members.end
  }

  #ofResponse({ key, keyEnd, value }: Elements): number {
    const name = this.#bytes.latin1Slice(key, keyEnd)
    if (name === 'result') {
      if (this.#hasResult) return NOWHERE
      this.#hasResult = true
      return this.#members(value, RESULT)
    }
    return name === 'error' || name === 'method' ? NOWHERE : endOfValue(this.#bytes, value, 1)
  }

  #ofResult(member: Elements): number {
    const bytes = this.#bytes
    const { key, keyEnd, value } = member
    if (member.isKey(this.#key)) {
      if (this.#hasItems) return NOWHERE
      this.#hasItems = true
      return this.#items(value)
    }
    const end = endOfValue(bytes, value, 2)
    if (end === NOWHERE) return NOWHERE
    const name = bytes.latin1Slice(key, keyEnd)
    if (name === 'ttlMs' || name === 'cacheScope' || name === 'resultType') {
      if (this[name] !== null) return NOWHERE
      this[name] = bytes.latin1Slice(value, end)
      if (name !== 'resultType') return end
    } else if (name === 'nextCursor') {
      if (this.#hasCursor) return NOWHERE
      this.#hasCursor = true
      if (bytes[value] === QUOTE) this.nextCursor = textOf(bytes, value + 1, end)
    }
    const text = bytes.toString('utf8', key - 1, end)
    this.otherMembers = this.otherMembers === '' ? text : `${this.otherMembers},${text}`
    return end
  }

  #items(from: number): number {
    const items = new Elements(this.#bytes, LIST)
    const members = new Elements(this.#bytes, OBJECT)
    let more = items.first(from)
    while (more) {
      const end = this.#item(items.value, members)
      this.starts.push(items.value)
      this.ends.push(end)
      more = items.next(end)
    }
    return items.end
  }

  /** What is no item, or has two names, is left to a parser. */
  #item(from: number, members: Elements): number {
    const bytes = this.#bytes
    let isNamed = false
    let more = members.first(from)
    while (more) {
      const end = endOfValue(bytes, members.value, 4)
      if (end === NOWHERE) return NOWHERE
      if (members.isKey(this.#by)) {
        if (isNamed || bytes[members.value] !== QUOTE) return NOWHERE
        isNamed = true
        this.names.push(textOf(bytes, members.value + 1, end))
        this.nameOffsets.push(members.value + 1)
      } else if (members.isKey(META)) this.hasMeta = true
      more = members.next(end)
    }
    return isNamed ? members.end : NOWHERE
  }
}

const RESPONSE = 0
const RESULT = 1
const META = Buffer.from('_meta')
