import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { newClaim, take, takerOf, withdraw } from './claim.ts'

test('a claim is taken by one, or given up, and never both', () => {
  const taken = newClaim()
  deepEqual(
    [takerOf(taken), take(taken, 7), take(taken, 8), withdraw(taken), takerOf(taken)],
    [null, true, false, false, 7]
  )
  const left = newClaim()
  deepEqual([withdraw(left), take(left, 7), withdraw(left), takerOf(left)], [true, false, true, null])
})

test('a structured clone is the same claim', () => {
  const claim = newClaim()
  const there = structuredClone(claim)
  equal(take(there, 3), true)
  deepEqual([takerOf(claim), withdraw(claim)], [3, false])
})
