import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ReadMemory } from './memory.ts'
import { TlsQueue } from './tls-queue.ts'

function newMemory(): ReadMemory {
  return new ReadMemory(new ArrayBuffer(ReadMemory.size), 0)
}

function taken(queue: TlsQueue): string[] {
  const all: string[] = []
  while (queue.bytes > 0) queue.take((bytes) => all.push(bytes.toString('latin1')))
  return all
}

test('pieces leave in their order, short ones together, long ones alone', () => {
  const queue = new TlsQueue(newMemory())
  const long = 'x'.repeat(20_000)
  for (const text of ['a', 'b', long, 'c', 'd', 'e']) queue.add(Buffer.from(text), null)
  equal(queue.bytes, 20_005)
  deepEqual(taken(queue), ['ab', long, 'cde'])
})

test('a slot is lent until its piece is written or dropped', () => {
  const memory = newMemory()
  const slot = memory.take()!
  const queue = new TlsQueue(memory)
  for (const part of [0, 1, 2]) queue.add(slot.view.subarray(part * 30_000, (part + 1) * 30_000), slot)
  memory.release(slot)
  equal(slot.lent, 3)
  queue.take((bytes) => {
    equal(bytes.length, 30_000)
    equal(slot.lent, 3)
  })
  equal(slot.lent, 2)
  equal(memory.busy, 1)
  queue.clear()
  deepEqual([slot.lent, queue.bytes, memory.busy], [0, 0, 0])
})
