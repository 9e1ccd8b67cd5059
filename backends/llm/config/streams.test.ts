import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { silenceOf } from './streams.ts'

test('a client of a silent stream hears of it every 15 seconds, a provider has five minutes; both may be set', () => {
  deepEqual(silenceOf(), { keepaliveMs: 15_000, stallMs: 300_000 })
  deepEqual(silenceOf({ keepalive: 0 }), { keepaliveMs: 0, stallMs: 300_000 })
  deepEqual(silenceOf({ stall: 7 }), { keepaliveMs: 15_000, stallMs: 7 })
})
