import assert from 'node:assert/strict'
import test from 'node:test'
import { inRounds, median, ratioOfRounds } from './stats.ts'

test('the median of an even number of values lies between the two in the middle', () => {
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.equal(median([9, 1, 5]), 5)
})

test('a ratio is measured round by round, so that a slow minute of the machine affects both', () => {
  const base = inRounds([10, 40, 11])
  const figures = inRounds([11, 44, 33])
  assert.deepEqual(figures, { median: 33, min: 11, rounds: [11, 44, 33] })
  assert.equal(ratioOfRounds(figures, base), 1.1)
})

test('where a round is missing the medians are compared', () => {
  assert.equal(ratioOfRounds(inRounds([30, 10, 20]), inRounds([10, 10])), 2)
})
