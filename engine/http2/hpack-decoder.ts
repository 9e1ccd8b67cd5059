/** The decoder of HPACK (RFC 7541): one for all header blocks that a connection receives, in their order. */
import { DynamicTable } from './dynamic-table.ts'
import { Field } from './field.ts'
import { decodeHuffman } from './huffman.ts'
import { COMPRESSION_ERROR, NO_ERROR } from './protocol.ts'
import { DYNAMIC_FIRST, STATIC_TABLE } from './static-table.ts'

/** Takes the fields of a block as they come. Fields of the tables are shared: they never change. */
export interface FieldSink {
  field(field: Field): void
}

/** Nothing that is counted here is larger: indexes, lengths of strings, sizes of tables. */
const INTEGER_MAX = 0x0fffffff

export class HpackDecoder {
  readonly #table: DynamicTable<Field>
  readonly #tableBytesMax: number
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0

  /** `tableBytesMax`: what our SETTINGS_HEADER_TABLE_SIZE allows the peer. */
  constructor(tableBytesMax: number) {
    this.#tableBytesMax = tableBytesMax
    this.#table = new DynamicTable(tableBytesMax)
  }

  /**
   * Decodes one whole block. COMPRESSION_ERROR: it is malformed, and the connection cannot go on (RFC 9113 section
   * 4.3). A block whose fields are not wanted must be decoded all the same: it changes the table.
   */
  decode(bytes: Buffer, start: number, end: number, sink: FieldSink): number {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    let mayResize = true
    while (this.#at < end) {
      const first = bytes[this.#at]!
      if ((first & 0xe0) === 0x20) {
        if (!mayResize || !this.#resize()) return COMPRESSION_ERROR
        continue
      }
      mayResize = false
      const field = first >= 128 ? this.#indexed(this.#integer(127)) : this.#literal(first)
      if (field === undefined) return COMPRESSION_ERROR
      sink.field(field)
    }
    return NO_ERROR
  }

  #resize(): boolean {
    const size = this.#integer(31)
    if (size < 0 || size > this.#tableBytesMax) return false
    if (size !== this.#table.bytesMax) this.#table.resize(size)
    return true
  }

  #indexed(index: number): Field | undefined {
    if (index >= DYNAMIC_FIRST) return this.#table.at(index - DYNAMIC_FIRST)
    return index > 0 ? STATIC_TABLE[index] : undefined
  }

  #literal(first: number): Field | undefined {
    const isIndexed = first >= 64
    const index = this.#integer(isIndexed ? 63 : 15)
    if (index < 0) return undefined
    const name = index === 0 ? this.#text() : this.#indexed(index)?.name
    if (name === undefined || name === null) return undefined
    const value = this.#text()
    if (value === null) return undefined
    const field = new Field(name, value)
    if (isIndexed) this.#table.insert(field)
    return field
  }

  /** A string (section 5.2) as latin1 text; null: malformed. */
  #text(): string | null {
    if (this.#at >= this.#end) return null
    const isHuffman = this.#bytes[this.#at]! >= 128
    const length = this.#integer(127)
    const start = this.#at
    const end = start + length
    if (length < 0 || end > this.#end) return null
    this.#at = end
    return isHuffman ? decodeHuffman(this.#bytes, start, end) : this.#bytes.latin1Slice(start, end)
  }

  /** An integer whose prefix is `mask` (section 5.1); -1: cut off, or larger than anything here can be. */
  #integer(mask: number): number {
    const bytes = this.#bytes
    let value = bytes[this.#at++]! & mask
    if (value < mask) return value
    for (let shift = 0; shift <= 28; shift += 7) {
      if (this.#at >= this.#end) return -1
      const byte = bytes[this.#at++]!
      value += (byte & 127) * 2 ** shift
      if (value > INTEGER_MAX) return -1
      if (byte < 128) return value
    }
    return -1
  }
}
