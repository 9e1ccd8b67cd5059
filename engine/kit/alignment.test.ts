import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Alignment } from './alignment.ts'

test('an entry is found where it was, wherever it stands now', () => {
  const entries = Array.from({ length: 8 }, (_, id) => ({ id }))
  const list = fc.shuffledSubarray(entries)
  const check = fc.property(list, list, (before, next) => {
    const alignment = new Alignment(before, next)
    for (const [i, entry] of next.entries()) assert.equal(alignment.placeOf(i), before.indexOf(entry))
    assert.ok(alignment.start + alignment.end <= Math.min(before.length, next.length))
  })
  fc.assert(check, { numRuns: 300 })
})
