import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertLinear } from './cpu.ts'

function turns(count: number): number {
  let hash = 1
  for (let i = 0; i < count; i++) hash = (Math.imul(hash, 31) + i) | 0
  return hash
}

test('linear work passes, quadratic work does not', () => {
  assertLinear('linear', 500_000, turns)
  assert.throws(() => assertLinear('quadratic', 2_000, (size) => turns(size * size)), /quadratic: 16 times the size/)
})
