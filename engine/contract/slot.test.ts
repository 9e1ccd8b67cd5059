import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { Slot, type SlotHolder } from './slot.ts'

it('each slot has a value of its own on each exchange, and none until it is set', () => {
  const [names, counts] = [new Slot<string>(), new Slot<number>()]
  const [one, other]: SlotHolder[] = [{ slots: null }, { slots: null }]
  deepEqual([names.get(one!), counts.get(one!), one!.slots], [null, null, null])
  names.set(one!, 'a')
  counts.set(one!, 1)
  names.set(one!, 'b')
  deepEqual([names.get(one!), counts.get(one!), names.get(other!)], ['b', 1, null])
  equal(one!.slots!.next!.next, null)
})
