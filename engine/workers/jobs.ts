/** What the threads of the offload pool run (offload.ts): the rows of the engine, and how results come back. */

import { move, transferableSymbol, valueSymbol } from 'piscina'
import { CEL_LOG_JOB, type CelLogJob, runCelLogJob } from '#engine/cel/log-offload.ts'
import { CEL_JOB, type CelJob, type PackedFacts, runCelJob } from '#engine/cel/offload.ts'
import type { ModelContent } from '#engine/contract/model-use.ts'
import type { JobRows } from '#engine/contract/policy.ts'
import { PASSWORD_JOB, type PasswordJob } from '#engine/kit/password/job.ts'
import { verifyPassword } from '#engine/kit/password/verify.ts'
import { isShared } from '#engine/kit/shared-bytes.ts'
import { KEPT_CONTENT_JOB, type KeptContentJob, keptContent } from '#engine/spend/content.ts'

const ENGINE_JOBS: JobRows = {
  [PASSWORD_JOB]: (argument) => verifyPassword(argument as PasswordJob)
}

/** As it is handed to a thread. */
export interface Job {
  readonly job: string
  readonly argument: unknown
}

/** Runs the engine's jobs and `more`. Rejects for an unknown name. */
export function runnerOf(more: JobRows): (job: Job) => Promise<unknown> {
  /** What an expression reads of models' requests and answers, made by the row of their backend. */
  const contentOf = async ({ llm }: PackedFacts): Promise<ModelContent | undefined> => {
    const from = llm?.content.from
    return from === undefined ? undefined : ((await more[from.job]!(from.argument)) as ModelContent)
  }
  const expressions: JobRows = {
    [CEL_JOB]: async (argument) => runCelJob(argument as CelJob, await contentOf((argument as CelJob).facts)),
    [CEL_LOG_JOB]: async (argument) =>
      runCelLogJob(argument as CelLogJob, await contentOf((argument as CelLogJob).facts)),
    [KEPT_CONTENT_JOB]: async (argument) => {
      const { from, bytesMax } = argument as KeptContentJob
      return keptContent((await more[from.job]!(from.argument)) as ModelContent, bytesMax)
    }
  }
  const rows = new Map(Object.entries({ ...ENGINE_JOBS, ...expressions, ...more }))
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
