/** What is remembered, how long, and how much of it. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Names } from '#backends/mcp/names/names.ts'
import { Bus } from '#backends/mcp/workers/bus.ts'
import { BYTES_MAX, type CachePartition, LIST_BYTES_MAX, LISTS_MAX, ListCache } from './cache.ts'
import { Freshness } from './cache-slot.ts'
import { follow } from './changes.ts'
import { LISTS } from './kinds.ts'
import { type Page, pageOfResult } from './page.ts'

const SHELF: CachePartition = { backend: 'b', target: 'a', digest: 'm' }
const pageOf = (...names: string[]): Page =>
  pageOfResult(
    { tools: names.map((name) => ({ name })) },
    'a',
    LISTS.get('tools/list')!,
    new Names(['a'], 'conditional')
  )
const kept = (until: number, ...pages: Page[]) => ({ pages, until, isPublic: true })

function clocked() {
  const clock = { now: 1_000 }
  return { clock, cache: new ListCache(() => clock.now) }
}

describe('a remembered list', () => {
  it('is believed until its time is over, and not a moment longer', () => {
    const { clock, cache } = clocked()
    cache.set(SHELF, 'tools', 'k', 0, kept(1_500, pageOf('x')))
    clock.now = 1_499
    deepEqual(cache.get(SHELF, 'tools', 'k')?.pages[0]?.names, ['x'])
    clock.now = 1_500
    equal(cache.get(SHELF, 'tools', 'k'), null)
    deepEqual([cache.size, cache.bytes], [0, 0])
    cache.set(SHELF, 'tools', 'k', 0, kept(1_500, pageOf('x')))
    equal(cache.size, 0)
  })

  it('is over with news of its kind from its target, also if they come while it is asked for', () => {
    const { cache } = clocked()
    const round = cache.generation(SHELF, 'tools')
    cache.set(SHELF, 'tools', 'k', round, kept(2_000, pageOf('x')))
    cache.invalidate('b', 'a', 'prompts')
    cache.invalidate('b', 'other', 'tools')
    cache.invalidate('other', 'a', 'tools')
    ok(cache.get(SHELF, 'tools', 'k') !== null)
    cache.invalidate('b', 'a', 'tools')
    equal(cache.get(SHELF, 'tools', 'k'), null)
    cache.set(SHELF, 'tools', 'k', round, kept(2_000, pageOf('x')))
    equal(cache.get(SHELF, 'tools', 'k'), null)
    cache.set(SHELF, 'tools', 'k', cache.generation(SHELF, 'tools'), kept(2_000, pageOf('x')))
    ok(cache.get(SHELF, 'tools', 'k') !== null)
  })

  it('is over with news that another worker has heard', async () => {
    const { cache } = clocked()
    const [here, there] = [new Bus('weir.test.lists'), new Bus('weir.test.lists')]
    follow(cache, here)
    cache.set(SHELF, 'tools', 'k', 0, kept(2_000, pageOf('x')))
    const heard = new Promise<void>((resolve) => here.subscribe(() => resolve()))
    there.publish({ kind: 'listChanged', backend: 'b', target: 'a', what: 'tools' })
    // The channel keeps no process alive by itself.
    const ears = new BroadcastChannel('weir.test.lists')
    ears.onmessage = () => undefined
    await heard
    ears.close()
    equal(cache.get(SHELF, 'tools', 'k'), null)
    here.close()
    there.close()
  })

  it('goes when its target is configured otherwise', () => {
    const { cache } = clocked()
    const other = { ...SHELF, backend: 'c', digest: 'o' }
    cache.set(SHELF, 'tools', 'k', 0, kept(2_000, pageOf('x')))
    cache.set(other, 'tools', 'k', 0, kept(2_000, pageOf('x')))
    cache.retainOnly('b', [SHELF])
    equal(cache.size, 2)
    cache.retainOnly('b', [{ ...SHELF, digest: 'n' }])
    equal(cache.get(SHELF, 'tools', 'k'), null)
    ok(cache.get(other, 'tools', 'k') !== null)
  })

  it('makes room for others: so many lists, and so many bytes', () => {
    const { cache } = clocked()
    for (let i = 0; i <= LISTS_MAX; i++) {
      cache.set(SHELF, 'tools', `k${i}`, 0, kept(2_000, pageOf('x')))
      cache.get(SHELF, 'tools', 'k0')
    }
    equal(cache.size, LISTS_MAX)
    ok(cache.get(SHELF, 'tools', 'k0') !== null, 'what is used stays')
    equal(cache.get(SHELF, 'tools', 'k1'), null)
    const big = pageOf('y'.repeat(LIST_BYTES_MAX / 4))
    for (let i = 0; i < 16; i++) cache.set(SHELF, 'tools', `big${i}`, 0, kept(2_000, big))
    ok(cache.bytes <= BYTES_MAX && cache.bytes > BYTES_MAX / 2, String(cache.bytes))
    cache.set(SHELF, 'tools', 'huge', 0, kept(2_000, big, big))
    equal(cache.get(SHELF, 'tools', 'huge'), null)
  })
})

describe('freshness', () => {
  const list = (hints: object, more: object = {}): Page => ({
    ...pageOf('x'),
    hints: hints as Page['hints'],
    ...more
  })
  const of = (version: string, ...pages: Page[]) => {
    const all = new Freshness({ version } as never)
    pages.forEach((page, i) => {
      all.add(page, 100 * i, 1_000)
    })
    return [all.hasHints, all.until, all.isPublic, all.isComplete]
  }

  it('of several pages is that of the first to go, and public if all are', () => {
    const publicly = { ttlMs: 500, isPublic: true }
    deepEqual(of('2026-07-28', list(publicly), list({ ttlMs: 300, isPublic: true })), [true, 400, true, true])
    deepEqual(of('2026-07-28', list(publicly), list({ ttlMs: 500, isPublic: false })), [true, 500, false, true])
    deepEqual(of('2026-07-28', list(publicly), list({ ttlMs: 0, isPublic: true })), [true, 100, true, true])
    deepEqual(of('2026-07-28', list({ ttlMs: 9e9, isPublic: true })), [true, 1_000, true, true])
    deepEqual(of('2026-07-28', list(publicly, { isComplete: false })), [true, 500, true, false])
  })

  it('is none without a declared lifetime, or in a revision without the field', () => {
    deepEqual(of('2026-07-28', { ...pageOf('x'), hints: null }), [true, 0, false, true])
    equal(of('2025-11-25', list({ ttlMs: 500, isPublic: true }))[0], false)
  })
})
