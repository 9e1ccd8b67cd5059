import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { parseKeepAlive, usableMs } from './keep-alive.ts'

const NEVER = Number.POSITIVE_INFINITY

test('Keep-Alive fields of servers are parsed', () => {
  for (const [value, timeoutMs, max] of [
    ['timeout=5', 5000, NEVER],
    ['timeout=5, max=100', 5000, 100],
    ['max=1,timeout=0', 0, 1],
    ['Timeout = "15" , MAX= 3', 15_000, 3],
    ['timeout=5, timeout=2', 2000, NEVER],
    ['timeout=, max=-1, timeout=1.5, max', NEVER, NEVER],
    ['timeout=99999999999', NEVER, NEVER],
    ['300', NEVER, NEVER],
    ['', NEVER, NEVER]
  ] as const) {
    deepEqual(parseKeepAlive(value), { timeoutMs, max }, value)
  }
})

test('a second before its end, and half of what is shorter', () => {
  equal(usableMs(parseKeepAlive('timeout=5')), 4000)
  equal(usableMs(parseKeepAlive('timeout=1')), 500)
  equal(usableMs(parseKeepAlive('timeout=0')), 0)
  equal(usableMs(parseKeepAlive('max=1')), NEVER)
})
