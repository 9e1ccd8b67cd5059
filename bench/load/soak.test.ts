import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slopeOf, soakText } from './soak.ts'

test('the slope is the rise per step of what was measured, whatever it starts from', () => {
  assert.equal(slopeOf([5, 7, 9, 11]), 2)
  assert.equal(slopeOf([5, 5, 5]), 0)
  assert.equal(slopeOf([5]), 0)
  const MB = 2 ** 20
  const soak = { workload: 'w', requests: 40, rssBytes: [MB, 3 * MB, 2 * MB], bytesPerRequest: 0.25, faults: 0 }
  assert.match(soakText(soak), /^w: 40 requests, RSS 1 MB first, 2 MB last, 3 MB at most; 0\.3 bytes per request; 0 f/)
})
