/**
 * A worker for tests of the supervisor. The snapshot's hash tells it what to do: one word per worker
 * that the slot has had, so that a successor can behave better ("exit serve" dies once). Words behind a slot's
 * number and a colon are for that slot only ("1:exit serve"), and the others serve.
 */
import { parentPort } from 'node:worker_threads'
import { BucketTable } from './bucket-table.ts'
import type { ToMain, ToWorker, WorkerData } from './messages.ts'
import { SharedState } from './shared.ts'

const port = parentPort!
let data: ScriptedWorkerData

interface ScriptedWorkerData extends WorkerData {
  /** How many workers the slot had before. */
  readonly generation: number
}

function begin(data: WorkerData): ScriptedWorkerData {
  const state = SharedState.attach(data.state)
  // The count of beats outlives a worker.
  const generation = state.beats(data.worker)
  state.beat(data.worker)
  return { ...data, generation }
}

const post = (message: ToMain) => port.postMessage(message)
const serve = (version: number) =>
  post({ kind: 'serving', version, binds: [{ port: 1, transport: 'test', detail: '' }] })

const deeds: Record<string, (version: number) => void> = {
  serve,
  refuse: (version) =>
    post({ kind: 'failed', version, message: `refused by worker ${data.worker}`, code: 'EADDRINUSE' }),
  exit: () => process.exit(7),
  // Ends where it holds the lock of the buckets: the clock is read there.
  lock: () => makeBucket(() => process.exit(7)),
  unlocked: (version) => deeds[makeBucket(() => 0) >= 0 ? 'serve' : 'refuse']!(version),
  throw: () => {
    throw new Error('thrown on purpose')
  },
  // Holds its event loop for ever: no beats, no messages, and no end but terminate().
  hang: (version) => {
    serve(version)
    setImmediate(() => {
      for (;;);
    })
  },
  fill: () => {
    const kept: unknown[] = []
    for (;;) kept.push(new Array(1000).fill(kept.length))
  }
}

function makeBucket(clock: () => number): number {
  const table = new BucketTable(data.buckets, { owner: data.worker, clock })
  return table.findOrMake(1, 1, { amount: 1, capacity: 1, unitMs: 1, tagLow: 1, isShared: false })
}

function deedOf(hash: string): string {
  const [index, plan] = hash.split(':')
  if (plan !== undefined && Number(index) !== data.worker) return 'serve'
  const words = (plan ?? hash).split(' ')
  return words[Math.min(data.generation, words.length - 1)]!
}

port.on('message', (message: ToWorker) => {
  if (message.kind === 'begin') data = begin(message.data)
  else if (message.kind === 'snapshot') deeds[deedOf(message.snapshot.hash)]!(message.snapshot.version)
  else if (message.kind === 'level') post({ kind: 'series', series: message.level })
  else if (message.kind === 'drain') post({ kind: 'drained' })
  else {
    post({ kind: 'stopped' })
    port.close()
  }
})
