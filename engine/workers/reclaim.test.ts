import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { Reclaim } from './reclaim.ts'

const MIB = 1024 * 1024

function collections(...kept: number[]): number[] {
  const at: number[] = []
  let n = 0
  const reclaim = new Reclaim(() => at.push(n))
  for (const bytes of kept) {
    reclaim.look(bytes * MIB)
    n++
  }
  return at
}

test('memory is given back once, when most of it has been let go and no more of it follows', () => {
  deepEqual(collections(0, 10, 400, 300, 50, 0, 0, 0), [6])
  deepEqual(collections(0, 400, 100, 100, 100, 400, 0, 0), [3, 7])
})

test('not for little, nor while much of it is still kept', () => {
  deepEqual(collections(0, 60, 0, 0, 0), [])
  deepEqual(collections(0, 400, 200, 200, 200), [])
})

test('the collector is there without a flag', () => {
  const room = new WeakRef(Buffer.from(new SharedArrayBuffer(100 * MIB)))
  const reclaim = new Reclaim()
  reclaim.look(100 * MIB)
  return new Promise<void>((resolve) => {
    setImmediate(() => {
      reclaim.look(0)
      reclaim.look(0)
      equal(room.deref(), undefined)
      resolve()
    })
  })
})
