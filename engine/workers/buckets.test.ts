import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addMeters, charge, type Limit, type LimitSpec } from '#engine/contract/buckets.ts'
import type { SharedMemory } from '#engine/http/webassembly.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { LEVEL_MIN, PERIODS } from './bucket-cells.ts'
import { BucketTable } from './bucket-table.ts'
import { bucketsOf } from './buckets.ts'

const SPEC: LimitSpec = { id: 'test', amount: 3, burst: 2, unitMs: 1_000, isKeyed: true }

class World {
  now = 5_000
  readonly memory: SharedMemory
  readonly table: BucketTable

  /** 64: small enough to be filled. */
  constructor(buckets = 64) {
    this.memory = BucketTable.create(buckets)
    this.table = new BucketTable(this.memory, { owner: 0, clock: () => this.now })
  }

  limit(spec: Partial<LimitSpec> = {}): Limit {
    return bucketsOf(this.table).limit({ ...SPEC, ...spec })
  }

  /** The same limit, as another thread has it. */
  limitOfAnother(spec: Partial<LimitSpec> = {}): Limit {
    const table = new BucketTable(this.memory, { owner: 1, clock: () => this.now })
    return bucketsOf(table).limit({ ...SPEC, ...spec })
  }
}

/** How many of `tries` takes of one token are granted. */
function granted(limit: Limit, caller: string | null, tries: number): number {
  let count = 0
  for (let i = 0; i < tries; i++) if (limit.take(caller, 1, 1) >= 0) count++
  return count
}

test('full at first; each period that has begun since the first use adds its part, up to the capacity', () => {
  const world = new World()
  const limit = world.limit()
  assert.equal(granted(limit, 'a', 10), 5)
  world.now += 999
  assert.equal(granted(limit, 'a', 10), 0)
  world.now += 1
  assert.equal(granted(limit, 'a', 10), 3)
  world.now += 100_000
  assert.equal(granted(limit, 'a', 10), 5)
})

test('remaining tokens, and the time until there are more', () => {
  const world = new World()
  const limit = world.limit()
  assert.deepEqual([limit.take('a', 1, 1), limit.waitMs, limit.capacity], [4, 1_000, 5])
  world.now += 300
  assert.deepEqual([limit.take('a', 1, 4), limit.waitMs], [0, 700])
  assert.deepEqual([limit.take('a', 1, 1), limit.waitMs], [-1, 700])
  assert.deepEqual([limit.take('a', 5, 5), limit.waitMs], [-1, 1_700])
})

test('callers do not spend each other’s tokens, nor those of unknown callers; limits neither', () => {
  const world = new World()
  const [one, other, wider] = [world.limit(), world.limit({ id: 'other' }), world.limit({ burst: 3 })]
  assert.deepEqual(
    [one, other, wider].map((limit) => granted(limit, 'a', 10)),
    [5, 5, 6]
  )
  assert.deepEqual([granted(one, 'b', 10), granted(one, null, 10), granted(one, '', 10)], [5, 5, 0])
  assert.equal(world.table.counts.unknown, 10)
  assert.equal(granted(world.limit(), 'a', 10), 0, 'the same limit again has the same buckets')
})

test('debt is remembered: charged tokens are owed until periods have paid for them', () => {
  const world = new World()
  const limit = world.limit()
  assert.equal(limit.take('a', 1, 0), 5)
  limit.charge('a', 12)
  assert.deepEqual([limit.take('a', 1, 0), limit.waitMs], [-1, 3_000])
  world.now += 2_000
  assert.equal(limit.take('a', 1, 0), -1)
  world.now += 1_000
  assert.equal(limit.take('a', 1, 0), 2)
  limit.charge('a', 2_000_000_000)
  limit.charge('a', 2_000_000_000)
  assert.equal(limit.take('a', 1, 0), -1)
  assert.equal(limit.waitMs, Math.ceil((1 - LEVEL_MIN) / 3) * 1_000, 'debt has an end')
})

test('an exchange is charged on every limit that counts its tokens', () => {
  const world = new World()
  const [all, own] = [world.limit({ id: 'all', isKeyed: false }), world.limit()]
  const ex = fakeExchange()
  charge(ex, 100)
  addMeters(ex, [
    { limit: all, caller: null },
    { limit: own, caller: 'a' }
  ])
  charge(ex, 3)
  assert.deepEqual([all.take(null, 1, 0), own.take('a', 1, 0), own.take('b', 1, 0)], [2, 2, 5])
})

test('returned tokens are available again, up to the capacity', () => {
  const world = new World()
  const limit = world.limit()
  granted(limit, 'a', 5)
  limit.giveBack(limit.bucket, 1)
  assert.equal(granted(limit, 'a', 5), 1)
  world.now += 10_000
  limit.giveBack(limit.bucket, 1)
  assert.equal(granted(limit, 'a', 10), 5)
})

test('a first use waits for the end of its own period, however long making the bucket took', () => {
  let now = 5_000
  const table = new BucketTable(BucketTable.create(64), { owner: 0, clock: () => (now += 0.25) })
  const limit = bucketsOf(table).limit(SPEC)
  assert.equal(limit.take('a', 1, 1), 4)
  assert.ok(limit.waitMs > 990 && limit.waitMs <= 1_000, `${limit.waitMs} ms`)
})

test('a clock that is a little behind another thread’s changes nothing', () => {
  const world = new World()
  const limit = world.limit()
  granted(limit, 'a', 5)
  world.now += 10_000
  assert.equal(granted(limit, 'a', 4), 4)
  world.now -= 9_000
  assert.equal(granted(limit, 'a', 5), 1)
  world.now += 9_500
  assert.equal(granted(limit, 'a', 5), 0, 'the period that was paid is not paid again')
})

test('after more periods than are counted a bucket is filled too little, never too much, and recovers', () => {
  const world = new World()
  const limit = world.limit()
  granted(limit, 'a', 5)
  world.now += PERIODS * 1_000 + 999
  assert.equal(granted(limit, 'a', 5), 0)
  world.now += 1_000
  assert.equal(granted(limit, 'a', 5), 3)
})

/** A bucket in plain words. */
interface Model {
  readonly anchor: number
  period: number
  level: number
}

const STEP = fc.record({
  what: fc.constantFrom('take', 'charge', 'back', 'wait'),
  caller: fc.constantFrom('a', 'b', null),
  amount: fc.integer({ min: 0, max: 12 }),
  thread: fc.nat(1)
})

/** Both callers' periods begin here; 250 ms later one takes, and 750 ms after that it has its token again. */
const FIRST_TAKES_OF_NOTHING: (typeof STEP extends fc.Arbitrary<infer T> ? T : never)[] = [
  { what: 'take', caller: 'a', amount: 0, thread: 0 },
  { what: 'take', caller: 'b', amount: 0, thread: 1 },
  { what: 'wait', caller: null, amount: 1, thread: 0 },
  { what: 'take', caller: 'a', amount: 1, thread: 0 },
  { what: 'wait', caller: null, amount: 3, thread: 0 },
  { what: 'take', caller: 'a', amount: 1, thread: 1 }
]

test('as a bucket in plain words, whatever happens in which order and in which thread', () => {
  fc.assert(
    fc.property(
      fc.array(STEP, { maxLength: 60 }),
      fc.nat(5),
      fc.integer({ min: 1, max: 9 }),
      (steps, burst, amount) => {
        // One set, so that all callers try for the same places.
        const world = new World(32)
        const limits = [world.limit({ amount, burst }), world.limitOfAnother({ amount, burst })]
        const model = new Map<string | null, Model>()
        for (const { what, caller, amount: count, thread } of steps) {
          if (what === 'wait') {
            world.now += count * 250
            continue
          }
          const bucket = model.get(caller) ?? { anchor: world.now, period: 0, level: amount + burst }
          model.set(caller, bucket)
          const period = Math.floor((world.now - bucket.anchor) / 1_000)
          bucket.level = Math.min(amount + burst, bucket.level + (period - bucket.period) * amount)
          bucket.period = period
          const limit = limits[thread]!
          if (what === 'charge') {
            limit.charge(caller, count)
            bucket.level -= count
          } else {
            const expected = bucket.level >= count ? bucket.level - count : -1
            assert.equal(limit.take(caller, count, count), expected)
            if (expected < 0) continue
            bucket.level -= count
            assert.equal(limit.waitMs, bucket.anchor + (period + 1) * 1_000 - world.now)
            if (what === 'take') continue
            limit.giveBack(limit.bucket, count)
            bucket.level += count
          }
        }
      }
    ),
    { examples: [[FIRST_TAKES_OF_NOTHING, 0, 1]] }
  )
})

test('a full table gives a caller no more than its limit in any span of time', () => {
  const step = fc.record({
    strangers: fc.nat(40),
    ms: fc.constantFrom(0, 250, 500, 999, 1_000, 4_000),
    amount: fc.integer({ min: 0, max: 5 })
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 4, maxLength: 40 }), (steps) => {
      const world = new World(32)
      const [limit, other] = [world.limit(), world.limit({ id: 'other' })]
      const passed: { at: number; tokens: number }[] = []
      for (const { strangers, ms, amount } of steps) {
        world.now += ms
        for (let i = 0; i < strangers; i++) other.take(`stranger ${i}`, 0, 0)
        if (limit.take('a', amount, amount) >= 0) passed.push({ at: world.now, tokens: amount })
      }
      for (const [i, { at: from }] of passed.entries()) {
        let tokens = 0
        for (const { at, tokens: more } of passed.slice(i)) {
          tokens += more
          const periods = Math.ceil((at - from) / 1_000)
          assert.ok(tokens <= limit.capacity + periods * SPEC.amount, `${tokens} in ${at - from} ms`)
        }
      }
    })
  )
})
