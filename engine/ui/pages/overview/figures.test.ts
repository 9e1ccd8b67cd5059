import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { level, levelNow, rangeOf, rate, rateNow, reasonsOf, timesOf } from './figures.ts'

const past = {
  ...{ step: 10, from: '2026-05-01T00:00:10Z', names: [] },
  series: {
    requests: [10, 20, 40],
    'errors.FORBIDDEN': [1, null, 2],
    'errors.TIMEOUT': [0, 4, 0],
    'errors.NONE': [0, 0, 0],
    'latency.p50': [0.005, null, null]
  }
}

test('counts are rates, and all else is as it was', () => {
  deepEqual(
    timesOf(past).map((at) => new Date(at * 1000).toISOString().slice(14, 19)),
    ['00:10', '00:20', '00:30']
  )
  deepEqual(rate(past, 'requests', 'all'), { name: 'all', values: [1, 2, 4] })
  deepEqual(rate(past, 'nothing', 'none').values, [0, 0, 0])
  deepEqual(level(past, 'latency.p50', 'p50', 1000).values, [5, null, null])
  deepEqual(timesOf({ ...past, series: {} }), [])
})

test('now is the last ten seconds', () => {
  equal(rateNow(past, 'requests'), 4)
  equal(rateNow({ ...past, step: 1, series: { requests: Array.from({ length: 60 }, (_, i) => i) } }, 'requests'), 54.5)
  equal(rateNow(past, 'nothing'), 0)
  equal(levelNow(past, 'latency.p50'), null)
  equal(levelNow({ ...past, step: 5 }, 'latency.p50'), null)
  equal(levelNow({ ...past, step: 2 }, 'latency.p50'), 0.005)
})

test('reasons are counted over the time, those that did not happen are left out', () => {
  deepEqual(reasonsOf(past), [
    { code: 'TIMEOUT', count: 4 },
    { code: 'FORBIDDEN', count: 3 }
  ])
  equal(rangeOf('3h').seconds, 10_800)
  equal(rangeOf('x').name, '5m')
})
