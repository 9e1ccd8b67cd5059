/**
 * What a thread of the offload pool starts from (workers/offload.ts): the second composition root, which joins the jobs
 * of the engine with those of the backends.
 */
import { jobs } from '#backends/jobs.ts'
import { runnerOf } from './workers/jobs.ts'

export default runnerOf(jobs)
