import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { evaluation } from '#engine/cel/offload.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { VerdictCache } from './cache.ts'
import type { Allowed } from './verdict.ts'

const VERDICT: Allowed = {
  kind: 'allowed',
  fields: [],
  removed: [],
  setQuery: [],
  removedQuery: [],
  responseFields: [],
  metadata: null
}

const keyed = (...sources: readonly string[]) =>
  sources.map((source) => evaluation(source, 'request', 'any', () => Promise.reject(new Error('nothing runs here'))))

test('a verdict lasts as long as the policy and the service say, whichever is shorter', () => {
  let now = 0
  const cache = new VerdictCache(keyed('request.path'), { lifetimeMs: 1000, entriesMax: 10 }, () => now)
  cache.keep('policy', { verdict: VERDICT, lifetimeMs: null })
  cache.keep('service', { verdict: VERDICT, lifetimeMs: 500 })
  cache.keep('longer', { verdict: VERDICT, lifetimeMs: 5000 })
  cache.keep('never', { verdict: VERDICT, lifetimeMs: 0 })
  const kept = (key: string) => cache.get(key) === VERDICT
  equal(kept('never'), false)
  now = 499
  equal(kept('service'), true)
  now = 500
  equal(kept('service'), false)
  now = 999
  equal(kept('policy') && kept('longer'), true)
  now = 1000
  equal(kept('policy') || kept('longer'), false)
})

test('entries are bounded, in number and in size', () => {
  const cache = new VerdictCache(keyed('request.path'), { lifetimeMs: 1000, entriesMax: 2 }, () => 0)
  for (const key of ['a', 'b', 'c']) cache.keep(key, { verdict: VERDICT, lifetimeMs: null })
  equal(cache.get('a'), null)
  equal(cache.get('c'), VERDICT)
  const page = {
    kind: 'denied',
    reply: { status: 401, headers: [], body: Buffer.alloc(9000) },
    metadata: null
  } as const
  cache.keep('page', { verdict: page, lifetimeMs: null })
  equal(cache.get('page'), null)
})

test('a key is made of all values, told apart; a path with several readings has none', () => {
  const cache = new VerdictCache(
    keyed('request.headers["a"]', 'request.headers["b"]'),
    { lifetimeMs: 1, entriesMax: 1 },
    () => 0
  )
  const keyOf = (a: string, b: string) => {
    const ex = fakeExchange()
    ex.request.receive('a', a)
    ex.request.receive('b', b)
    return cache.keyOf(ex)
  }
  equal(keyOf('1', '2"\n"3') === keyOf('1"\n"2', '3'), false)
  equal(keyOf('1', '2'), '"1"\n"2"\n')
  equal(cache.keyOf(fakeExchange()), null)
  const ex = fakeExchange()
  ex.request.receive('a', '1')
  ex.request.receive('b', '1')
  ex.readings = ['/a', '/b']
  equal(cache.keyOf(ex), null)
})
