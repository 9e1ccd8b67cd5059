import assert from 'node:assert/strict'
import { CEL_JOB, type CelJob, runCelJob } from '#engine/cel/offload.ts'

/** A pool in this thread that takes expressions only: what goes in and out is cloned, as between threads. */
export function fakePool() {
  const jobs: CelJob[] = []
  const run = (name: string, job: unknown): Promise<unknown> => {
    assert.equal(name, CEL_JOB)
    const cloned = structuredClone(job) as CelJob
    jobs.push(cloned)
    return Promise.resolve(structuredClone(runCelJob(cloned)))
  }
  return { jobs, run }
}
