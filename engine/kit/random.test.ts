import assert from 'node:assert/strict'
import { test } from 'node:test'
import { xorshift32 } from './random.ts'

test('a seed repeats its sequence, others differ', () => {
  const ten = (random: () => number) => Array.from({ length: 10 }, random)
  assert.deepEqual(ten(xorshift32(7)), ten(xorshift32(7)))
  assert.notDeepEqual(ten(xorshift32(7)), ten(xorshift32(8)))
  assert.notDeepEqual(ten(xorshift32()), ten(xorshift32()))
})

test('numbers are spread evenly over 0 <= x < 1, also for the seed 0', () => {
  for (const seed of [0, 1, 12345, 2 ** 32 - 1]) {
    const random = xorshift32(seed)
    const tenths = new Array<number>(10).fill(0)
    for (let i = 0; i < 100_000; i++) tenths[Math.floor(random() * 10)]!++
    for (const count of tenths) assert.ok(count > 9_500 && count < 10_500, `${seed}: ${tenths}`)
  }
})
