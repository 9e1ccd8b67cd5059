/** The place of one worker, whatever thread is in it. */
import type { Worker } from 'node:worker_threads'
import type { Snapshot } from '#engine/ir/snapshot.ts'

export interface WorkerSlot {
  readonly index: number
  thread: Worker
  startedAt: number
  deaths: number
  lastBeats: number
  silentFor: number
  /** Version of the snapshot it serves; 0: none yet. */
  version: number
  /** What its thread was sent last. */
  lastSent: Snapshot | null
  /** Runs while the slot has no worker, until the next worker starts. */
  pause: NodeJS.Timeout | null
  drained: boolean
  stopped: boolean
}

export function workerSlot(index: number, thread: Worker): WorkerSlot {
  return {
    index,
    thread,
    startedAt: performance.now(),
    deaths: 0,
    lastBeats: 0,
    silentFor: 0,
    version: 0,
    lastSent: null,
    pause: null,
    drained: false,
    stopped: false
  }
}
