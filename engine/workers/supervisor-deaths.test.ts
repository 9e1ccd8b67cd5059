import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { snapshotOf } from '#engine/testing/snapshot.ts'
import { noAccounts } from './accounts.fixture.ts'
import { Supervisor } from './supervisor.ts'
import { heapMbFor } from './thread.ts'

const ENTRY = new URL('./worker.fixture.ts', import.meta.url)

/** `plan`: what the workers do with it (worker.fixture.ts). */
function snapshot(plan: string, version = 1): Snapshot {
  return { ...snapshotOf([]), hash: plan, version }
}

class Watched {
  readonly lines: string[] = []
  readonly series: unknown[] = []
  readonly dead: number[] = []
  readonly supervisor: Supervisor
  #waiting: { done: () => boolean; resolve: () => void }[] = []

  constructor(t: TestContext, count: number, heapMb = 256) {
    this.supervisor = new Supervisor({
      accountsFor: noAccounts,
      count,
      entry: ENTRY,
      metricsBytes: 64,
      heapMb,
      logging: { level: 'info', format: 'text' },
      log: (_level, message) => this.#note(this.lines, message),
      onStart: () => {},
      onSeries: (_worker, series) => this.#note(this.series, series),
      onDeath: (worker) => this.#note(this.dead, worker)
    })
    t.after(() => this.supervisor.stop())
  }

  /** Resolves when a line says it. */
  async logLine(text: RegExp): Promise<string> {
    await this.until(() => this.lines.some((line) => text.test(line)))
    return this.lines.find((line) => text.test(line))!
  }

  until(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ done, resolve }))
  }

  #note<T>(list: T[], entry: T): void {
    list.push(entry)
    for (const { done, resolve } of this.#waiting) if (done()) resolve()
  }
}

test('a snapshot is published when every worker serves it', async (t) => {
  const { supervisor } = new Watched(t, 3)
  const outcome = await supervisor.publish(snapshot('serve'))
  assert.deepEqual(outcome, { ok: true, binds: [{ port: 1, transport: 'test', detail: '' }] })
  assert.ok(supervisor.workers.every(({ isServing }) => isServing))
})

test('one worker that refuses fails the snapshot, and the previous one is sent again', async (t) => {
  const { supervisor } = new Watched(t, 2)
  assert.equal((await supervisor.publish(snapshot('serve', 1))).ok, true)
  const outcome = await supervisor.publish(snapshot('1:refuse', 2))
  assert.deepEqual(outcome, { ok: false, message: 'refused by worker 1', code: 'EADDRINUSE' })
  // Worker 0 had taken version 2; version 1 fails again in neither, so the next one goes through.
  assert.equal((await supervisor.publish(snapshot('serve', 3))).ok, true)
})

test('a worker that dies is replaced, and its successor gets the snapshot in force', async (t) => {
  const watched = new Watched(t, 2)
  const { supervisor } = watched
  await supervisor.publish(snapshot('serve'))
  const before = supervisor.workers[1]!.startedAt
  supervisor.terminate(0)
  assert.match(await watched.logLine(/worker 0 died/), /replaced in 0 ms: it exited/)
  assert.equal((await supervisor.publish(snapshot('serve', 2))).ok, true)
  assert.deepEqual(watched.dead, [0])
  assert.equal(supervisor.restarts, 1)
  assert.equal(supervisor.workers[1]!.startedAt, before, 'the other worker is untouched')
})

test('a worker that dies while it takes a snapshot is replaced and the snapshot still published', async (t) => {
  const watched = new Watched(t, 2)
  assert.equal((await watched.supervisor.publish(snapshot('0:throw serve'))).ok, true)
  assert.match(await watched.logLine(/worker 0 died/), /thrown on purpose/)
})

test('a snapshot that kills its workers is refused, and the one before runs again', async (t) => {
  const watched = new Watched(t, 2)
  const { supervisor } = watched
  assert.equal((await supervisor.publish(snapshot('serve', 1))).ok, true)
  const outcome = await supervisor.publish(snapshot('1:exit', 2))
  assert.equal(outcome.ok, false)
  assert.match(outcome.ok ? '' : outcome.message, /worker 1 died of it 2 times/)
  // publish() has returned to version 1 in every worker: the replaced one too.
  assert.ok(supervisor.workers.every(({ isServing }) => isServing))
})

test('a worker out of memory ends alone', async (t) => {
  const watched = new Watched(t, 2, 32)
  assert.equal((await watched.supervisor.publish(snapshot('0:fill serve'))).ok, true)
  assert.match(await watched.logLine(/worker 0 died/), /memory/)
  assert.deepEqual(watched.dead, [0])
})

test('deaths in a row are replaced more and more slowly', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const watched = new Watched(t, 1)
  const { supervisor } = watched
  await supervisor.publish(snapshot('serve'))
  const pauses: string[] = []
  for (let deaths = 1; deaths <= 10; deaths++) {
    supervisor.terminate(0)
    await watched.until(() => watched.lines.length === deaths)
    pauses.push(/in (\d+) ms/.exec(watched.lines.at(-1)!)![1]!)
    t.mock.timers.tick(10_000)
  }
  assert.equal(pauses.join(' '), '0 100 200 400 800 1600 3200 6400 10000 10000')
  t.mock.timers.reset()
})

test('a worker that holds its event loop is reported after 10 s and replaced after 60 s', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const watched = new Watched(t, 1)
  assert.equal((await watched.supervisor.publish(snapshot('hang serve'))).ok, true)
  // The first look sees the beat of the start.
  t.mock.timers.tick(10_000)
  assert.deepEqual(watched.lines, [])
  t.mock.timers.tick(1_000)
  assert.match(watched.lines[0]!, /worker 0 has not turned its event loop for 10 s/)
  t.mock.timers.tick(50_000)
  assert.match(watched.lines[1]!, /60 s: it is ended/)
  await watched.logLine(/worker 0 died/)
  t.mock.timers.tick(0)
  assert.equal((await watched.supervisor.publish(snapshot('serve', 2))).ok, true)
  t.mock.timers.reset()
})

test('stop waits for no worker that hangs, and for no successor', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const watched = new Watched(t, 2)
  const { supervisor } = watched
  await supervisor.publish(snapshot('0:hang'))
  supervisor.terminate(1)
  await watched.logLine(/worker 1 died/)
  const stopped = supervisor.stop()
  t.mock.timers.tick(2_000)
  await stopped
  assert.ok(supervisor.workers.every(({ isStopped }) => isStopped))
  assert.equal(supervisor.restarts, 1)
  t.mock.timers.reset()
})

test('drain resolves when every worker has drained', async (t) => {
  const { supervisor } = new Watched(t, 2)
  await supervisor.publish(snapshot('serve'))
  await supervisor.drain()
  assert.equal(supervisor.state.draining, true)
})

test('a change of the log level reaches every worker', async (t) => {
  const watched = new Watched(t, 2)
  watched.supervisor.setLevel('debug')
  await watched.until(() => watched.series.length === 2)
  assert.deepEqual(watched.series, ['debug', 'debug'])
})

test('heaps share half of the memory, within bounds', () => {
  const gb = 1024 ** 3
  assert.equal(heapMbFor(2, 2 * gb), 512)
  assert.equal(heapMbFor(16, gb), 128)
  assert.equal(heapMbFor(1, 64 * gb), 4096)
  assert.ok(heapMbFor(1) >= 128)
})

test('a worker that dies while it holds the lock of the buckets leaves it open', async (t) => {
  const watched = new Watched(t, 2)
  assert.equal((await watched.supervisor.publish(snapshot('1:lock unlocked'))).ok, true)
  assert.deepEqual(watched.dead, [1])
})
