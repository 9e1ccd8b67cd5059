/** Rate limits: what a take costs, alone and by caller, and its undoing. The target is 500 ns. */
import type { Bench } from 'tinybench'
import { type Limit, NO_BUCKETS } from '#engine/contract/buckets.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy } from '#engine/testing/policy.ts'
import { BucketTable } from '#engine/workers/bucket-table.ts'
import { bucketsOf } from '#engine/workers/buckets.ts'
import { rateLimit } from '#policies/traffic/rate-limit.ts'

/** Calls per sample: one alone is shorter than the clock's resolution. */
export const calls = 1000

const CALLERS = Array.from({ length: 10_000 }, (_, i) => `198.51.${i >> 8}.${i & 255}`)
const AMOUNT = 1_000_000_000

export function register(bench: Bench): void {
  const table = new BucketTable(BucketTable.create(), { owner: 0 })
  const buckets = bucketsOf(table)
  const limitOf = (id: string, isKeyed: boolean, amount = AMOUNT): Limit =>
    buckets.limit({ id, amount, burst: 0, unitMs: 3_600_000, isKeyed })
  const times = (name: string, run: (i: number) => void): void => {
    bench.add(`rate-limit: ${name}`, () => {
      for (let i = 0; i < calls; i++) run(i)
    })
  }
  const all = limitOf('all', false)
  const own = limitOf('own', true)
  const none = limitOf('none', false, 1)
  let next = 0
  times('take, one bucket', () => all.take(null, 1, 1))
  times('take and give back, one bucket', () => {
    all.take(null, 1, 1)
    all.giveBack(all.bucket, 1)
  })
  times('take, one of 10,000 callers', () => own.take(CALLERS[next++ % CALLERS.length]!, 1, 1))
  times('refused, one bucket', () => none.take(null, 1, 1))
  // A caller that returns after all others: its bucket is made anew, under the lock.
  const brief = buckets.limit({ id: 'brief', amount: 1, burst: 0, unitMs: 0.001, isKeyed: true })
  let fresh = 0
  times('take, a new caller', () => brief.take(String(fresh++), 1, 1))

  addPolicy(times, 'policy, one limit', buckets)
}

function addPolicy(times: (name: string, run: () => void) => void, name: string, buckets = NO_BUCKETS): void {
  const config = { local: [{ requests: AMOUNT, unit: 'Hours' }] }
  const hook = compilePolicy(rateLimit, config, undefined, { buckets }).filter!.onRequest!
  const ex = fakeExchange()
  times(name, () => {
    ex.slots = null
    void hook(ex)
  })
}
