import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedState } from './shared.ts'

test('every worker has its own row, and all threads that attach see the same state', () => {
  const mine = SharedState.create(3)
  const theirs = SharedState.attach(mine.buffer)
  theirs.setConnections(0, 5)
  theirs.setConnections(2, 7)
  theirs.beat(1)
  theirs.beat(1)
  assert.deepEqual(
    [0, 1, 2].map((worker) => [mine.connections(worker), mine.beats(worker)]),
    [
      [5, 0],
      [0, 2],
      [7, 0]
    ]
  )
  assert.equal(mine.draining, false)
  theirs.setDraining()
  assert.equal(mine.draining, true)
  assert.equal(mine.connections(0), 5)
})
