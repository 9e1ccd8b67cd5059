/** The registry of what backends do in threads of the offload pool (engine/process/jobs.ts). */
import type { JobRows } from '#engine/contract/policy.ts'
import type { GuardJob } from './llm/guards/job.ts'
import { GUARD_JOB } from './llm/guards/job-name.ts'
import type { ContentArgument } from './llm/offload/content-job.ts'
import type { LargeJob } from './llm/offload/job.ts'
import { CONTENT_JOB, LARGE_JOB } from './llm/offload/job-names.ts'

export const jobs: JobRows = {
  // Loaded when they come: a thread that verifies passwords needs no formats.
  [GUARD_JOB]: async (argument) => (await import('./llm/guards/job.ts')).runGuardJob(argument as GuardJob),
  [CONTENT_JOB]: async (argument) =>
    (await import('./llm/offload/content-worker.ts')).contentInPool(argument as ContentArgument),
  [LARGE_JOB]: async (argument) => (await import('./llm/offload/job.ts')).runLargeJob(argument as LargeJob)
}
