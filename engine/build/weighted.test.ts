import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { weighted } from './weighted.ts'

function run(weights: readonly number[], exchanges: number): number[] {
  const taken: number[] = []
  const serve = weighted(weights.map((weight, i) => ({ weight, serve: () => taken.push(i) })))
  for (let i = 0; i < exchanges; i++) serve(fakeExchange())
  return taken
}

test('turns are spread out, not bunched', () => {
  assert.deepEqual(run([5, 1, 1], 7), [0, 0, 1, 0, 2, 0, 0])
  assert.deepEqual(run([1, 1], 4), [0, 1, 0, 1])
})

test('every full round gives each choice exactly its weight', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 6 }), (weights) => {
      const total = weights.reduce((a, b) => a + b)
      const taken = run(weights, total * 2)
      for (const round of [taken.slice(0, total), taken.slice(total)]) {
        assert.deepEqual(
          weights.map((_, i) => round.filter((t) => t === i).length),
          weights
        )
      }
    }),
    { numRuns: 50 }
  )
})
