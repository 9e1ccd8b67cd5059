/**
 * The encoder of HPACK (RFC 7541): one for all header blocks that a connection sends, in their order. It gives
 * latin1 text, one character per byte, because that is how small messages leave (docs/design/006-how-bytes-leave.md).
 *
 * A field sent once may be particular to its message; one sent a second time probably comes again, and enters the
 * table. So a field that repeats costs one look-up by its line as it was received.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import { DynamicTable } from './dynamic-table.ts'
import { CONNECTION, FIELD_OVERHEAD, Field, HOP, HOST, TE, TRACE_TOKEN } from './field.ts'
import { encodeHuffman, huffmanLength } from './huffman.ts'
import { DEFAULT_TABLE_BYTES } from './protocol.ts'
import { DYNAMIC_FIRST, STATIC_FIELDS, STATIC_NAMES } from './static-table.ts'

/** Secret values (section 7.1.3): no table on the way may keep them, or lengths would help to guess them. */
const NEVER_INDEXED = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token'
])
/** Lines that were sent once. Forgotten all together: a peer that never repeats itself gains nothing from them. */
const ONCE_MAX = 256
/** Longer lines stay out of the table: they would drive out everything else. */
const LINE_BYTES_MAX = 512

/** What is to be known of a name before it is sent, found out once. */
class Name {
  readonly lower: string
  /** In the static table, or 0. */
  readonly index: number
  /** The name as a literal, where the static table has none. */
  readonly plainly: string
  readonly isSecret: boolean
  /** It belongs to a connection, or its value is sent elsewhere. */
  readonly isDropped: boolean

  constructor(name: string) {
    const lower = name.toLowerCase()
    const { kind } = new Field(lower, '')
    this.lower = lower
    this.index = STATIC_NAMES.get(lower) ?? 0
    this.plainly = this.index === 0 ? plain(lower) : ''
    this.isSecret = NEVER_INDEXED.has(lower)
    this.isDropped = kind === CONNECTION || kind === HOP || kind === TE || kind === HOST || kind === TRACE_TOKEN
  }
}

const NAMES_MAX = 1024
const names = new Map<string, Name>()

/** `name` as it was received, in any case. */
function nameOf(name: string): Name {
  let known = names.get(name)
  if (known === undefined) {
    if (names.size >= NAMES_MAX) names.clear()
    known = new Name(name)
    names.set(name, known)
  }
  return known
}

/** Where a line's field can be found. */
class Entry {
  readonly line: string
  readonly size: number
  /** Its place among all that were ever inserted. */
  readonly serial: number
  constructor(line: string, size: number, serial: number) {
    this.line = line
    this.size = size
    this.serial = serial
  }
}

export class HpackEncoder {
  readonly #table: DynamicTable<Entry>
  readonly #entries = new Map<string, Entry>()
  readonly #once = new Set<string>()
  /** The smallest size since the last block, and the last one; -1: the peer knows. */
  #smallest = -1
  #isAnnounced = true

  constructor() {
    this.#table = new DynamicTable(DEFAULT_TABLE_BYTES, (entry) => {
      if (this.#entries.get(entry.line) === entry) this.#entries.delete(entry.line)
    })
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. More than the default is not used. */
  resize(bytesMax: number): void {
    const size = Math.min(bytesMax, DEFAULT_TABLE_BYTES)
    if (size === this.#table.bytesMax) return
    this.#smallest = this.#smallest < 0 ? size : Math.min(this.#smallest, size)
    this.#isAnnounced = false
    this.#table.resize(size)
  }

  /** To be called first, for every block: what its beginning has to say (section 4.2). */
  begin(): string {
    if (this.#isAnnounced) return ''
    const { bytesMax } = this.#table
    const smallest = this.#smallest
    this.#isAnnounced = true
    this.#smallest = -1
    return (smallest < bytesMax ? integer(0x20, 31, smallest) : '') + integer(0x20, 31, bytesMax)
  }

  /** A field that no message brings: a pseudo-header field, or one of ours. `name` in lower case. */
  field(name: string, value: string): string {
    const line = `${name}: ${value}`
    return this.#known(line) ?? this.#encode(line, nameOf(name), value)
  }

  /** Trailers: lines, each ended by CRLF. */
  lines(text: string): string {
    let out = ''
    for (const line of text.split('\r\n')) {
      const colon = line.indexOf(':')
      if (colon > 0) out += this.field(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
    }
    return out
  }

  /** All fields of a message, without those that belong to a connection (RFC 9113 section 8.2.2) and Host. */
  fields(block: HeaderBlock): string {
    const { at, text, count, added } = block
    let out = ''
    for (let i = 0; i < count; i++) {
      const slot = i * 4
      if (at[slot + 1] === 0) continue
      const line = text.substring(at[slot]!, at[slot + 3]!)
      out += this.#known(line) ?? this.#encode(line, nameOf(block.name(i)), block.value(i))
    }
    if (added !== null) {
      for (let i = 0; i < added.length; i += 2) {
        const line = `${added[i]}: ${added[i + 1]}`
        out += this.#known(line) ?? this.#encode(line, nameOf(added[i]!), added[i + 1]!.trim())
      }
    }
    return out
  }

  /** The index of a line that is in the table. */
  #known(line: string): string | undefined {
    const entry = this.#entries.get(line)
    if (entry === undefined) return undefined
    return integer(0x80, 127, DYNAMIC_FIRST + this.#table.inserted - 1 - entry.serial)
  }

  #encode(line: string, name: Name, value: string): string {
    if (name.isDropped) return ''
    const { lower, index, plainly } = name
    const whole = index > 0 && value !== '' ? STATIC_FIELDS.get(`${lower}: ${value}`) : undefined
    if (whole !== undefined) return String.fromCharCode(0x80 | whole)
    if (name.isSecret) return integer(0x10, 15, index) + plainly + plain(value)
    // Most likely for this message alone: shorter text would cost more than the bytes do.
    if (line.length > LINE_BYTES_MAX || !this.#isRepeated(line)) return integer(0, 15, index) + plainly + plain(value)
    const entry = new Entry(line, lower.length + value.length + FIELD_OVERHEAD, this.#table.inserted)
    this.#table.insert(entry)
    if (this.#table.inserted > entry.serial) this.#entries.set(line, entry)
    return integer(0x40, 63, index) + (index === 0 ? shortest(lower) : '') + shortest(value)
  }

  #isRepeated(line: string): boolean {
    const once = this.#once
    if (once.delete(line)) return true
    if (once.size >= ONCE_MAX) once.clear()
    once.add(line)
    return false
  }
}

/** `value` with the pattern of its representation in front (RFC 7541 section 5.1). */
function integer(pattern: number, mask: number, value: number): string {
  if (value < mask) return String.fromCharCode(pattern | value)
  let out = String.fromCharCode(pattern | mask)
  let rest = value - mask
  while (rest >= 128) {
    out += String.fromCharCode((rest & 127) | 128)
    rest >>>= 7
  }
  return out + String.fromCharCode(rest)
}

function plain(text: string): string {
  return integer(0, 127, text.length) + text
}

/** A field that no table takes part in (section 6.2.2), exactly as it is written. */
export function literalField(name: string, value: string): string {
  return integer(0, 15, 0) + plain(name) + plain(value)
}

function shortest(text: string): string {
  const length = huffmanLength(text)
  return length < text.length ? integer(0x80, 127, length) + encodeHuffman(text) : plain(text)
}
