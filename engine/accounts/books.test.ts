import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { SpendingWork } from './books.fixture.ts'
import { Books, createBooks } from './books.ts'

const ENTRY = new URL('./books.fixture.ts', import.meta.url)
const PLACE = 3
const ROW = 5

function budget(limit: bigint, workers = 4) {
  const memory = createBooks(workers)
  const books = new Books(memory)
  books.prepare(ROW, { limit, spent: 0n, start: 0, end: 1 })
  books.open(PLACE, ROW)
  return { memory, books }
}

async function spenders(t: TestContext, works: readonly SpendingWork[]) {
  const threads = await Promise.all(
    works.map(async (workerData) => {
      const thread = new Worker(ENTRY, { workerData })
      t.after(() => thread.terminate())
      await once(thread, 'message')
      return thread
    })
  )
  return await Promise.all(
    threads.map(async (thread) => {
      const message = once(thread, 'message')
      thread.postMessage('begin')
      return (await message)[0] as { spent: bigint; largest: bigint; admitted: number }
    })
  )
}

test('threads that spend one budget at a time overdraw it by one call at most, and lose nothing', async (t) => {
  for (let round = 0; round < 6; round++) {
    const limit = BigInt([1, 40_000, 1_000_000][round % 3]!)
    const { memory, books } = budget(limit)
    const works = [0, 1, 2, 3].map((worker): SpendingWork => {
      return { memory, worker, place: PLACE, seed: 1 + round * 4 + worker, calls: 3_000, open: 50, bound: 2_000 }
    })
    const all = await spenders(t, works)
    const spent = all.reduce((sum, one) => sum + one.spent, 0n)
    const largest = all
      .map((one) => one.largest)
      .toSorted((a, b) => Number(a - b))
      .at(-1)!
    const state = books.state(ROW)
    deepEqual([state.spent, state.used, state.open], [spent, spent, 0])
    ok(spent <= limit + largest, `${spent} of ${limit} with calls up to ${largest}`)
    ok(spent >= limit, 'a budget can be used up')
  }
})

test('of many calls that do not fit only one passes, and nothing else until it is settled', () => {
  const { books } = budget(10n)
  equal(books.reserve(ROW, 9n, 0), 9n)
  equal(books.reserve(ROW, 9n, 1), 1n)
  for (let i = 0; i < 200; i++) equal(books.reserve(ROW, 9n, i % 4), -1n)
  // Others give back: what fits passes, what does not waits for the one.
  books.settle(ROW, 9n, 9n, 2n, 0)
  equal(books.reserve(ROW, 9n, 2), -1n)
  equal(books.reserve(ROW, 7n, 2), 7n)
  books.settle(ROW, 1n, 9n, 9n, 1)
  deepEqual(books.state(ROW).used, 18n)
  equal(books.reserve(ROW, 1n, 0), -1n)
  books.settle(ROW, 7n, 7n, 0n, 2)
  equal(books.reserve(ROW, 1n, 0), -1n)
})

test('calls that cost nothing do not pass a budget that is used up', () => {
  const { books } = budget(5n)
  equal(books.reserve(ROW, 0n, 0), 0n)
  books.settle(ROW, 0n, 0n, 5n, 0)
  equal(books.reserve(ROW, 0n, 0), -1n)
})

test('what a dead worker held: its claim and its calls are free, what it set aside counts', () => {
  const { books } = budget(10n)
  equal(books.reserve(ROW, 20n, 2), 10n)
  for (let i = 0; i < 3; i++) equal(books.begin(7, 4, 2), true)
  equal(books.begin(7, 4, 1), true)
  equal(books.begin(7, 4, 0), false)
  books.release(2, ROW + 1, 8)
  equal(books.calls(7), 1)
  deepEqual(books.state(ROW).used, 10n)
  books.correct(ROW, -4n)
  equal(books.reserve(ROW, 20n, 1), 4n, 'another one may be short now')
})

test('a period that begins anew has all of it, and the old one is settled where it was', () => {
  const { books } = budget(10n)
  equal(books.reserve(ROW, 10n, 0), 10n)
  books.prepare(ROW + 1, { limit: 10n, spent: 0n, start: 1, end: 2 })
  books.open(PLACE, ROW + 1)
  equal(books.reserve(books.rowOf(PLACE), 4n, 0), 4n)
  books.settle(ROW, 10n, 10n, 3n, 0)
  deepEqual([books.state(ROW).spent, books.state(ROW + 1).used], [3n, 4n])
})
