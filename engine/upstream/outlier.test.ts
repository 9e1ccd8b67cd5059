/** When addresses are ejected, and for how long, by what several workers see together; on a clock of the test's own. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { CheckTimes, Ejection } from '#engine/contract/resilience.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { type ObservedHealth, OutlierDetector } from './outlier.ts'
import type { EjectedAddress } from './shared.ts'

const EJECTION: Ejection = {
  consecutive5xx: 3,
  connectFailures: 2,
  latency: null,
  unhealthyCondition: null,
  baseTimeMs: 10_000,
  maxTimeMs: 25_000,
  maxEjectedPercent: 50
}

const NAMED = { destination: 'shop', metricLabel: 'shop' }

/** One address after the other, as each of `workers` sees it. */
function bench(addresses: number, ejection: Partial<Ejection> = {}, workers = 2) {
  let now = 1_000_000
  const memory = SharedRows.create()
  const ejected: EjectedAddress[] = []
  const returned: EjectedAddress[] = []
  const seen = Array.from({ length: workers }, (): ObservedHealth[] => {
    const detector = new OutlierDetector({
      name: 'shop',
      metricLabel: 'shop',
      key: '',
      plan: { active: null, ejection: { ...EJECTION, ...ejection }, panicThreshold: 50 },
      rows: new SharedRows(memory, () => now),
      observer: { ejected: (address) => ejected.push(address), returned: (address) => returned.push(address) }
    })
    const healths = Array.from({ length: addresses }, (_, i) => detector.healthOf('shop', `10.0.0.${i}:80`))
    detector.renewed(healths)
    return healths
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { seen, ejected, returned, pass, rows: new SharedRows(memory, () => now) }
}

function answer(health: ObservedHealth, status: number, tookMs = 1, headers: readonly [string, string][] = []): void {
  const ex = fakeExchange({ headers })
  ex.status = status
  health.answered(ex, tookMs)
}

test('failures that several workers see count together, and the ejection holds for all of them', () => {
  const { seen, ejected } = bench(4)
  const [mine, theirs] = [seen[0]![1]!, seen[1]![1]!]
  answer(mine, 500)
  answer(theirs, 503)
  equal(mine.isUnhealthy, false)
  theirs.failed()
  deepEqual([mine.isUnhealthy, theirs.isUnhealthy, seen[0]![0]!.isUnhealthy], [true, true, false])
  deepEqual(ejected, [{ ...NAMED, address: '10.0.0.1:80', reason: 'consecutive_5xx', ms: 10_000 }])
  deepEqual([mine.reason, mine.ejectedForMs], ['consecutive_5xx', 10_000])
})

test('an answer that is none of these ends the row', () => {
  const { seen } = bench(4)
  const health = seen[0]![0]!
  for (const status of [500, 500, 499, 500, 502]) answer(health, status)
  equal(health.isUnhealthy, false)
  answer(health, 500)
  equal(health.isUnhealthy, true)
})

test('an ejection ends, and is longer each time that it follows on another one, up to the longest', () => {
  const { seen, ejected, pass } = bench(2)
  const health = seen[0]![0]!
  const fail = () => {
    for (let i = 0; i < 3; i++) answer(health, 500)
  }
  for (const ms of [10_000, 20_000, 25_000]) {
    fail()
    equal(ejected.at(-1)!.ms, ms)
    pass(ms - 100)
    equal(health.isUnhealthy, true)
    pass(100)
    equal(health.isUnhealthy, false)
  }
  // Three good times make up for three ejections.
  pass(30_000)
  fail()
  equal(ejected.at(-1)!.ms, 10_000)
})

test('an ejected server that checks find healthy again is used again', () => {
  const { seen, pass } = bench(2)
  const [health, theirs] = [seen[0]![0]!, seen[1]![0]!]
  const times = { healthyThreshold: 1, unhealthyThreshold: 1 } as CheckTimes
  for (let i = 0; i < 3; i++) answer(health, 500)
  // Its checks pass while its answers fail: they are no proof against those.
  health.checked(null, times)
  equal(theirs.state, 'ejected')
  health.checked('no answer', times)
  pass(1_000)
  health.checked(null, times)
  deepEqual([health.state, theirs.state, theirs.ejectedForMs], ['healthy', 'healthy', 0])
})

test('no more than the share that is allowed, and one always', () => {
  const { seen, ejected } = bench(4)
  for (const health of seen[0]!) for (let i = 0; i < 3; i++) answer(health, 500)
  equal(ejected.length, 2)
  const alone = bench(3, { maxEjectedPercent: 0 })
  for (const health of alone.seen[0]!) for (let i = 0; i < 3; i++) answer(health, 500)
  equal(alone.ejected.length, 1)
})

test('connections that fail count apart', () => {
  const { seen, ejected } = bench(2)
  const health = seen[0]![0]!
  for (const failed of [true, false, true, true]) {
    health.dialling()
    if (failed) health.connectFailed()
    else health.reached()
  }
  deepEqual(
    ejected.map(({ reason }) => reason),
    ['connect_failures']
  )
})

test('who is much slower than the median of the others is ejected, and nobody while there is little to compare', () => {
  const latency = { factor: 3, thresholdMs: null, minRequests: 16 }
  const { seen, ejected } = bench(3, { latency })
  const [slow, fast, other] = seen[0]! as [ObservedHealth, ObservedHealth, ObservedHealth]
  for (let i = 0; i < 32; i++) answer(slow, 200, 100)
  equal(ejected.length, 0)
  for (let i = 0; i < 32; i++) {
    answer(fast, 200, 10)
    answer(other, 200, 20)
  }
  for (let i = 0; i < 8; i++) answer(slow, 200, 100)
  deepEqual([ejected.length, ejected[0]!.address, ejected[0]!.reason], [1, slow.label, 'latency'])
  const absolute = bench(2, { latency: { factor: null, thresholdMs: 50, minRequests: 8 } })
  for (let i = 0; i < 8; i++) answer(absolute.seen[0]![0]!, 200, 60)
  equal(absolute.ejected.length, 1)
})

test('a condition says what a failure is, in place of the status', () => {
  const { seen } = bench(2, { unhealthyCondition: 'response.code == 429' })
  const health = seen[0]![0]!
  for (let i = 0; i < 5; i++) answer(health, 500)
  equal(health.isUnhealthy, false)
  for (let i = 0; i < 3; i++) answer(health, 429)
  equal(health.isUnhealthy, true)
})

test('the end of an ejection is told once, by whichever worker looks first, and before the next one begins', () => {
  const { seen, ejected, returned, pass } = bench(4)
  const [mine, theirs] = [seen[0]![1]!, seen[1]![1]!]
  const both = [mine, theirs]
  for (let i = 0; i < 3; i++) answer(mine, 500)
  for (const one of both) one.lookForReturn()
  deepEqual(returned, [])
  pass(10_000)
  for (const one of both.toReversed()) one.lookForReturn()
  deepEqual(returned, [{ ...NAMED, address: '10.0.0.1:80', reason: 'consecutive_5xx', ms: 10_000 }])
  for (let i = 0; i < 2; i++) theirs.connectFailed()
  pass(20_000)
  // Nobody has looked since.
  for (let i = 0; i < 3; i++) answer(mine, 500)
  equal(ejected.length, 3)
  deepEqual(returned.slice(1), [{ ...NAMED, address: '10.0.0.1:80', reason: 'connect_failures', ms: 20_000 }])
})

test('an address stays ejected although nobody asks it, and its row is wanted by others', () => {
  const { seen, returned, pass, rows } = bench(4, { baseTimeMs: 3_600_000, maxTimeMs: 3_600_000 })
  const [one] = seen[0]!
  for (let i = 0; i < 3; i++) answer(one!, 500)
  for (let i = 0; i < 59; i++) {
    pass(60_000)
    one!.lookForReturn()
  }
  // More than there is room for: those that nobody has used lately go to other names.
  for (let i = 0; i < 20_000; i++) rows.row(`another ${i}`)
  equal(one!.isUnhealthy, true)
  pass(60_000)
  one!.lookForReturn()
  equal(returned.length, 1)
})
