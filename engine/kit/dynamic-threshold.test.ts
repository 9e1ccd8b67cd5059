import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { isBelowThreshold } from './dynamic-threshold.ts'

/** What each of some takes that want everything, one after the other. */
function taken(max: number, greedy: number): number[] {
  let all = 0
  return Array.from({ length: greedy }, () => {
    let own = 0
    while (isBelowThreshold(own, all, max)) {
      own++
      all++
    }
    return own
  })
}

test('a later client finds room, however much the first has taken', () => {
  deepEqual(taken(128, 4), [96, 24, 6, 2])
  deepEqual(taken(4096, 3), [3072, 768, 192])
  for (const max of [4, 8, 100]) equal(taken(max, 2)[1]! > 0, true, String(max))
})

test('the last free place is open to every client, and then there is none', () => {
  deepEqual(taken(1, 2), [1, 0])
  equal(isBelowThreshold(0, 7, 8), true)
  equal(isBelowThreshold(0, 8, 8), false)
})
