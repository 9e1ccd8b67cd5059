import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkQueue } from './objects.ts'

test('work of one key is done one at a time, and once more for all that was asked meanwhile', async () => {
  const gates: PromiseWithResolvers<void>[] = []
  const started: string[] = []
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const queue = new WorkQueue<string>(async (key) => {
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    started.push(key)
    begun[started.length - 1]?.resolve()
    await gate.promise
  })
  queue.add('a')
  queue.add('a')
  queue.add('a')
  queue.add('b')
  assert.deepEqual(started, ['a', 'b'])
  gates[0]!.resolve()
  await begun[2]!.promise
  assert.deepEqual(started, ['a', 'b', 'a'])
  queue.stop()
  for (const gate of gates) gate.resolve()
})
