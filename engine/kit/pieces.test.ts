import { equal, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { keepPiece, Pieces } from './pieces.ts'

it('gives back what was put in, in order, however it was cut', () => {
  const all = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7) & 255))
  for (const step of [1, 2, 255, 300, 16_384, 40_000]) {
    const pieces = new Pieces()
    const out: Buffer[] = []
    for (let at = 0, turn = 0; at < all.length; at += step, turn++) {
      pieces.push(all, at, Math.min(all.length, at + step))
      if (turn % 5 === 4) out.push(pieces.shift())
      if (turn % 7 === 6 && !pieces.isEmpty && pieces.first.length > 1) {
        out.push(Buffer.from(pieces.first.subarray(0, 1)))
        pieces.cut(1)
      }
    }
    equal(pieces.bytes + Buffer.concat(out).length, all.length)
    while (!pieces.isEmpty) out.push(pieces.shift())
    ok(Buffer.concat(out).equals(all), `steps of ${step}`)
  }
})

it('keeps few objects for many short pieces', () => {
  const pieces = new Pieces()
  const byte = Buffer.from('x')
  for (let i = 0; i < 100_000; i++) pieces.push(byte, 0, 1)
  let count = 0
  for (; !pieces.isEmpty; count++) pieces.shift()
  ok(count < 10, `${count}`)
})

it('keepPiece gives a list of few pieces, whatever comes between', () => {
  let one = keepPiece(null, Buffer.from('a'), 0, 1)
  let other = keepPiece(null, Buffer.from('b'), 0, 1)
  const bytes = Buffer.from('xy')
  const early = [...one]
  for (let i = 0; i < 50_000; i++) {
    one = keepPiece(one, bytes, 0, 1)
    other = keepPiece(other, bytes, 1, 2)
  }
  ok(one.length < 10 && other.length < 10, `${one.length} and ${other.length}`)
  equal(Buffer.concat(one).toString(), `a${'x'.repeat(50_000)}`)
  equal(Buffer.concat(other).toString(), `b${'y'.repeat(50_000)}`)
  equal(Buffer.concat(early).toString(), 'a')
  const long = Buffer.alloc(40_000, 'z')
  one = keepPiece(one, long, 0, long.length)
  one = keepPiece(one, bytes, 0, 2)
  equal(Buffer.concat(one).length, 90_003)
})
