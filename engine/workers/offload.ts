/**
 * Threads for work that is too slow for an event loop (piscina, docs/design/012-offload.md): one for each class of
 * jobs, made when it is first needed, ended after a while without work. A hop costs 60 to 90 us.
 */
import type { Piscina } from 'piscina'
import { CEL_LOG_JOB, type CelLogJob } from '#engine/cel/log-offload.ts'
import { CEL_JOB, type CelJob } from '#engine/cel/offload.ts'
import type { Offload } from '#engine/contract/policy.ts'
import { PASSWORD_JOB } from '#engine/kit/password/job.ts'
import { RoundRobinQueue } from '#engine/kit/round-robin-queue.ts'
import type { Job } from './jobs.ts'

/** More than this would be late anyway: further jobs are refused at once. */
const QUEUE_MAX = 128
const IDLE_MS = 30_000

interface Class {
  readonly lane: string
  /** The owner of turns in the lane, before those of clients: an expression of the configuration. */
  readonly caller: (argument: unknown) => string
}

const NO_CALLER = (): string => ''

/** Jobs that share a thread. All others have one by their own name: no class waits for another. */
const CLASSES: Readonly<Record<string, Class>> = {
  // Who guesses many passwords waits already (policies/shared/password-verifier.ts).
  [PASSWORD_JOB]: { lane: 'passwords', caller: NO_CALLER },
  [CEL_JOB]: { lane: 'expressions', caller: (argument) => (argument as CelJob).source },
  [CEL_LOG_JOB]: {
    lane: 'expressions',
    caller: (argument) => (argument as CelLogJob).fields.map(({ source }) => source).join()
  }
}

/** Time limit of a job: ten times the most expensive hash accepted, fifteen times what an expression gets. */
const JOB_MS_MAX = 45_000

/** Why a job was not done: its class had too many waiting, or it took too long and its thread was ended. */
export type JobLoss = 'refused' | 'late'

export interface OffloadOptions {
  readonly jobMsMax?: number
  readonly lost?: (lane: string, why: JobLoss) => void
}

export class OffloadPool implements Offload {
  readonly #entry: string
  readonly #options: OffloadOptions
  readonly #lanes = new Map<string, Lane>()
  #isClosed = false

  /** `entry`: URL of the file that its threads start from (engine/process/jobs.ts). */
  constructor(entry: string, options: OffloadOptions = {}) {
    this.#entry = entry
    this.#options = options
  }

  async run(job: string, argument: unknown, client = ''): Promise<unknown> {
    // A job that was waiting elsewhere must not start another thread, which would keep the process from ending.
    if (this.#isClosed) throw new Error('the offload pool is closed')
    const { lane: name, caller } = CLASSES[job] ?? { lane: job, caller: NO_CALLER }
    let lane = this.#lanes.get(name)
    if (lane === undefined) {
      const { jobMsMax = JOB_MS_MAX, lost } = this.#options
      lane = new Lane(this.#entry, jobMsMax, (why) => lost?.(name, why))
      this.#lanes.set(name, lane)
    }
    return await lane.run({ job, argument }, [caller(argument), client])
  }

  /** What is under way is given up. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(Array.from(this.#lanes.values(), (lane) => lane.close()))
  }
}

interface PendingJob {
  readonly job: Job
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** One thread, and the jobs that wait for it. */
class Lane {
  readonly #entry: string
  readonly #jobMsMax: number
  readonly #lost: (why: JobLoss) => void
  readonly #queue = new RoundRobinQueue<PendingJob>(QUEUE_MAX)
  #pool: Promise<Piscina> | null = null
  #isBusy = false
  #isClosed = false

  constructor(entry: string, jobMsMax: number, lost: (why: JobLoss) => void) {
    this.#entry = entry
    this.#jobMsMax = jobMsMax
    this.#lost = lost
  }

  /** `path`: whose turn it waits for. */
  run(job: Job, path: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const dropped = this.#queue.add({ job, resolve, reject }, path)
      if (dropped !== null) {
        this.#lost('refused')
        dropped.reject(new Error('too many jobs are waiting for another thread'))
      }
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (let pending = this.#queue.next(); pending !== undefined; pending = this.#queue.next()) {
      pending.reject(new Error('the offload pool is closed'))
    }
    await (await this.#pool)?.destroy()
  }

  #next(): void {
    if (this.#isBusy || this.#isClosed) return
    const pending = this.#queue.next()
    if (pending === undefined) return
    this.#isBusy = true
    const done = () => {
      this.#isBusy = false
      this.#next()
    }
    this.#start(pending.job).then(pending.resolve, pending.reject).finally(done)
  }

  /** A job that never ends is ended with its thread; the next one gets another. */
  async #start(job: Job): Promise<unknown> {
    this.#pool ??= openPool(this.#entry)
    const pool = await this.#pool
    const overtime = new AbortController()
    const timer = setTimeout(() => overtime.abort(), this.#jobMsMax)
    try {
      return await pool.run(job, { signal: overtime.signal })
    } catch (error) {
      if (!overtime.signal.aborted) throw error
      this.#lost('late')
      throw new Error(`the job took longer than ${this.#jobMsMax} ms, and its thread was ended`)
    } finally {
      clearTimeout(timer)
    }
  }
}

async function openPool(filename: string): Promise<Piscina> {
  // Not a static import: most configurations never need it, and it would be loaded at every start.
  const { Piscina: Pool } = await import('piscina')
  return new Pool({ filename, minThreads: 0, maxThreads: 1, idleTimeout: IDLE_MS })
}
