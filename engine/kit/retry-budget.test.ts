import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RetryBudget } from './retry-budget.ts'

/** How many retries are given at once. */
function takeAll(budget: RetryBudget, nowMs: number): number {
  let taken = 0
  while (taken < 1000 && budget.take(nowMs)) taken++
  return taken
}

test('a share of the requests of ten seconds, in whatever second they came', () => {
  const budget = new RetryBudget({ percent: 20, minPerSecond: 0 })
  for (let second = 0; second < 10; second++) for (let i = 0; i < 10; i++) budget.request(second * 1000 + i)
  assert.equal(takeAll(budget, 9_999), 20)
})

test('requests and retries leave the window after ten seconds', () => {
  const budget = new RetryBudget({ percent: 50, minPerSecond: 0 })
  for (let i = 0; i < 10; i++) budget.request(5_000)
  assert.equal(takeAll(budget, 6_000), 5)
  for (let i = 0; i < 10; i++) budget.request(14_000)
  assert.equal(takeAll(budget, 14_999), 5)
  // The first ten requests are gone, their five retries are not.
  assert.equal(takeAll(budget, 15_500), 0)
  assert.equal(takeAll(budget, 16_000), 0)
  for (let i = 0; i < 2; i++) budget.request(16_000)
  assert.equal(takeAll(budget, 16_000), 1)
})

test('the floor holds in each second, with no request at all', () => {
  const budget = new RetryBudget({ percent: 0, minPerSecond: 3 })
  assert.equal(takeAll(budget, 1_000), 3)
  assert.equal(takeAll(budget, 1_999), 0)
  assert.equal(takeAll(budget, 2_000), 3)
})

test('a long silence empties the window', () => {
  const budget = new RetryBudget({ percent: 100, minPerSecond: 0 })
  for (let i = 0; i < 50; i++) budget.request(0)
  assert.equal(budget.take(1_000_000), false)
  budget.request(1_000_000)
  assert.equal(takeAll(budget, 1_000_000), 1)
})

test('nothing of percent and floor is nothing', () => {
  const budget = new RetryBudget({ percent: 0, minPerSecond: 0 })
  budget.request(0)
  assert.equal(budget.take(0), false)
})
