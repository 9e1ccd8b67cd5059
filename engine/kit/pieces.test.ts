import { equal, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { Pieces } from './pieces.ts'

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
