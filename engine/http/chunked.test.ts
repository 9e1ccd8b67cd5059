import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { framedStart, writeChunk } from './chunked.ts'

/** What leaves for the data between `<` and `>` of `text`, write by write. */
function written(text: string, slot: ReadSlot | null = null): string[] {
  const [before, data, after] = text.split(/[<>]/) as [string, string, string]
  const bytes = Buffer.from(before + data + after, 'latin1')
  const writes: string[] = []
  const wire = {
    write: (piece: string) => writes.push(piece),
    writeBytes: (chunk: Buffer, start: number, end: number) => writes.push(chunk.latin1Slice(start, end))
  } as unknown as Wire
  writeChunk(wire, bytes, before.length, before.length + data.length, slot)
  return writes
}

describe('writing a chunk', () => {
  it('takes the framing that the data arrived with in one write', () => {
    assert.deepEqual(written('HTTP/1.1 200 OK\r\n\r\n3\r\n<abc>\r\n'), ['3\r\nabc\r\n'])
    const long = 'x'.repeat(0x1af0)
    assert.deepEqual(written(`1af0\r\n<${long}>\r\n0\r\n\r\n`), [`1af0\r\n${long}\r\n`])
  })

  const OTHERS: readonly (readonly [string, string])[] = [
    ['an extension', '3;secret=1\r\n<abc>\r\n'],
    ['another size', '4\r\n<abc>\r\n'],
    ['a part of a chunk', '6\r\n<abc>def\r\n'],
    ['the rest of a chunk', '6\r\nabc<def>\r\n'],
    ['an upper-case digit', `A\r\n<${'x'.repeat(10)}>\r\n`],
    ['bare LF before', '3\n<abc>\r\n'],
    ['the end of the chunk not here yet', '3\r\n<abc>\r'],
    ['no framing at all', '<abc>']
  ]
  for (const [name, text] of OTHERS) {
    it(`${name}: writes framing of its own`, () => {
      const data = /<(.*)>/.exec(text)![1]!
      assert.deepEqual(written(text), [`${data.length.toString(16)}\r\n`, data, '\r\n'])
    })
  }

  it('passes on no leading zero', () => {
    assert.deepEqual(written('0003\r\n<abc>\r\n'), ['3\r\nabc\r\n'])
  })

  it('lends no byte outside the data', () => {
    assert.deepEqual(written('3\r\n<abc>\r\n', {} as ReadSlot), ['3\r\n', 'abc', '\r\n'])
  })

  it('does not look before the first byte or behind the last one', () => {
    assert.equal(framedStart(Buffer.from('\r\nabc\r\n'), 2, 5), -1)
    assert.equal(framedStart(Buffer.from('3\r\nabc'), 3, 6), -1)
  })
})
