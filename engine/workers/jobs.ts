/** What the threads of the offload pool run (offload.ts): one row per job. */
import { CEL_JOB, type CelJob, runCelJob } from '#engine/cel/offload.ts'
import { PASSWORD_JOB, type PasswordJob } from '#engine/kit/password/job.ts'
import { verifyPassword } from '#engine/kit/password/verify.ts'
import { runScanJob, SCAN_JOB, type ScanJob } from '#engine/kit/scan/job.ts'

const JOBS = {
  [CEL_JOB]: (argument: unknown) => runCelJob(argument as CelJob),
  [PASSWORD_JOB]: (argument: unknown) => verifyPassword(argument as PasswordJob),
  [SCAN_JOB]: (argument: unknown) => runScanJob(argument as ScanJob)
} as const

export type JobName = keyof typeof JOBS

export default function run({ job, argument }: { readonly job: JobName; readonly argument: unknown }): unknown {
  return JOBS[job](argument)
}
