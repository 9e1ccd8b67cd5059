import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Supervisor } from '#engine/workers/supervisor.ts'
import { drain } from './drain.ts'

test('deadlines beyond what a timer can hold do not cut at once', async (t) => {
  const delays: unknown[] = []
  t.mock.method(globalThis, 'setTimeout', (_: () => void, ms: number) => {
    delays.push(ms)
    return { unref() {} }
  })
  const done: string[] = []
  const supervisor = {
    leave: () => done.push('draining'),
    connections: 1,
    drain: async () => done.push('drained'),
    stop: async () => done.push('stopped')
  } as unknown as Supervisor
  const onServed = async (): Promise<void> => void done.push('served')
  const yearMs = 31_536_000_000
  await drain(supervisor, { minMs: 0, maxMs: yearMs, log: (_, message) => done.push(message), onServed })
  assert.deepEqual(delays, [2 ** 31 - 1])
  assert.deepEqual(done, ['draining', 'drained', 'served', 'stopped'])
})
