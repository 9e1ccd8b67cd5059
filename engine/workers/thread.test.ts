import { equal, notEqual } from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { noAccounts } from './accounts.fixture.ts'
import { Supervisor } from './supervisor.ts'
import { SpareThread } from './thread.ts'

const ENTRY = new URL('./worker.fixture.ts', import.meta.url)
const ENDS = new URL('data:text/javascript,throw new Error("cannot load")')

test('the thread that was started ahead is taken once, and only with the heap that is wanted', async (t) => {
  const ahead = new SpareThread(ENTRY, 128)
  const thread = ahead.take(128)
  t.after(() => thread?.terminate())
  notEqual(thread, null)
  equal(ahead.take(128), null)
  for (const wanted of [129, 63]) equal(new SpareThread(ENTRY, 128).take(wanted), null, String(wanted))
  const larger = new SpareThread(ENTRY, 128).take(64)
  t.after(() => larger?.terminate())
  notEqual(larger, null)
})

test('a thread that cannot load is not taken, and ends nothing', async () => {
  const ahead = new SpareThread(ENDS, 128)
  // Another one that fails alike: by its end the first has ended too, or is waited for.
  const other = new SpareThread(ENDS, 128).take(128)!
  await once(other, 'error')
  let taken = ahead.take(128)
  while (taken !== null) {
    await once(taken, 'error')
    taken = ahead.take(128)
  }
  equal(taken, null)
})

function supervise(t: TestContext, heapMb: number): { supervisor: Supervisor; ahead: SpareThread; started: number[] } {
  const started: number[] = []
  const ahead = new SpareThread(ENTRY, 128)
  const supervisor = new Supervisor({
    accountsFor: noAccounts,
    count: 2,
    entry: ENTRY,
    ahead,
    heapMb,
    metricsBytes: 1024,
    logging: { level: 'error', format: 'text' },
    log: () => {},
    onStart: (worker) => started.push(worker),
    onSeries: () => {},
    onDeath: () => {}
  })
  t.after(() => supervisor.stop())
  return { supervisor, ahead, started }
}

for (const [heapMb, what] of [
  [128, 'is the first worker'],
  [256, 'with another heap is replaced']
] as const) {
  test(`the thread that was started ahead ${what}`, async (t) => {
    const { supervisor, ahead, started } = supervise(t, heapMb)
    equal(ahead.take(128), null)
    equal(supervisor.workers.length, 2)
    const outcome = await supervisor.publish({ version: 1, hash: 'serve', binds: [], backends: {} } as never)
    equal(outcome.ok, true)
    equal(started.join(), '0,1')
  })
}
