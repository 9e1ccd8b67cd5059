/**
 * A thread that uses the buckets of a table, for tests. `deed`:
 * - take: `times` takes of one token by each of `callers` in turn (a null: by nobody); answers how many were granted;
 * - look: the same, of no token; answers the bucket that each had last;
 * - stay: begins to make a bucket and never ends, holding the lock;
 * - churn: makes buckets of ever new callers until it is ended.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { LimitSpec } from '#engine/contract/buckets.ts'
import type { SharedMemory } from '#engine/http/webassembly.ts'
import { BucketTable } from './bucket-table.ts'
import { bucketsOf } from './buckets.ts'

export interface BucketWork {
  readonly memory: SharedMemory
  readonly owner: number
  readonly spec: LimitSpec
  readonly deed: 'take' | 'look' | 'stay' | 'churn'
  readonly callers: readonly (string | null)[]
  readonly times: number
}

const { memory, owner, spec, deed, callers, times } = workerData as BucketWork
const port = parentPort!
let isStuck = false

function stuckClock(): number {
  if (!isStuck) return 0
  port.postMessage('inside')
  for (;;);
}

const table = new BucketTable(memory, deed === 'stay' ? { owner, clock: stuckClock } : { owner })
const limit = bucketsOf(table).limit(spec)

function take(): void {
  let granted = 0
  for (let i = 0; i < times; i++) if (limit.take(callers[i % callers.length]!, 1, 1) >= 0) granted++
  port.postMessage(granted)
}

function look(): void {
  const buckets: number[] = []
  for (let i = 0; i < times; i++) {
    limit.take(callers[i % callers.length]!, 0, 0)
    buckets[i % callers.length] = limit.bucket
  }
  port.postMessage(buckets)
}

// Together: each waits until all are there.
port.once('message', () => {
  if (deed === 'take') take()
  else if (deed === 'look') look()
  else if (deed === 'stay') {
    isStuck = true
    // The clock is asked again where the lock is held.
    table.findOrMake(1, 1, { amount: 1, capacity: 1, unitMs: 1, tagLow: 1, isShared: false })
  } else {
    port.postMessage('inside')
    for (let i = 0; ; i++) limit.take(`caller ${i % 5_000}`, 1, 1)
  }
})
port.postMessage('ready')
