import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { LineBudget } from './line-budget.ts'

test('so many lines in a window, and what it has left out is leftOut once, behind its end', () => {
  const leftOut: number[] = []
  const budget = new LineBudget(3, 1_000, (count) => leftOut.push(count))
  equal([1, 2, 3, 4, 5].filter((now) => budget.take(now)).length, 3)
  budget.look(900)
  deepEqual(leftOut, [])
  budget.look(1_002)
  budget.look(2_100)
  deepEqual(leftOut, [2])
  equal(budget.take(2_200), true)
})

test('a line begins the next window', () => {
  const leftOut: number[] = []
  const budget = new LineBudget(1, 1_000, (count) => leftOut.push(count))
  deepEqual([budget.take(0), budget.take(1), budget.take(1_500), budget.take(1_501)], [true, false, true, false])
  deepEqual(leftOut, [1])
})
