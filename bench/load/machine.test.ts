import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesMax, placement } from './machine.ts'
import { interleave, median } from './stats.ts'
import { obstacle, WORKLOADS } from './workloads.ts'

test('the proxy has its cores to itself where there are enough', () => {
  const cores = (threads: number, count: number) => {
    const { proxy, load } = placement(threads, count, 'taskset')
    return [proxy, load]
  }
  assert.deepEqual(cores(1, 2), ['0', '1'])
  assert.deepEqual(cores(1, 8), ['0', '1-7'])
  assert.deepEqual(cores(2, 8), ['0-1', '2-7'])
  assert.deepEqual(cores(2, 2), ['0-1', '1'])
  assert.deepEqual(cores(1, 1), [null, null])
  assert.match(placement(1, 8, null).note, /taskset is not installed/)
})

test('a workload that needs more files than there are says so', () => {
  const idle = WORKLOADS.find(({ name }) => name === 'idle-10k')!
  assert.match(obstacle(idle, 1024)!, /1024 files, 10500 are needed/)
  assert.equal(obstacle(idle, 20_000), null)
  assert.ok(filesMax() >= 256)
})

test('names of workloads are unique, and bases exist', () => {
  const names = WORKLOADS.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const { base } of WORKLOADS) assert.ok(base === null || names.includes(base))
})

test('medians and turns', () => {
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.ok(Number.isNaN(median([])))
  assert.deepEqual(interleave(['a', 'b'], 2), ['a', 'b', 'a', 'b'])
})
