/**
 * HPACK: any bytes are refused or give fields; what was decoded, encoded again, is decoded to the same; and one
 * decoder that reads an input twice agrees with a table that is kept naively.
 */
import assert from 'node:assert/strict'
import { HeaderBlock } from '#engine/http/headers.ts'
import { CONNECTION, type Field, FLAWED, HOP, HOST, PSEUDO_END, TE } from '#engine/http2/field.ts'
import { HpackDecoder } from '#engine/http2/hpack-decoder.ts'
import { HpackEncoder } from '#engine/http2/hpack-encoder.ts'
import { decodeHuffman, encodeHuffman, huffmanLength } from '#engine/http2/huffman.ts'

export const name = 'hpack'

export const dictionary = [
  '\x82',
  '\x86\x84\x41',
  '\x40\x01a\x01b',
  '\x3f\xe1\x1f',
  '\x20',
  '\xbe',
  '\x10',
  '\x7f\x00',
  '\x8c'
]

export function run(data: Buffer): void {
  checkHuffman(data)
  const decoder = new HpackDecoder(4096)
  const encoder = new HpackEncoder()
  const again = new HpackDecoder(4096)
  // Twice: the second time with what the first has left in the tables.
  for (let round = 0; round < 2; round++) {
    const fields = decode(decoder, data)
    if (fields === null) return
    const block = new HeaderBlock()
    const kept: string[] = []
    for (const { name: key, value, kind } of fields) {
      const isDropped = kind < PSEUDO_END || kind === FLAWED || [HOST, HOP, TE, CONNECTION].includes(kind)
      if (kind !== FLAWED && kind >= PSEUDO_END) block.receive(key, value)
      if (!isDropped) kept.push(`${key}: ${value}`)
    }
    const bytes = Buffer.from(encoder.begin() + encoder.fields(block), 'latin1')
    assert.deepEqual(
      decode(again, bytes)?.map((field) => `${field.name}: ${field.value}`),
      kept
    )
  }
}

function decode(decoder: HpackDecoder, bytes: Buffer): Field[] | null {
  const fields: Field[] = []
  return decoder.decode(bytes, 0, bytes.length, { field: (field) => fields.push(field) }) === 0 ? fields : null
}

function checkHuffman(data: Buffer): void {
  const text = data.latin1Slice()
  const code = Buffer.from(encodeHuffman(text), 'latin1')
  assert.equal(code.length, huffmanLength(text))
  assert.equal(decodeHuffman(code, 0, code.length), text)
  const decoded = decodeHuffman(data, 0, data.length)
  if (decoded !== null) assert.equal(encodeHuffman(decoded), text)
}
