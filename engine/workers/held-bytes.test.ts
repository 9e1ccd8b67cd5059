import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { WorkerHeldBytes } from './held-bytes.ts'
import { SharedState } from './shared.ts'

const MIB = 1024 * 1024

function workers(count: number, max: number) {
  const state = SharedState.create(count)
  const all = Array.from({ length: count }, (_, worker) => {
    return new WorkerHeldBytes(SharedState.attach(state.buffer), worker, max)
  })
  return { state, all }
}

test('one bound for all workers: bytes of one count for the others', () => {
  const { state, all } = workers(3, 8 * MIB)
  const [a, b, c] = all as [WorkerHeldBytes, WorkerHeldBytes, WorkerHeldBytes]
  equal(a.take(5 * MIB), true)
  equal(b.take(3 * MIB), true)
  equal(c.take(MIB), false)
  equal(c.refused, 1)
  deepEqual([a.bytes, b.bytes, c.bytes, state.heldBytes], [5 * MIB, 3 * MIB, 0, 8 * MIB])
  a.give(2 * MIB)
  equal(c.take(MIB), true)
  equal(state.heldBytes, 7 * MIB)
})

test('in small steps there is never more than a step of each worker beyond the bound', () => {
  const { all } = workers(4, 8 * MIB)
  for (let n = 0; n < 100_000; n++) all[n % 4]!.take(1000)
  const kept = all.reduce((sum, { bytes }) => sum + bytes, 0)
  equal(kept > 8 * MIB - 4 * 64 * 1024 && kept <= 8 * MIB + 4 * 64 * 1024, true, String(kept))
  for (const one of all) one.give(one.bytes)
  equal(all[3]!.take(8 * MIB), true)
})

test('the successor of a worker that has died begins at zero', () => {
  const { state, all } = workers(2, 8 * MIB)
  all[1]!.take(8 * MIB)
  equal(all[0]!.take(MIB), false)
  new WorkerHeldBytes(SharedState.attach(state.buffer), 1, 8 * MIB)
  equal(all[0]!.take(MIB), true)
})
