/** What the threads of the offload pool run (offload.ts): one row per job. */

import { move, transferableSymbol, valueSymbol } from 'piscina'
import { CEL_JOB, type CelJob, runCelJob } from '#engine/cel/offload.ts'
import { PASSWORD_JOB, type PasswordJob } from '#engine/kit/password/job.ts'
import { verifyPassword } from '#engine/kit/password/verify.ts'
import { runScanJob, SCAN_JOB, type ScanJob, type ScanResult } from '#engine/kit/scan/job.ts'

const JOBS = {
  [CEL_JOB]: (argument: unknown) => runCelJob(argument as CelJob),
  [PASSWORD_JOB]: (argument: unknown) => verifyPassword(argument as PasswordJob),
  [SCAN_JOB]: (argument: unknown) => moved(runScanJob(argument as ScanJob))
} as const

export type JobName = keyof typeof JOBS

/** A changed body is handed over, not copied. */
function moved(result: ScanResult): unknown {
  const { bytes } = result
  // Small ones share memory with others.
  if (bytes === null || bytes.byteLength < bytes.buffer.byteLength) return result
  return move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: result } as Parameters<typeof move>[0])
}

export default function run({ job, argument }: { readonly job: JobName; readonly argument: unknown }): unknown {
  return JOBS[job](argument)
}
