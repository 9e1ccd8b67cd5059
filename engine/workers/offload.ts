/**
 * A thread for work that is too slow for an event loop (piscina, docs/design/012-offload.md): made when it is
 * first needed, one per worker, ended after a while without work. A hop costs 60 to 90 us.
 */
import type { Piscina } from 'piscina'
import type { Offload } from '#engine/contract/policy.ts'
import type { Job } from './jobs.ts'

/** More than this would be late anyway: who asks is told at once. */
const QUEUE_MAX = 128
const IDLE_MS = 30_000

export class OffloadPool implements Offload {
  readonly #entry: string
  #pool: Promise<Piscina> | null = null
  #isClosed = false

  /** `entry`: URL of the file that its threads start from (engine/jobs.ts). */
  constructor(entry: string) {
    this.#entry = entry
  }

  async run(job: string, argument: unknown): Promise<unknown> {
    // A job that was waiting elsewhere must not start another thread, which would keep the process from ending.
    if (this.#isClosed) throw new Error('the offload pool is closed')
    this.#pool ??= openPool(this.#entry)
    const pool = await this.#pool
    return await pool.run({ job, argument } satisfies Job)
  }

  /** What is under way is given up. */
  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#pool)?.destroy()
  }
}

async function openPool(filename: string): Promise<Piscina> {
  // Not a static import: most configurations never need it, and it would be loaded at every start.
  const { Piscina: Pool } = await import('piscina')
  return new Pool({ filename, minThreads: 0, maxThreads: 1, maxQueue: QUEUE_MAX, idleTimeout: IDLE_MS })
}
