import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { giveUp, newClaim, take, takerOf } from './claim.ts'

test('a claim is taken by one, or given up, and never both', () => {
  const taken = newClaim()
  deepEqual(
    [takerOf(taken), take(taken, 7), take(taken, 8), giveUp(taken), takerOf(taken)],
    [null, true, false, false, 7]
  )
  const left = newClaim()
  deepEqual([giveUp(left), take(left, 7), giveUp(left), takerOf(left)], [true, false, true, null])
})

test('a structured clone is the same claim', () => {
  const claim = newClaim()
  const there = structuredClone(claim)
  equal(take(there, 3), true)
  deepEqual([takerOf(claim), giveUp(claim)], [3, false])
})
