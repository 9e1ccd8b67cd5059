import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COURSES, complaints, runSoak, type Soak, slopeOf, soakText } from './soak.ts'

const MB = 2 ** 20

/** Ten parts of 1,000 requests, after which things have risen by so much each. */
function soakOf(heap: number, sockets = 0, timers = 0): Soak {
  const looks = Array.from({ length: 10 }, (_, i) => ({
    rssBytes: 50 * MB,
    heapBytes: 9 * MB + i * heap,
    sockets: 4 + i * sockets,
    timers: 6 + i * timers
  }))
  return { course: 'w', requests: 1000, looks, faults: 0 }
}

test('the slope is the rise per step of what was measured, whatever it starts from', () => {
  assert.equal(slopeOf([5, 7, 9, 11]), 2)
  assert.equal(slopeOf([5, 5, 5]), 0)
  assert.equal(slopeOf([5]), 0)
})

test('each figure that grows with the requests is reported by itself', () => {
  assert.deepEqual(complaints(soakOf(0)), [])
  assert.deepEqual(complaints(soakOf(1000)), [])
  assert.deepEqual(complaints(soakOf(16_000)), ['the heap keeps more than 8 bytes per request'])
  assert.deepEqual(complaints(soakOf(0, 2)), ['sockets stay open'])
  assert.deepEqual(complaints(soakOf(0, 0, 2)), ['timers stay'])
  assert.deepEqual(complaints({ ...soakOf(0), faults: 1 }), ['1 wrong or missing answers'])
  assert.match(soakText(soakOf(0)), /^w: 10000 requests, looked at after each 1000\n {2}heap MB {2}9\.00 9\.00/)
  assert.match(soakText(soakOf(16_000)), /per request: heap 16\.00 bytes, RSS 0\.0; FAILED: the heap keeps more/)
})

test('every answer comes, and a gateway that keeps 4 KB per request is seen', async () => {
  const leaky = { ...COURSES[0]!, size: { requests: 400, parts: 4, leakBytes: 4096 } }
  const [soak, leaking] = await runSoak({ requests: 160, parts: 2 }, [...COURSES.slice(-1), leaky])
  assert.equal(soak!.faults, 0, soakText(soak!))
  const [kept] = complaints(leaking!)
  assert.match(kept ?? 'nothing', /heap keeps/, soakText(leaking!))
})
