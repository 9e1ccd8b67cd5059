import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { ReadMemory, type ReadSlot } from './memory.ts'
import { BULK_BODY, BULK_NONE } from './wire.ts'

const FULL = 512 * 1024

function memoryWithSlot(): { memory: ReadMemory; slot: ReadSlot } {
  const memory = new ReadMemory(new ArrayBuffer(ReadMemory.size), 0)
  const slot = memory.slotAfter(null, FULL, BULK_BODY, false)!
  return { memory, slot }
}

test('a long body is read into a slot of its own for as long as it lasts', () => {
  const { memory, slot } = memoryWithSlot()
  equal(memory.slotAfter(slot, FULL, BULK_BODY, false), slot)
  equal(memory.slotAfter(slot, FULL, BULK_BODY, true), slot)
  equal(memory.slotAfter(slot, FULL, BULK_NONE, false), null)
  equal(memory.busy, 0)
})

test('nothing is read into a slot that a write still points to, whether the wire is paused or not', () => {
  for (const isPaused of [false, true]) {
    const { memory, slot } = memoryWithSlot()
    slot.lent++
    const next = memory.slotAfter(slot, FULL, BULK_BODY, isPaused)
    notEqual(next, slot)
    deepEqual([slot.released, memory.busy], [true, 2])
    memory.returned(slot)
    equal(memory.busy, 1)
  }
})

test('paused wires keep no slot beside the one that is lent when slots are scarce', () => {
  const { memory, slot } = memoryWithSlot()
  while (memory.busy < 40) memory.take()
  slot.lent++
  equal(memory.slotAfter(slot, FULL, BULK_BODY, true), null)
  equal(memory.busy, 40)
})
