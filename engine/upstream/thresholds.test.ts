/** Bounds over several workers, each with numbers of its own; one that dies leaves none behind. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { CONNECTIONS, PENDING, REQUESTS, Thresholds } from './thresholds.ts'

function bench(limits: ConstructorParameters<typeof Thresholds>[0]['limits']) {
  const memory = SharedRows.create()
  const overflows: string[] = []
  const deaths = [0, 0]
  const worker = (index: number) =>
    new Thresholds({
      name: 'shop',
      key: 'shop',
      limits,
      rows: new SharedRows(memory, () => 0),
      worker: { index, count: 2, deaths: (one) => deaths[one]! },
      overflowed: (kind) => overflows.push(kind)
    })
  return { worker, overflows, deaths }
}

test('what workers have under way counts together', () => {
  const { worker, overflows } = bench({ maxRequests: 3, maxPendingRequests: 1 })
  const [one, other] = [worker(0), worker(1)]
  one.change(REQUESTS, 2)
  equal(other.refusal(false), null)
  other.change(REQUESTS, 1)
  equal(one.refusal(false), 'circuitBreaker.maxRequests (3) of shop')
  one.change(REQUESTS, -1)
  one.change(PENDING, 1)
  equal(other.refusal(false), null)
  equal(other.refusal(true), 'circuitBreaker.maxPendingRequests (1) of shop')
  deepEqual(overflows, ['requests', 'pending_requests'])
})

test('a worker may have the connections that others leave, and one', () => {
  const { worker } = bench({ maxConnections: 4 })
  const [one, other] = [worker(0), worker(1)]
  one.change(CONNECTIONS, 3)
  deepEqual([one.connectionsMax(100), other.connectionsMax(100)], [4, 1])
  one.change(CONNECTIONS, 1)
  equal(other.connectionsMax(100), 1)
  equal(one.connectionsMax(2), 2)
})

test('what a worker that has died had under way is over when its successor comes', () => {
  const { worker } = bench({ maxRequests: 1 })
  worker(0).change(REQUESTS, 1)
  const other = worker(1)
  ok(other.refusal(false) !== null)
  worker(0)
  equal(other.refusal(false), null)
})

test('it is over with its death, also where its successor never asks', () => {
  const { worker, deaths } = bench({ maxRequests: 2, maxConnections: 4 })
  const [one, other] = [worker(0), worker(1)]
  one.change(REQUESTS, 2)
  one.change(CONNECTIONS, 3)
  ok(other.refusal(false) !== null)
  deaths[0]!++
  equal(other.refusal(false), null)
  equal(other.connectionsMax(100), 4)
  const heir = worker(0)
  heir.change(REQUESTS, 1)
  equal(other.refusal(false), null)
  other.change(REQUESTS, 1)
  ok(other.refusal(false) !== null)
  // What is its own counts for a worker in any case.
  ok(heir.refusal(false) !== null)
})
