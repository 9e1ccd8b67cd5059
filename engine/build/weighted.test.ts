import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { weighted } from './weighted.ts'

function run(weights: readonly number[], exchanges: number, down: readonly number[] = []): number[] {
  const taken: number[] = []
  const isUsable = (i: number) => () => !down.includes(i)
  const serve = weighted(
    weights.map((weight, i) => ({ name: `${i}`, weight, isUsable: isUsable(i), serve: () => taken.push(i) }))
  )
  for (let i = 0; i < exchanges; i++) serve(fakeExchange())
  return taken
}

test('turns are spread out, not bunched', () => {
  assert.deepEqual(run([5, 1, 1], 7), [0, 0, 1, 0, 2, 0, 0])
  assert.deepEqual(run([1, 1], 4), [0, 1, 0, 1])
})

test('unreachable backends are skipped, and the others share their part by weight', () => {
  assert.deepEqual(run([1, 1], 4, [0]), [1, 1, 1, 1])
  assert.deepEqual(run([3, 2, 1], 6, [0]), [1, 2, 1, 1, 2, 1])
})

test('when nothing can be reached all are tried', () => {
  assert.deepEqual(run([1, 1], 4, [0, 1]), [0, 1, 0, 1])
})

test('a choice that comes back gets its share, and no more for the time it was away', () => {
  const taken: number[] = []
  let isUp = true
  const serve = weighted([
    { name: 'a', weight: 1, isUsable: () => isUp, serve: () => taken.push(0) },
    { name: 'a', weight: 1, isUsable: () => true, serve: () => taken.push(1) }
  ])
  for (const up of [true, true, false, false, false, true, true, true, true]) {
    isUp = up
    serve(fakeExchange())
  }
  assert.deepEqual(taken, [0, 1, 1, 1, 1, 0, 1, 0, 1])
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
