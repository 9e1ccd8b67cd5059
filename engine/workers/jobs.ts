/** What the threads of the offload pool run (offload.ts): the rows of the engine, and how results come back. */

import { move, transferableSymbol, valueSymbol } from 'piscina'
import { CEL_JOB, type CelJob, runCelJob } from '#engine/cel/offload.ts'
import type { JobRows } from '#engine/contract/policy.ts'
import { PASSWORD_JOB, type PasswordJob } from '#engine/kit/password/job.ts'
import { verifyPassword } from '#engine/kit/password/verify.ts'
import { isShared } from '#engine/kit/shared-bytes.ts'

const ENGINE_JOBS: JobRows = {
  [CEL_JOB]: (argument) => runCelJob(argument as CelJob),
  [PASSWORD_JOB]: (argument) => verifyPassword(argument as PasswordJob)
}

/** As it is handed to a thread. */
export interface Job {
  readonly job: string
  readonly argument: unknown
}

/** Runs the engine's jobs and `more`. Rejects at a name that nobody has. */
export function runnerOf(more: JobRows): (job: Job) => Promise<unknown> {
  const rows = new Map(Object.entries({ ...ENGINE_JOBS, ...more }))
  return async ({ job, argument }) => {
    const row = rows.get(job)
    if (row === undefined) throw new Error(`there is no job ${job}`)
    return moved(await row(argument))
  }
}

/** Bytes that were made are handed over, not copied. */
function moved(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('bytes' in result)) return result
  const { bytes } = result
  // Small ones share memory with others, long ones with other threads.
  if (!(bytes instanceof Uint8Array) || isShared(bytes) || bytes.byteLength < bytes.buffer.byteLength) return result
  return move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: result } as Parameters<typeof move>[0])
}
