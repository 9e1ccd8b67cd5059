import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { LimitSpec } from '#engine/contract/buckets.ts'
import type { SharedMemory } from '#engine/http/webassembly.ts'
import type { BucketWork } from './bucket.fixture.ts'
import { BucketTable } from './bucket-table.ts'
import { bucketsOf } from './buckets.ts'

const HOUR = 3_600_000
const SPEC: LimitSpec = { id: 'test', amount: 100, burst: 0, unitMs: HOUR, isKeyed: true }
const ENTRY = new URL('./bucket.fixture.ts', import.meta.url)

/** A thread that is ready to begin. */
async function thread(t: TestContext, memory: SharedMemory, work: Partial<BucketWork>): Promise<Worker> {
  const workerData: BucketWork = { memory, owner: 0, spec: SPEC, deed: 'take', callers: [null], times: 0, ...work }
  const worker = new Worker(ENTRY, { workerData })
  t.after(() => worker.terminate())
  await once(worker, 'message')
  return worker
}

async function answer(worker: Worker): Promise<unknown> {
  const message = once(worker, 'message')
  worker.postMessage('begin')
  return (await message)[0] as unknown
}

/** What four threads are granted together. */
async function grantedToFour(t: TestContext, memory: SharedMemory, work: Partial<BucketWork>): Promise<number> {
  const threads = await Promise.all([0, 1, 2, 3].map((owner) => thread(t, memory, { ...work, owner })))
  const granted = await Promise.all(threads.map(answer))
  return granted.reduce((sum: number, count) => sum + (count as number), 0)
}

test('four threads get what one would get, to the token', async (t) => {
  const spec = { ...SPEC, amount: 2_400_000, burst: 7, isKeyed: false }
  assert.equal(await grantedToFour(t, BucketTable.create(), { spec, times: 800_000 }), 2_400_007)
})

test('four threads that see new callers at the same time make one bucket for each', async (t) => {
  const callers = Array.from({ length: 3_000 }, (_, i) => `caller ${i}`)
  const memory = BucketTable.create()
  const granted = await grantedToFour(t, memory, { spec: { ...SPEC, amount: 2 }, callers, times: 9_000 })
  assert.equal(granted, 6_000)
  assert.equal(new BucketTable(memory, { owner: 9 }).counts.crowded, 0)
})

test('a bucket of which nothing was taken yet keeps its place, and so the start of its periods', async (t) => {
  const memory = BucketTable.create()
  const names = [0, 1, 2, 3].map((owner) => Array.from({ length: 3_000 }, (_, i) => `caller ${i + owner * 1_000}`))
  const work = (owner: number) => ({ owner, deed: 'look' as const, callers: names[owner]!, times: 9_000 })
  const threads = await Promise.all(names.map((_, owner) => thread(t, memory, work(owner))))
  const had = (await Promise.all(threads.map(answer))) as number[][]
  const limit = bucketsOf(new BucketTable(memory, { owner: 9 })).limit(SPEC)
  for (const [owner, callers] of names.entries())
    for (const [i, caller] of callers.entries()) {
      limit.take(caller, 1, 1)
      assert.equal(limit.bucket, had[owner]![i], caller)
    }
})

test('a full table: of the buckets that are full the one that was used least recently makes room', () => {
  const world = { now: 0 }
  const table = new BucketTable(BucketTable.create(32), { owner: 0, clock: () => world.now })
  const [limit, other] = ['one', 'other'].map((id) => bucketsOf(table).limit({ ...SPEC, id, unitMs: 1_000 }))
  for (let i = 0; i < 32; i++) limit!.take(`old ${i}`, 1, 1)
  world.now = 10_000
  for (let i = 0; i < 32; i++) if (i !== 20) limit!.take(`old ${i}`, 1, 1)
  world.now = 20_300
  other!.take('new', 1, 1)
  limit!.take('old 5', 1, 1)
  assert.equal(limit!.waitMs, 700, 'its periods begin where they began')
  limit!.take('old 20', 1, 1)
  assert.equal(limit!.waitMs, 1_000, 'this is its first use again')
})

test('a thread that dies while it makes a bucket: others do without it, until its end is known', async (t) => {
  const memory = BucketTable.create()
  const dying = await thread(t, memory, { owner: 3, deed: 'stay' })
  const limit = bucketsOf(new BucketTable(memory, { owner: 0 })).limit({ ...SPEC, isKeyed: true })
  assert.deepEqual([limit.take('known', 1, 1), limit.take(null, 1, 1)], [99, 99])
  assert.equal(await answer(dying), 'inside')
  assert.equal(limit.take('known', 1, 1), 98, 'buckets that exist need no lock')
  assert.deepEqual([limit.take('new', 1, 1), limit.waitMs], [-1, 1_000])
  await dying.terminate()
  const main = new BucketTable(memory, { owner: 9 })
  main.release(2)
  assert.equal(limit.take('new', 1, 1), -1, 'another thread’s end opens nothing')
  main.release(3)
  assert.equal(limit.take('new', 1, 1), 99)
})

test('threads that are killed anywhere leave a table that works', async (t) => {
  const memory = BucketTable.create(1 << 13)
  const main = new BucketTable(memory, { owner: 9 })
  for (let round = 0; round < 6; round++) {
    const churning = await thread(t, memory, { owner: 1, deed: 'churn' })
    assert.equal(await answer(churning), 'inside')
    await churning.terminate()
    main.release(1)
    const limit = bucketsOf(main).limit({ ...SPEC, id: `round ${round}` })
    for (let i = 0; i < 500; i++) assert.equal(limit.take(`caller ${i}`, 1, 1), 99)
    for (let i = 0; i < 500; i++) assert.equal(limit.take(`caller ${i}`, 1, 1), 98)
  }
})

test('a bucket that a thread left half made is used again', () => {
  const memory = BucketTable.create(32)
  const table = new BucketTable(memory, { owner: 0 })
  const limit = bucketsOf(table).limit(SPEC)
  limit.take('a', 1, 1)
  const slot = limit.bucket >>> 8
  Atomics.store(table.words, table.address(slot) >> 2, -2_147_483_648)
  // With that place, the 32 of the table are enough.
  const other = bucketsOf(table).limit({ ...SPEC, id: 'other' })
  for (let i = 0; i < 16; i++) assert.equal(limit.take(`caller ${i}`, 1, 50), 50)
  for (let i = 0; i < 16; i++) assert.equal(other.take(`caller ${i}`, 1, 50), 50)
  assert.equal(table.counts.crowded, 0)
})

// --- a table that is full; 32 buckets are one set, so that every bucket competes with every other ---

/** 24 callers of `limit`, the most that one limit may have, have used `used` of 100; 8 of another limit all. */
function full(used: number) {
  const world = { now: 0 }
  const table = new BucketTable(BucketTable.create(32), { owner: 0, clock: () => world.now })
  const buckets = bucketsOf(table)
  const limit = buckets.limit(SPEC)
  const other = buckets.limit({ ...SPEC, id: 'other' })
  for (let i = 0; i < 24; i++) limit.take(`old ${i}`, 1, used)
  for (let i = 0; i < 8; i++) other.take(`other ${i}`, 1, 100)
  assert.equal(table.counts.crowded, 0)
  return { world, table, buckets, limit, other }
}

test('a full table: buckets that are full again make room, and nothing is forgotten', () => {
  const { world, table, limit } = full(60)
  world.now = HOUR
  for (let i = 0; i < 12; i++) assert.equal(limit.take(`old ${i}`, 1, 60), 40)
  for (let i = 0; i < 12; i++) assert.equal(limit.take(`new ${i}`, 1, 60), 40)
  for (let i = 0; i < 12; i++) assert.equal(limit.take(`old ${i}`, 1, 10), 30)
  assert.deepEqual(table.counts, { unknown: 0, crowded: 0, forgotten: 0 })
})

test('a full table: no number of new callers resets a caller that has used its limit', () => {
  const { table, limit, other } = full(100)
  for (let i = 0; i < 500; i++) limit.take(`new ${i}`, 1, 1)
  assert.ok(table.counts.crowded >= 500)
  assert.equal(table.counts.forgotten, 0)
  let granted = 0
  for (let i = 0; i < 24; i++) if (limit.take(`old ${i}`, 1, 1) >= 0) granted++
  for (let i = 0; i < 8; i++) if (other.take(`other ${i}`, 1, 1) >= 0) granted++
  assert.equal(granted, 0)
})

test('a full table: new callers share one bucket, and its limit', () => {
  const { limit } = full(100)
  let granted = 0
  for (let i = 0; i < 500; i++) if (limit.take(`new ${i}`, 1, 1) >= 0) granted++
  assert.equal(granted, 100)
})

test('a full table: callers that have used little make room for others of their limit, not of another one', () => {
  const { table, buckets, limit } = full(2)
  for (let i = 0; i < 100; i++) assert.equal(limit.take(`new ${i}`, 1, 1), 99)
  assert.deepEqual(table.counts, { unknown: 0, crowded: 0, forgotten: 100 })
  const third = buckets.limit({ ...SPEC, id: 'third' })
  assert.equal(third.take('a', 1, 1), 99)
  assert.equal(third.take('b', 1, 1), 98, 'they share')
  assert.equal(table.counts.crowded, 2)
})

test('callers of one limit take no more than their part of a set, also when the rest is not in use', () => {
  const { world, table, buckets, limit } = full(100)
  const brief = buckets.limit({ ...SPEC, id: 'brief', unitMs: 1 })
  world.now = HOUR
  for (let i = 0; i < 24; i++) assert.equal(limit.take(`old ${i}`, 1, 100), 0)
  for (let i = 0; i < 8; i++) assert.equal(brief.take(`brief ${i}`, 1, 100), 0)
  world.now += 1
  assert.equal(limit.take('one too many', 1, 1), 99)
  assert.equal(table.counts.crowded, 1)
  assert.equal(buckets.limit({ ...SPEC, id: 'third' }).take('a', 1, 1), 99)
  assert.equal(table.counts.crowded, 1)
})

test('endless callers of one limit leave room for those of another', () => {
  const table = new BucketTable(BucketTable.create(1024), { owner: 0, clock: () => 0 })
  const flooded = bucketsOf(table).limit({ ...SPEC, id: 'flooded', amount: 3 })
  for (let i = 0; i < 50_000; i++) flooded.take(`name ${i}`, 1, 1)
  const before = table.counts.crowded
  assert.ok(before > 40_000)
  const limit = bucketsOf(table).limit(SPEC)
  for (let i = 0; i < 50; i++) assert.equal(limit.take(`caller ${i}`, 1, 1), 99)
  assert.equal(table.counts.crowded, before)
})

test('limits whose shared buckets have no place take that which is used least', () => {
  const table = new BucketTable(BucketTable.create(32), { owner: 0, clock: () => 0 })
  const limits = Array.from({ length: 33 }, (_, i) =>
    bucketsOf(table).limit({ ...SPEC, id: String(i), isKeyed: false })
  )
  for (const [i, limit] of limits.entries()) assert.equal(limit.take(null, 1, 40 - i), 60 + i)
  assert.equal(table.counts.forgotten, 1)
  assert.equal(limits[0]!.take(null, 1, 1), 59)
  assert.equal(limits[31]!.take(null, 1, 1), 99, 'a call that comes too late for its bucket looks again')
})
